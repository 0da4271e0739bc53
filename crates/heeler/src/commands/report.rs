//! `heeler report`: one HTML file that shows recipes on a workload.

use super::compare::{Plan, choose_each, cores};
use crate::arguments::{DrawArguments, SettingArguments};
use crate::show;
use anyhow::{Context, Result};
use clap::Args;
use heeler_sim::report::Report as Page;
use heeler_sim::workload::replace_file;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  heeler report fifo tiresias --out report.html
  heeler report fifo-easy --trace jobs.csv --cluster 4x8 --out jobs.html

A card with the name of a recipe that is built in, or of another card, is called by its file, too.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Report {
    /// The recipes to show side by side
    #[arg(value_name = "RECIPE", default_value = "fifo")]
    recipes: Vec<String>,
    /// The file to write
    #[arg(long, short, value_name = "FILE", default_value = "heeler-report.html")]
    out: PathBuf,
    #[command(flatten)]
    draw: DrawArguments,
    #[command(flatten)]
    setting: SettingArguments,
}

impl Report {
    pub(crate) fn run(&self) -> Result<()> {
        let choices = choose_each(&self.recipes)?;
        let setting = self.setting.prepare()?;
        let (loads, seeds) = (vec![self.draw.load], vec![self.draw.seed]);
        let plan =
            Plan { choices, setting, loads, seeds, threads: cores(), report: true, cache: None };
        let results = plan.run()?;
        let facts = plan.setting.facts(self.draw.load, self.draw.seed);
        let names: Vec<&str> = plan.choices.iter().map(|choice| choice.label.as_str()).collect();
        let title = format!("{} on {}", names.join(", "), facts[0].1);
        write(&plan.report(title, &results), &self.out)?;
        show::print(&format!("wrote {}\n", self.out.display()))
    }
}

/// Write a report; the file appears when it is complete, or not at all.
pub(crate) fn write(report: &Page, path: &Path) -> Result<()> {
    replace_file(path, |out| report.write(out))
        .with_context(|| format!("{} cannot be written", path.display()))
}
