//! What people see: tables, numbers, plots and progress on a terminal; JSON for programs.

mod metrics;
mod number;
mod plot;
mod progress;
mod table;

pub(crate) use metrics::{facts_line, groups, summary};
pub(crate) use number::{count, decimal, percent, seconds};
pub(crate) use plot::{bars, curve};
pub(crate) use progress::Progress;
pub(crate) use table::Table;

use serde::Serialize;
use std::io::Write;

/// Print text to the standard output.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Print a value as JSON, with the name and version of its form.
pub(crate) fn print_json(form: &str, value: &impl Serialize) -> anyhow::Result<()> {
    #[derive(Serialize)]
    struct Formed<'a, T> {
        form: &'a str,
        #[serde(flatten)]
        value: &'a T,
    }
    let mut text = serde_json::to_string_pretty(&Formed { form, value })?;
    text.push('\n');
    print(&text)
}

/// A CSV field, in quotes if it needs them.
pub(crate) fn csv_field(text: &str) -> String {
    match text.contains([',', '"', '\n']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_string(),
    }
}
