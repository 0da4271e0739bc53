//! `heeler replay`: what a live server's journal says. Without a recipe, every decision is taken
//! again and compared; with one, the journal is a trace, and the recipe is simulated on it beside
//! the one that was in charge.

mod history;
mod walk;

use super::compare::{Plan, cores};
use crate::arguments::{Choice, Setting, choose_with, pair};
use crate::mistake::Mistake;
use crate::show;
use anyhow::{Context, Result};
use clap::Args;
use history::History;
use serde::Serialize;
use std::path::{Path, PathBuf};
use walk::Walked;

const EXAMPLES: &str = "\
Examples:
  heeler replay ~/.local/state/heeler                    are all decisions what they were?
  heeler replay /var/lib/heeler --recipe tiresias        what would tiresias have made of it?
  heeler replay /var/lib/heeler --write-trace past.csv   a trace for `heeler sim --trace`

A server forgets records that a snapshot stands for, unless it was started with --keep-history;
what was over long before the snapshot is then not in the trace. Of a journal that is damaged, what
comes before the damage is read, with a note.

Exit code 1: a decision differs from the one that was taken live.";

#[derive(Args, Clone)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Replay {
    /// The journal's folder, or the server's state folder that it is in
    #[arg(value_name = "JOURNAL")]
    journal: PathBuf,
    /// Simulate this recipe on what happened, beside the one that was in charge; can be repeated
    #[arg(long, short, value_name = "RECIPE")]
    recipe: Vec<String>,
    /// Set a knob of the recipe; can be repeated
    #[arg(long = "knob", short, value_name = "NAME=VALUE", value_parser = pair,
          requires = "recipe")]
    knobs: Vec<(String, String)>,
    /// Write an HTML report on the recipes to this file
    #[arg(long, value_name = "FILE", requires = "recipe")]
    report: Option<PathBuf>,
    /// Write what happened as a trace to this .csv or .jsonl file
    #[arg(long, value_name = "FILE")]
    write_trace: Option<PathBuf>,
    /// Print JSON for programs
    #[arg(long)]
    json: bool,
}

/// What a replay found.
#[derive(Serialize)]
struct Found<'a> {
    records: u64,
    decisions: u64,
    orders: u64,
    digest: String,
    /// The number of the first record before which another decision had been taken.
    differs_before: Option<u64>,
    notes: &'a [String],
}

impl Replay {
    pub(crate) fn run(&self) -> Result<()> {
        let walked = walk::walk(&folder(&self.journal)?)?;
        if self.recipe.is_empty() && self.write_trace.is_none() {
            return self.say(&walked);
        }
        let history = History::of(&walked)?;
        for note in walked.notes.iter().chain(&history.notes) {
            eprintln!("note: {note}");
        }
        if let Some(path) = &self.write_trace {
            heeler_sim::workload::write(path, None, &history.trace, &history.cluster)
                .with_context(|| format!("{} cannot be written", path.display()))?;
            if !self.json {
                show::print(&format!(
                    "wrote {}: {} jobs\n",
                    path.display(),
                    history.trace.jobs().len()
                ))?;
            }
        }
        match self.recipe.is_empty() {
            true => Ok(()),
            false => self.compare(history),
        }
    }

    /// Whether all decisions are what they were.
    fn say(&self, walked: &Walked) -> Result<()> {
        let digest = format!("{:016x}", walked.live.digest());
        if self.json {
            let found = Found {
                records: walked.records,
                decisions: walked.live.decisions(),
                orders: walked.orders,
                digest,
                differs_before: walked.differs_before,
                notes: &walked.notes,
            };
            show::print_json("heeler/replay/1", &found)?;
        } else {
            let mut text = String::new();
            for note in &walked.notes {
                text.push_str(&format!("note: {note}\n"));
            }
            text.push_str(&format!(
                "{} records, {} decisions since the journal began, {} orders given, \
                 digest {digest}\n",
                show::count(walked.records),
                show::count(walked.live.decisions()),
                show::count(walked.orders),
            ));
            if walked.differs_before.is_none() {
                text.push_str("every decision is the one that was taken live\n");
            }
            show::print(&text)?;
        }
        match walked.differs_before {
            Some(number) => anyhow::bail!(
                "before record {number} another decision was taken live than this program takes"
            ),
            None => Ok(()),
        }
    }

    /// The recipe that was in charge beside others, on what happened.
    fn compare(&self, history: History) -> Result<()> {
        let mut choices = vec![Choice {
            label: format!("{} (live)", history.card.name),
            card: history.card.clone(),
        }];
        for text in &self.recipe {
            let mut choice = choose_with(text, &self.knobs)?;
            for (name, value) in &self.knobs {
                choice.label.push_str(&format!(":{name}={value}"));
            }
            choices.push(choice);
        }
        let setting = Setting::of_history(
            format!("{} jobs of {}", history.trace.jobs().len(), self.journal.display()),
            history.trace,
            history.cluster,
            history.world,
            history.outages.iter().map(|it| (it.node, it.from, it.until)).collect(),
        );
        let (loads, seeds, report) = (vec![None], vec![1], self.report.is_some());
        let plan = Plan { choices, setting, loads, seeds, threads: cores(), report, cache: None };
        let results = plan.run()?;
        if let Some(path) = &self.report {
            let facts = plan.setting.facts(None, 1);
            let title = format!("{} recipes on {}", plan.choices.len(), facts[0].1);
            super::report::write(&plan.report(title, &results), path)?;
        }
        match self.json {
            true => super::compare::print_json(&plan, &results),
            false => show::print(&super::compare::text(&plan, &results)),
        }
    }
}

/// The journal's own folder.
fn folder(path: &Path) -> Result<PathBuf> {
    let inside = path.join("journal");
    match (path.is_dir(), inside.is_dir()) {
        (_, true) => Ok(inside),
        (true, false) => Ok(path.into()),
        (false, false) => {
            let mistake = Mistake::new(format!("{}: there is no such folder", path.display()));
            Err(mistake.hint("name a server's state folder, or the journal in it").into())
        }
    }
}
