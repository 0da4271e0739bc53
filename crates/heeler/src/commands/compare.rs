//! `heeler compare`: recipes × loads × seeds, in parallel.

use crate::arguments::{Choice, Setting, SettingArguments, choose, positive};
use crate::mistake::Mistake;
use crate::show;
use anyhow::{Context, Result};
use clap::Args;
use heeler_sim::metrics::{Interval, Summary};
use heeler_sim::report::{Report, Run};
use heeler_sim::workload::replace_file;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const EXAMPLES: &str = "\
Examples:
  heeler compare fifo fifo-easy srtf tiresias
  heeler compare fifo tiresias tiresias:promote=8 --load 0.7,0.8,0.9 --seeds 5
  heeler compare fifo mine.toml --trace jobs.csv --cluster 4x8 --report compare.html

The last column compares each run with the run of the first recipe on the same jobs: mean
completion time relative to it, with the 95 % confidence interval over seeds.";

#[derive(Args, Clone)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Compare {
    /// The recipes; knobs can follow the name, as in tiresias:promote=8
    #[arg(value_name = "RECIPE", required = true)]
    recipes: Vec<String>,
    /// Loads: GPU time that jobs ask for, relative to what the cluster has while they come
    /// [default: 0.8 for generated jobs, as recorded for a trace]
    #[arg(long, visible_alias = "loads", value_name = "X,X…", value_delimiter = ',',
          value_parser = positive, allow_negative_numbers = true)]
    load: Vec<f64>,
    /// How many seeds; more give narrower intervals [default: 3 for generated jobs, 1 for a trace]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    seeds: Option<u32>,
    /// The first seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// How many simulations at a time [default: as many as there are cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Write one line for each simulation to this CSV file
    #[arg(long, value_name = "FILE")]
    runs_out: Option<PathBuf>,
    /// Write an HTML report on the first load and seed to this file
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Print JSON for programs
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    setting: SettingArguments,
}

/// What to compare.
pub(crate) struct Plan {
    pub(crate) choices: Vec<Choice>,
    pub(crate) setting: Setting,
    pub(crate) loads: Vec<Option<f64>>,
    pub(crate) seeds: Vec<u64>,
    pub(crate) threads: usize,
    pub(crate) report: bool,
}

/// One simulation of many.
struct Cell {
    load: usize,
    seed: usize,
    choice: usize,
}

/// Results by load, recipe and seed.
pub(crate) struct Results {
    pub(crate) summaries: Vec<Vec<Vec<Summary>>>,
    pub(crate) runs: Vec<Run>,
}

impl Plan {
    /// Run everything. Whatever the number of threads, the results are the same.
    pub(crate) fn run(&self) -> Result<Results> {
        let cells = self.cells();
        let bar = show::Progress::new("simulating", cells.len() as u64, "runs");
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..self.threads.min(cells.len()) {
                scope.spawn(|| {
                    while let Some(cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let result = self.simulate(cell);
                        bar.step();
                        done.lock().expect("nobody panicked").push((cell, result));
                    }
                });
            }
        });
        drop(bar);
        let mut done = done.into_inner().expect("nobody panicked");
        done.sort_by_key(|(cell, _)| (cell.load, cell.choice, cell.seed));
        let mut results = Results {
            summaries: vec![vec![Vec::new(); self.choices.len()]; self.loads.len()],
            runs: Vec::new(),
        };
        for (cell, result) in done {
            let (summary, run) = result?;
            results.summaries[cell.load][cell.choice].push(summary);
            results.runs.extend(run);
        }
        Ok(results)
    }

    fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for load in 0..self.loads.len() {
            for seed in 0..self.seeds.len() {
                cells.extend((0..self.choices.len()).map(|choice| Cell { load, seed, choice }));
            }
        }
        cells
    }

    fn simulate(&self, cell: &Cell) -> Result<(Summary, Option<Run>)> {
        let choice = &self.choices[cell.choice];
        let scene = self.setting.scene(self.loads[cell.load], self.seeds[cell.seed])?;
        let mut simulation = scene.simulate(choice);
        let shown = self.report && cell.load == 0 && cell.seed == 0;
        if shown {
            simulation.keep_segments();
        }
        simulation.run();
        let run = shown.then(|| Run::of(&choice.label, &simulation));
        Ok((Summary::of(&simulation), run))
    }
}

impl Compare {
    pub(crate) fn run(&self) -> Result<()> {
        let plan = self.plan()?;
        let results = plan.run()?;
        if let Some(path) = &self.runs_out {
            replace_file(path, |out| write_runs(out, &plan, &results))
                .with_context(|| format!("{} cannot be written", path.display()))?;
        }
        if let Some(path) = &self.report {
            let facts = plan.setting.facts(plan.loads[0], plan.seeds[0]);
            let title = format!("{} recipes on {}", plan.choices.len(), facts[0].1);
            super::report::write(&Report { title, facts, runs: results.runs.clone() }, path)?;
        }
        match self.json {
            true => print_json(&plan, &results),
            false => show::print(&text(&plan, &results)),
        }
    }

