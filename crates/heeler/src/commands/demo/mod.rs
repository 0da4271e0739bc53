//! `heeler demo`: what this is about, in under a minute. First live: a server of its own, real
//! processes of several tenants on GPUs that are made up. Then simulated: a comparison of recipes.

mod live;

use super::compare::{Plan, cores, text};
use crate::arguments::{SettingArguments, choose};
use crate::show;
use anyhow::Result;
use clap::{Args, Parser};
use std::path::PathBuf;

/// From the plainest to the cleverest, none of which is told how long jobs run, and one that is.
const RECIPES: [&str; 6] = ["fifo", "fifo-easy", "las", "tiresias", "tiresias-gittins", "srtf"];

#[derive(Args)]
pub(crate) struct Demo {
    /// The report to write
    #[arg(long, short, value_name = "FILE", default_value = "heeler-demo.html")]
    out: PathBuf,
    /// Only the comparison, without a server and processes
    #[arg(long)]
    simulated: bool,
}

/// The setting as it would stand on a command line.
#[derive(Parser)]
struct Line {
    #[command(flatten)]
    setting: SettingArguments,
}

const SETTING: &str = "demo --generate philly --jobs 10000 --cluster 16x8 --world everyday";
const LOAD: f64 = 0.9;
const SEEDS: u64 = 3;

impl Demo {
    pub(crate) fn run(&self) -> Result<()> {
        if !self.simulated {
            live::run()?;
        }
        show::print(&format!("Now {} recipes on 10,000 simulated jobs.\n\n", RECIPES.len()))?;
        let setting = Line::parse_from(SETTING.split(' ')).setting.prepare()?;
        let choices = RECIPES.iter().map(|name| choose(name)).collect::<Result<Vec<_>>>()?;
        let (loads, seeds) = (vec![Some(LOAD)], (1..=SEEDS).collect());
        let plan =
            Plan { choices, setting, loads, seeds, threads: cores(), report: true, cache: None };
        let results = plan.run()?;
        let title = format!("{} recipes on one cluster", RECIPES.len());
        super::report::write(&plan.report(title, &results), &self.out)?;
        let out = self.out.display();
        show::print(&format!(
            "{}\nWrote {out}: open it in a browser.\n\
             Next: `heeler up` starts a server on this machine, `heeler submit` hands in a job; \
             `heeler recipes`\nlists what there is; `heeler sim --trace FILE` runs your own \
             history.\n",
            text(&plan, &results)
        ))
    }
}
