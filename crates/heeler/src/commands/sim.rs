//! `heeler sim`: one recipe on a workload.

use crate::arguments::{Choice, DrawArguments, RecipeArguments, Scene, SettingArguments, time};
use crate::show;
use anyhow::{Context, Result};
use clap::Args;
use heeler_model::Time;
use heeler_sim::Simulation;
use heeler_sim::metrics::{Agreement, Summary, write_jobs};
use heeler_sim::report::{Report, Run};
use heeler_sim::workload::replace_file;
use serde::Serialize;
use std::io;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  heeler sim
  heeler sim --generate helios --jobs 5000 --load 0.9 --recipe tiresias
  heeler sim --trace jobs.csv --cluster 4x8 --recipe fifo-easy --jobs-out out.csv
  heeler sim --recipe tiresias --knob promote=8 --json
  heeler sim --trace theirs.csv --world tiresias --against their-results.csv";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Sim {
    #[command(flatten)]
    recipe: RecipeArguments,
    #[command(flatten)]
    draw: DrawArguments,
    /// Stop at this simulated time, such as `2 days`
    #[arg(long, value_name = "TIME", value_parser = time)]
    until: Option<Time>,
    /// Write one line for each job to this CSV file
    #[arg(long, value_name = "FILE")]
    jobs_out: Option<PathBuf>,
    /// Compare completion times with another program's table: columns `job` and `completion_s`, or
    /// `submit` and `finish`, or, in hours, `arrival_h` and `finish_h`
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Write an HTML report to this file
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Print also the tables by tenant and by size
    #[arg(long)]
    groups: bool,
    /// Print JSON for programs
    #[arg(long)]
    json: bool,
    /// Print the metrics as CSV: one line each
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    #[command(flatten)]
    setting: SettingArguments,
}

#[derive(Serialize)]
struct Output<'a> {
    recipe: &'a str,
    knows_the_truth: bool,
    setting: serde_json::Map<String, serde_json::Value>,
    summary: &'a Summary,
    #[serde(skip_serializing_if = "Option::is_none")]
    against: Option<&'a Agreement>,
}

impl Sim {
    pub(crate) fn run(&self) -> Result<()> {
        let choice = self.recipe.choose()?;
        let setting = self.setting.prepare()?;
        let scene = setting.scene(self.draw.load, self.draw.seed)?;
        let facts = setting.facts(self.draw.load, self.draw.seed);
        let simulation = simulate(&scene, &choice, self.until, self.report.is_some());
        let summary = Summary::of(&simulation);
        setting.note_sharing([(&choice, summary.gpu_hours.shared)].into_iter());
        let workload = self.setting.trace.as_deref().and_then(|trace| trace.file_stem()?.to_str());
        let compare = |path| Agreement::with_workload(&simulation, path, workload);
        let against = self.against.as_deref().map(compare).transpose()?;
        if let Some(path) = &self.jobs_out {
            replace_file(path, |out| write_jobs(&simulation, out).map_err(io::Error::other))
                .with_context(|| format!("{} cannot be written", path.display()))?;
        }
        if let Some(path) = &self.report {
            let title = format!("{} on {}", choice.label, facts[0].1);
            let runs = vec![Run::of(&choice.label, &simulation)];
            let report = Report { title, facts: facts.clone(), runs, ..Report::default() };
            super::report::write(&report, path)?;
        }
        if self.json {
            let setting = facts.into_iter().map(|(name, value)| (name, value.into())).collect();
            return show::print_json(
                "heeler/sim/1",
                &Output {
                    recipe: &choice.label,
                    knows_the_truth: choice.card.knows_the_truth(),
                    setting,
                    summary: &summary,
                    against: against.as_ref(),
                },
            );
        }
        if self.csv {
            let mut text = String::from("metric,value\n");
            flatten("", &serde_json::to_value(&summary)?, &mut text);
            return show::print(&text);
        }
        let mut text = format!("{} · {}\n\n", choice.label, show::facts_line(&facts));
        text.push_str(&show::summary(&summary));
        if self.groups {
            text.push_str(&format!("\n{}", show::groups("tenant", &summary.tenants)));
            text.push_str(&format!("\n{}", show::groups("GPUs", &summary.sizes)));
        }
        if let Some(agreement) = &against {
            text.push_str(&format!("\n{}", agreement_text(agreement)));
        }
        show::print(&text)
    }
}

/// Run a simulation to its end, or until a time, with a bar.
pub(crate) fn simulate(
    scene: &Scene,
    choice: &Choice,
    until: Option<Time>,
    keep_segments: bool,
) -> Simulation {
    let mut simulation = scene.simulate(choice);
    if keep_segments {
        simulation.keep_segments();
    }
    let bar = show::Progress::new(&choice.label, scene.jobs(), "jobs");
    let look = |simulation: &Simulation| bar.at(simulation.ended() as u64);
    match until {
        Some(until) => simulation.run_until_watched(until, 10_000, look),
        None => simulation.run_watched(10_000, look),
    }
    simulation
}

/// A line for each number, named by the way to it: `completion_s.p99`, `tenants.vision.finished`.
fn flatten(name: &str, value: &serde_json::Value, text: &mut String) {
    let below = |key: &str| if name.is_empty() { key.into() } else { format!("{name}.{key}") };
    match value {
        serde_json::Value::Object(fields) => {
            for (key, value) in fields.iter().filter(|(key, _)| *key != "name") {
                flatten(&below(key), value, text);
            }
        }
        serde_json::Value::Array(groups) => {
            // What has no name, such as a course over time, is no metric.
            for group in groups {
                if let Some(name) = group["name"].as_str() {
                    flatten(&below(name), group, text);
                }
            }
        }
        number => {
            let number = number.as_f64().map_or_else(|| number.to_string(), |n| n.to_string());
            text.push_str(&format!("{},{number}\n", show::csv_field(name)));
        }
    }
}

fn agreement_text(agreement: &Agreement) -> String {
    let mut text = format!(
        "against: {} of {} completion times equal, largest difference {}; \
         mean {:.3} s here, {:.3} s there\n",
        show::count(agreement.equal as u64),
        show::count(agreement.jobs as u64),
        show::seconds(agreement.largest_difference_s),
        agreement.mean_here_s,
        agreement.mean_there_s,
    );
    if agreement.missing > 0 {
        text.push_str(&format!("  {} jobs did not finish here\n", agreement.missing));
    }
    for (job, here, there) in &agreement.first_different {
        text.push_str(&format!("  job {job}: {here:.3} s here, {there:.3} s there\n"));
    }
    text
}