    fn plan(&self) -> Result<Plan> {
        let choices: Vec<Choice> =
            self.recipes.iter().map(|text| choose(text)).collect::<Result<_>>()?;
        let mut labels = BTreeSet::new();
        if let Some(twice) = choices.iter().find(|choice| !labels.insert(&choice.label)) {
            let mistake = Mistake::new(format!("recipe `{}` is named twice", twice.label));
            return Err(mistake.hint("name each recipe once, or give it other knobs").into());
        }
        let setting = self.setting.prepare()?;
        let loads = match self.load.as_slice() {
            [] => vec![None],
            loads => loads.iter().copied().map(Some).collect(),
        };
        let count = self.seeds.unwrap_or(if setting.is_generated() { 3 } else { 1 });
        let seeds = (0..u64::from(count)).map(|index| self.seed + index).collect();
        let threads = self.threads.map_or_else(cores, usize::from);
        let report = self.report.is_some();
        Ok(Plan { choices, setting, loads, seeds, threads, report })
    }
}

/// Results as JSON.
pub(crate) fn print_json(plan: &Plan, results: &Results) -> Result<()> {
    let loads = (0..plan.loads.len()).map(|load| at_load(plan, results, load)).collect();
    let seeds = plan.seeds.clone();
    show::print_json("heeler/compare/1", &Output { seeds, loads })
}

pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[derive(Serialize)]
struct Output {
    seeds: Vec<u64>,
    loads: Vec<AtLoad>,
}

/// What was seen at one load.
#[derive(Serialize)]
struct AtLoad {
    load: Option<f64>,
    setting: BTreeMap<String, String>,
    recipes: Vec<Line>,
}

/// One recipe at one load: means over seeds.
#[derive(Serialize)]
struct Line {
    recipe: String,
    knows_the_truth: bool,
    completion_mean_s: Interval,
    completion_p50_s: Interval,
    completion_p99_s: Interval,
    waiting_mean_s: Interval,
    makespan_s: Interval,
    utilisation: Interval,
    unfair: Interval,
    restarts_per_job: Interval,
    lost_gpu_hours: Interval,
    deadlines_missed: Interval,
    deadline_value_lost: Interval,
    finished: Interval,
    /// Mean completion time relative to the first recipe, run by run.
    relative: Interval,
    summaries: Vec<Summary>,
}

fn at_load(plan: &Plan, results: &Results, load: usize) -> AtLoad {
    let by_choice = &results.summaries[load];
    let lines = plan.choices.iter().zip(by_choice).map(|(choice, summaries)| {
        let over =
            |of: fn(&Summary) -> f64| Interval::of(&summaries.iter().map(of).collect::<Vec<_>>());
        let pairs = summaries.iter().zip(&by_choice[0]);
        let ratios: Vec<f64> =
            pairs.map(|(own, first)| own.completion_s.mean / first.completion_s.mean).collect();
        Line {
            recipe: choice.label.clone(),
            knows_the_truth: choice.card.knows_the_truth(),
            completion_mean_s: over(|summary| summary.completion_s.mean),
            completion_p50_s: over(|summary| summary.completion_s.p50),
            completion_p99_s: over(|summary| summary.completion_s.p99),
            waiting_mean_s: over(|summary| summary.waiting_s.mean),
            makespan_s: over(|summary| summary.makespan_s),
            utilisation: over(|summary| summary.utilisation),
            unfair: over(|summary| summary.fairness.isolated.unfair),
            restarts_per_job: over(|summary| summary.restarts.per_job),
            lost_gpu_hours: over(|summary| summary.gpu_hours.lost),
            deadlines_missed: over(|summary| summary.deadlines.missed as f64),
            deadline_value_lost: over(|summary| summary.deadlines.value_lost),
            finished: over(|summary| summary.jobs.finished as f64),
            relative: Interval::of(&ratios),
            summaries: summaries.clone(),
        }
    });
    let setting = plan.setting.facts(plan.loads[load], plan.seeds[0]);
    let setting = setting.into_iter().collect();
    AtLoad { load: plan.loads[load], setting, recipes: lines.collect() }
}

/// The table of all loads.
pub(crate) fn text(plan: &Plan, results: &Results) -> String {
    let mut text = String::new();
    let mut truth = false;
    for load in 0..plan.loads.len() {
        let seen = at_load(plan, results, load);
        let mut facts = plan.setting.facts(plan.loads[load], plan.seeds[0]);
        if let (Some(first), Some(last)) = (plan.seeds.first(), plan.seeds.last())
            && first < last
        {
            facts.retain(|(name, _)| name != "seed");
            facts.push(("seeds".into(), format!("{first} to {last}")));
        }
        if load > 0 {
            text.push('\n');
        }
        text.push_str(&format!("{}\n\n", show::facts_line(&facts)));
        text.push_str(&table(&seen, &plan.choices[0].label));
        truth |= seen.recipes.iter().any(|line| line.knows_the_truth);
    }
    if truth {
        text.push_str("\n* knows how long jobs really run, as only a simulator can\n");
    }
    text
}

