//! `heeler compare`: recipes × loads × seeds, in parallel; what was run before need not be again.

pub(crate) mod cache;
mod labels;
mod lines;
mod pictures;
mod table;
mod truth;
mod undone;
mod writable;

pub(crate) use labels::{choose_all, choose_each};
pub(crate) use table::text;
pub(crate) use truth::{DECLARED, TRUTH, mark};

use crate::arguments::{Choice, Setting, SettingArguments, positive};
use crate::mistake::Mistake;
use crate::show;
use anyhow::{Context, Result};
use cache::Cache;
use clap::Args;
use heeler_sim::metrics::Summary;
use heeler_sim::report::Run;
use heeler_sim::workload::replace_file;
use lines::{Output, at_load};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const EXAMPLES: &str = "\
Examples:
  heeler compare fifo fifo-easy srtf tiresias
  heeler compare fifo tiresias tiresias:promote=8 --load 0.7,0.8,0.9 --seeds 5
  heeler compare fifo mine.toml --trace jobs.csv --cluster 4x8 --report compare.html
  heeler compare fifo srtf tiresias --loads 0.7,0.8,0.9 --seeds 20 --cache runs
  heeler compare fifo tiresias:promote=1 tiresias:promote=4 tiresias:promote=16 --report p.html

Recipes on the Pareto front of mean and late completion, fairness and restarts are marked. The
last column compares each run with the run of the first recipe on the same jobs: mean completion
time relative to it, as the geometric mean over seeds with its 95 % confidence interval. Times are
of jobs that finished; a note says who left others undone. A card with the name of a recipe that is
built in, or of another card, is called by its file, too.";

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
    /// Keep what each simulation showed in this folder, and take from there what was run before: a
    /// comparison that was broken off goes on where it was
    #[arg(long, value_name = "FOLDER")]
    cache: Option<PathBuf>,
    /// Write one line for each simulation to this CSV file
    #[arg(long, value_name = "FILE")]
    runs_out: Option<PathBuf>,
    /// Write an HTML report to this file: the Pareto front of each load, lines over loads and over
    /// values of a knob, and the first load and seed in detail
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
    /// What was run before.
    pub(crate) cache: Option<Cache>,
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
    /// Why the first of those that were to be kept could not be.
    pub(crate) not_kept: Option<anyhow::Error>,
}

/// What came of one simulation.
struct Seen {
    summary: Summary,
    run: Option<Run>,
    kept: Result<()>,
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
            not_kept: None,
        };
        for (cell, result) in done {
            let seen = result?;
            results.summaries[cell.load][cell.choice].push(seen.summary);
            results.runs.extend(seen.run);
            results.not_kept = results.not_kept.or(seen.kept.err());
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

    fn simulate(&self, cell: &Cell) -> Result<Seen> {
        let choice = &self.choices[cell.choice];
        let shown = self.report && cell.load == 0 && cell.seed == 0;
        let (load, seed) = (self.loads[cell.load], self.seeds[cell.seed]);
        let kept = self.cache.as_ref().map(|cache| (cache, cache.key(&choice.card, load, seed)));
        if let Some(known) = kept.as_ref().filter(|_| !shown).and_then(|(c, key)| c.get(key)) {
            return Ok(Seen { summary: known, run: None, kept: Ok(()) });
        }
        let scene = self.setting.scene(load, seed)?;
        let mut simulation = scene.simulate(choice);
        if shown {
            simulation.keep_segments();
        }
        simulation.run();
        let run = shown.then(|| Run::of(&choice.label, &simulation));
        let summary = Summary::of(&simulation);
        let kept = kept.map_or(Ok(()), |(cache, key)| cache.put(&key, &summary));
        Ok(Seen { summary, run, kept })
    }
}

impl Compare {
    pub(crate) fn run(&self) -> Result<()> {
        let plan = self.plan()?;
        let results = plan.run()?;
        let mut runs = results.summaries.iter().flatten().flatten();
        if runs.all(|run| run.jobs.submitted == 0) {
            let mistake = Mistake::new("there are no jobs to compare recipes by");
            return Err(mistake.hint("give a trace with jobs, or more --jobs").into());
        }
        let by_recipe = |summaries: &[Summary]| summaries.iter().map(|s| s.gpu_hours.shared).sum();
        let of_load =
            |all| std::iter::zip(&plan.choices, all).map(|(c, s): (_, &Vec<_>)| (c, by_recipe(s)));
        plan.setting.note_sharing(results.summaries.iter().take(1).flat_map(of_load));
        // What was computed for so long is shown even if it cannot be written.
        let written = self.write(&plan, &results);
        let printed = match self.json {
            true => print_json(&plan, &results),
            false => show::print(&text(&plan, &results)),
        };
        written.and(results.not_kept.map_or(Ok(()), Err)).and(printed)
    }

    fn write(&self, plan: &Plan, results: &Results) -> Result<()> {
        if let Some(path) = &self.runs_out {
            replace_file(path, |out| table::write_runs(out, plan, results))
                .with_context(|| format!("{} cannot be written", path.display()))?;
        }
        if let Some(path) = &self.report {
            let facts = plan.setting.facts_over(&plan.loads, &plan.seeds);
            let title = format!("{} recipes on {}", plan.choices.len(), facts[0].1);
            super::report::write(&plan.report(title, results), path)?;
        }
        Ok(())
    }

    fn plan(&self) -> Result<Plan> {
        let choices = choose_each(&self.recipes)?;
        let mut loads: Vec<f64> = self.load.clone();
        loads.sort_by(f64::total_cmp);
        if let Some(two) = loads.windows(2).find(|two| two[0] == two[1]) {
            let mistake = Mistake::new(format!("--load: {} is named twice", two[0]));
            return Err(mistake.hint("name each load once").into());
        }
        for (path, option) in [(&self.runs_out, "--runs-out"), (&self.report, "--report")] {
            path.as_ref().map_or(Ok(()), |path| writable::check_file(path, option))?;
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
        let cache = self.cache.as_ref().map(|folder| Cache::open(folder, &setting)).transpose()?;
        Ok(Plan { choices, setting, loads, seeds, threads, report, cache })
    }
}

/// Results as JSON.
pub(crate) fn print_json(plan: &Plan, results: &Results) -> Result<()> {
    let loads = (0..plan.loads.len()).map(|load| at_load(plan, results, load)).collect();
    let seeds = plan.seeds.clone();
    show::print_json("heeler/compare/2", &Output { seeds, loads })
}

pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
