//! Writers of Heeler's own formats. A file appears when it is complete, or not at all.

mod atomic;
mod fields;

pub use atomic::replace_file;

use super::read::{COLUMNS, Format};
use super::trace::Trace;
use fields::{Ids, fields};
use heeler_model::Cluster;
use std::io::{self, Write};
use std::path::Path;

/// Why a trace cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The file could not be written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// Something in the trace cannot be said in the format.
    #[error("job `{job}`: {message}")]
    Unsayable {
        /// The job.
        job: String,
        /// What cannot be said.
        message: String,
    },
    /// Heeler writes its own formats only.
    #[error("traces are written as csv or jsonl, not as {0}")]
    Format(String),
}

/// Write a trace, in the format named or in the one its file name ends in: `.csv` or `.jsonl`,
/// packed if `.gz` follows. The cluster is the one the trace was read with.
pub fn write(
    path: &Path,
    format: Option<Format>,
    trace: &Trace,
    cluster: &Cluster,
) -> Result<(), WriteError> {
    let format = match format {
        Some(format) => format,
        None => format_of(path)?,
    };
    replace_file(path, |out| write_to(out, format, trace, cluster))
}

fn format_of(path: &Path) -> Result<Format, WriteError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("csv") => Ok(Format::Csv),
        Some("jsonl" | "ndjson") => Ok(Format::Jsonl),
        Some(other) => Err(WriteError::Format(format!("`.{other}`"))),
        None => Err(WriteError::Format(format!("`{name}`"))),
    }
}

/// Write a trace in one of Heeler's own formats.
pub fn write_to(
    out: &mut dyn Write,
    format: Format,
    trace: &Trace,
    cluster: &Cluster,
) -> Result<(), WriteError> {
    let ids = Ids::new(trace);
    match format {
        Format::Csv => write_csv(out, trace, cluster, &ids),
        Format::Jsonl => {
            for index in 0..trace.jobs().len() {
                let mut comma = "{";
                for (name, value) in fields(index, trace, cluster, &ids)? {
                    write!(out, "{comma}\"{name}\":{}", value.json())?;
                    comma = ",";
                }
                out.write_all(b"}\n")?;
            }
            Ok(())
        }
        other => Err(WriteError::Format(format!("`{other}`"))),
    }
}

/// A table with those columns that some job needs.
fn write_csv(
    out: &mut dyn Write,
    trace: &Trace,
    cluster: &Cluster,
    ids: &Ids,
) -> Result<(), WriteError> {
    let place = |name: &str| COLUMNS.iter().position(|column| *column == name).expect("known");
    let mut used: Vec<bool> =
        COLUMNS.iter().map(|name| matches!(*name, "submit_s" | "gpus" | "duration_s")).collect();
    for index in 0..trace.jobs().len() {
        for (name, _) in fields(index, trace, cluster, ids)? {
            used[place(name)] = true;
        }
    }
    // A line that begins with `#` would be a comment.
    let mut table = csv::WriterBuilder::new().comment(Some(b'#')).from_writer(out);
    let kept = |row: Vec<String>| row.into_iter().zip(&used).filter(|(_, used)| **used);
    let header = COLUMNS.iter().map(ToString::to_string).collect();
    table.write_record(kept(header).map(|(name, _)| name)).map_err(io::Error::from)?;
    for index in 0..trace.jobs().len() {
        let mut row = vec![String::new(); COLUMNS.len()];
        for (name, value) in fields(index, trace, cluster, ids)? {
            row[place(name)] = value.text();
        }
        table.write_record(kept(row).map(|(text, _)| text)).map_err(io::Error::from)?;
    }
    Ok(table.flush()?)
}

#[cfg(test)]
mod tests;