fn table(seen: &AtLoad, first: &str) -> String {
    let relative = format!("vs {first}>");
    let deadlines =
        seen.recipes.iter().any(|line| line.summaries.iter().any(|s| s.deadlines.jobs > 0));
    let mut columns = vec![
        "recipe",
        "mean JCT>",
        "p50>",
        "p99>",
        "mean wait>",
        "makespan>",
        "used>",
        "unfair>",
        "restarts>",
        "lost GPU-h>",
    ];
    // Where each job has one deadline, counting by value says nothing new.
    let lost = |s: &Summary| s.deadlines.value_lost > s.deadlines.missed as f64;
    let by_value = seen.recipes.iter().any(|line| line.summaries.iter().any(lost));
    if deadlines {
        columns.push("missed>");
    }
    if by_value {
        columns.push("by value>");
    }
    let names = services(seen);
    let served: Vec<String> = names.iter().map(|name| format!("{name} in time>")).collect();
    columns.extend(served.iter().map(String::as_str));
    columns.push(&relative);
    let mut table = show::Table::new(&columns);
    for line in &seen.recipes {
        let mark = if line.knows_the_truth { " *" } else { "" };
        let mut row = vec![
            format!("{}{mark}", line.recipe),
            interval(&line.completion_mean_s, show::seconds),
            show::seconds(line.completion_p50_s.mean),
            show::seconds(line.completion_p99_s.mean),
            show::seconds(line.waiting_mean_s.mean),
            show::seconds(line.makespan_s.mean),
            show::percent(line.utilisation.mean),
            show::percent(line.unfair.mean),
            show::decimal(line.restarts_per_job.mean),
            show::decimal(line.lost_gpu_hours.mean),
        ];
        if deadlines {
            row.push(show::decimal(line.deadlines_missed.mean));
        }
        if by_value {
            row.push(show::decimal(line.deadline_value_lost.mean));
        }
        for index in 0..names.len() {
            let parts = line.summaries.iter().map(|summary| summary.services[index].attainment);
            let parts: Vec<f64> = parts.collect();
            row.push(interval(&Interval::of(&parts), show::percent));
        }
        row.push(interval(&line.relative, |value| format!("{value:.3}")));
        table.row(row);
    }
    table.text()
}

/// Names of the services that ran beside the jobs.
fn services(seen: &AtLoad) -> Vec<String> {
    let first = seen.recipes.first().and_then(|line| line.summaries.first());
    let services = first.map(|summary| summary.services.as_slice()).unwrap_or_default();
    services.iter().map(|service| service.name.clone()).collect()
}

/// A mean and how far it may be off, in percent of it.
fn interval(interval: &Interval, form: impl Fn(f64) -> String) -> String {
    match interval.half_width {
        Some(half) if interval.mean != 0.0 => {
            let part = half / interval.mean.abs() * 100.0;
            format!("{} ±{part:.0} %", form(interval.mean))
        }
        _ => form(interval.mean),
    }
}

/// One line for each simulation.
fn write_runs(out: &mut dyn Write, plan: &Plan, results: &Results) -> std::io::Result<()> {
    writeln!(
        out,
        "recipe,load,seed,jobs,finished,completion_mean_s,completion_p50_s,completion_p95_s,\
         completion_p99_s,waiting_mean_s,waiting_p99_s,makespan_s,utilisation,unfair,\
         worst_finish_time,preemptions,moves,losses,useful_gpu_hours,lost_gpu_hours,\
         idle_gpu_hours,deadlines_missed,deadline_value_lost"
    )?;
    for (load, by_choice) in plan.loads.iter().zip(&results.summaries) {
        for (choice, summaries) in plan.choices.iter().zip(by_choice) {
            for (seed, s) in plan.seeds.iter().zip(summaries) {
                let load = load.map_or(String::new(), |load| load.to_string());
                let label = show::csv_field(&choice.label);
                let (fair, hours, again) = (&s.fairness.isolated, &s.gpu_hours, &s.restarts);
                write!(out, "{label},{load},{seed},{},{},", s.jobs.submitted, s.jobs.finished)?;
                let (completion, waiting) = (&s.completion_s, &s.waiting_s);
                write!(out, "{},{},", completion.mean, completion.p50)?;
                write!(out, "{},{},", completion.p95, completion.p99)?;
                write!(out, "{},{},{},", waiting.mean, waiting.p99, s.makespan_s)?;
                write!(out, "{},{},{},", s.utilisation, fair.unfair, fair.ratio.max)?;
                write!(out, "{},{},{},", again.preemptions, again.moves, again.losses)?;
                write!(out, "{},{},{},", hours.useful, hours.lost, hours.idle)?;
                writeln!(out, "{},{}", s.deadlines.missed, s.deadlines.value_lost)?;
            }
        }
    }
    Ok(())
}
