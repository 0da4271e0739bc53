//! `heeler tune`: which recipe, with which knobs, suits a site's own jobs. Many candidates are
//! tried on few jobs, the better of them on more, and the best on all that may be looked at; jobs
//! that came later, which nobody looked at, say what the choice is worth.

mod candidates;
mod objective;

use super::compare::cache::Cache;
use super::compare::{Plan, cores};
use crate::arguments::{Choice, DrawArguments, Setting, SettingArguments};
use crate::mistake::Mistake;
use crate::show;
use anyhow::Result;
use candidates::candidates;
use clap::Args;
use heeler_recipes::{Card, all};
use heeler_sim::metrics::Summary;
use objective::Objective;
use serde::Serialize;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  heeler tune --trace jobs.csv --cluster 4x8
  heeler tune --trace jobs.csv --cluster 4x8 --objective mean=0.7,p99=0.3 tiresias las fifo-easy
  heeler tune --generate philly --jobs 4000 --load 0.9 --draws 40

Scores compare with the first recipe: 0.8 means a fifth less of what there should be less of. The
last column comes from jobs that no choice was made by, on a cluster that is empty when the first
of them comes; where it is much above the one before it, the choice fits only the past, or fewer
jobs wait for each other in so few.";

#[derive(Args, Clone)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Tune {
    /// The recipes to choose from; scores compare with the first [default: fifo, and every other
    /// that does not need to know how long jobs really run]
    #[arg(value_name = "RECIPE")]
    recipes: Vec<String>,
    /// What there should be less of: mean, p99 (completion time), wait, p99-wait, makespan, unfair,
    /// restarts, lost (GPU-hours), missed (deadlines); several with weights as in mean=0.7,p99=0.3
    #[arg(long, value_name = "AIMS", default_value = "mean")]
    objective: Objective,
    /// So many candidates with several knobs set, drawn by chance
    #[arg(long, value_name = "N", default_value_t = 20)]
    draws: usize,
    /// The part of the jobs, the last to come, that no choice is made by
    #[arg(long, value_name = "0..1", default_value_t = 0.3)]
    held_out: f64,
    /// Of the candidates, one of so many is tried on so many times more jobs
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(2..=100))]
    halving: u32,
    /// How many simulations at a time [default: as many as there are cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Keep what each simulation showed in this folder, and take from there what was run before
    #[arg(long, value_name = "FOLDER")]
    cache: Option<PathBuf>,
    /// Print JSON for programs
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    draw: DrawArguments,
    #[command(flatten)]
    setting: SettingArguments,
}

/// Candidates that are tried on all jobs that may be looked at.
const FINALISTS: usize = 5;
/// Jobs of the first trial, at least.
const JOBS_MIN: usize = 50;

/// A finalist.
#[derive(Serialize)]
struct Line {
    recipe: String,
    knows_the_truth: bool,
    /// Against the base, on the jobs that the choice was made by …
    tuned: f64,
    /// … and on the others.
    held_out: f64,
    completion_mean_s: f64,
    completion_p99_s: f64,
    unfair: f64,
    restarts_per_job: f64,
}

/// What came of one round of trials.
#[derive(Serialize)]
struct Round {
    jobs: usize,
    candidates: usize,
    best: String,
    best_score: f64,
}

#[derive(Serialize)]
struct Output {
    base: String,
    tuned_jobs: usize,
    held_out_jobs: usize,
    rounds: Vec<Round>,
    recipes: Vec<Line>,
    /// Aims of which nobody had anything at all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    decides_nothing: Vec<String>,
}

impl Tune {
    pub(crate) fn run(&self) -> Result<()> {
        if !(0.05..=0.9).contains(&self.held_out) {
            let message = format!("expected a part from 0.05 to 0.9, found {}", self.held_out);
            return Err(Mistake::new(format!("--held-out: {message}")).into());
        }
        let setting = self.setting.prepare()?.drawn(self.draw.load, self.draw.seed)?;
        let jobs = setting.jobs();
        let tuned_jobs = ((1.0 - self.held_out) * jobs as f64).floor() as usize;
        if tuned_jobs < JOBS_MIN || jobs - tuned_jobs < JOBS_MIN / 2 {
            let mistake = Mistake::new(format!("{jobs} jobs are too few to choose a recipe by"));
            return Err(mistake.hint("give a longer trace, or more --jobs").into());
        }
        let recipes = if self.recipes.is_empty() { usual() } else { self.recipes.clone() };
        let mut left = candidates(&recipes, self.draws, self.draw.seed)?;
        let base = left[0].clone();
        let mut rounds = Vec::new();
        let mut part = self.first_part(left.len(), tuned_jobs);
        let tuned = loop {
            let scored = self.trial(&setting, 0..part, &left, &base)?;
            let (best_score, best) = (scored[0].0, scored[0].1.label.clone());
            rounds.push(Round { jobs: part, candidates: left.len(), best, best_score });
            if part == tuned_jobs {
                break scored;
            }
            let keep = (left.len() / self.halving as usize).max(FINALISTS);
            left = scored.into_iter().take(keep).map(|(_, choice, _)| choice).collect();
            part = (part * self.halving as usize).min(tuned_jobs);
        };
        let finalists: Vec<Choice> =
            tuned.iter().take(FINALISTS).map(|(_, choice, _)| choice.clone()).collect();
        let held_out = self.trial(&setting, tuned_jobs..jobs, &finalists, &base)?;
        let line = |(score, choice, _): &(f64, Choice, Summary)| {
            let (after, _, seen) = held_out.iter().find(|(_, c, _)| c.label == choice.label)?;
            Some(Line {
                recipe: choice.label.clone(),
                knows_the_truth: choice.card.knows_the_truth(),
                tuned: *score,
                held_out: *after,
                completion_mean_s: seen.completion_s.mean,
                completion_p99_s: seen.completion_s.p99,
                unfair: seen.fairness.isolated.unfair,
                restarts_per_job: seen.restarts.per_job,
            })
        };
        let recipes = tuned.iter().filter_map(line).collect();
        let runs: Vec<&Summary> = tuned.iter().map(|(_, _, run)| run).collect();
        let silent = self.objective.silent(&runs);
        let output = Output {
            base: base.label,
            tuned_jobs,
            held_out_jobs: jobs - tuned_jobs,
            rounds,
            recipes,
            decides_nothing: silent.into_iter().map(ToString::to_string).collect(),
        };
        match self.json {
            true => show::print_json("heeler/tune/1", &output),
            false => show::print(&text(&output)),
        }
    }

    /// Jobs of the first trial, so that the last is on all.
    fn first_part(&self, candidates: usize, jobs: usize) -> usize {
        let times = self.halving as usize;
        let (mut left, mut part) = (candidates, jobs);
        while left > FINALISTS && part / times >= JOBS_MIN {
            (left, part) = (left / times, part / times);
        }
        part
    }

    /// Candidates on some of the jobs, the best first.
    fn trial(
        &self,
        setting: &Setting,
        jobs: std::ops::Range<usize>,
        left: &[Choice],
        base: &Choice,
    ) -> Result<Vec<(f64, Choice, Summary)>> {
        let setting = setting.window(jobs)?;
        let mut choices = left.to_vec();
        if !choices.iter().any(|choice| choice.label == base.label) {
            choices.push(base.clone());
        }
        let cache = self.cache.as_ref().map(|folder| Cache::open(folder, &setting)).transpose()?;
        let threads = self.threads.map_or_else(cores, usize::from);
        let (loads, seeds) = (vec![None], vec![self.draw.seed]);
        let plan = Plan { choices, setting, loads, seeds, threads, report: false, cache };
        let results = plan.run()?;
        let summaries: Vec<Summary> =
            results.summaries[0].iter().map(|by_seed| by_seed[0].clone()).collect();
        let at = plan.choices.iter().position(|choice| choice.label == base.label);
        let of_base = summaries[at.expect("the base runs along")].clone();
        let each = plan.choices.into_iter().zip(summaries).take(left.len());
        let mut scored: Vec<(f64, Choice, Summary)> =
            each.map(|(choice, run)| (self.objective.score(&run, &of_base), choice, run)).collect();
        scored.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(scored)
    }
}

/// Everything that can be had outside a simulator, compared with first come, first served.
fn usual() -> Vec<String> {
    let mut names = vec!["fifo".to_string()];
    for recipe in all() {
        let card = Card::read(recipe.text, recipe.name);
        let fits = card.is_ok_and(|card| !card.knows_the_truth());
        if fits && recipe.name != "fifo" {
            names.push(recipe.name.to_string());
        }
    }
    names
}

fn text(output: &Output) -> String {
    let mut text = String::new();
    for round in &output.rounds {
        text.push_str(&format!(
            "{} candidates on {} jobs: best {} at {:.3}\n",
            round.candidates, round.jobs, round.best, round.best_score
        ));
    }
    let tuned = format!("on {} jobs>", output.tuned_jobs);
    let after = format!("on {} later ones>", output.held_out_jobs);
    let columns = ["recipe", &tuned, &after, "mean JCT>", "p99>", "unfair>", "restarts>"];
    let mut table = show::Table::new(&columns);
    for line in &output.recipes {
        let mark = if line.knows_the_truth { " *" } else { "" };
        table.row(vec![
            format!("{}{mark}", line.recipe),
            format!("{:.3}", line.tuned),
            format!("{:.3}", line.held_out),
            show::seconds(line.completion_mean_s),
            show::seconds(line.completion_p99_s),
            show::percent(line.unfair),
            show::decimal(line.restarts_per_job),
        ]);
    }
    text.push_str(&format!("\n{}", table.text()));
    text.push_str(&format!(
        "\nscores are relative to {}; JCT and after: of the later jobs\n",
        output.base
    ));
    if let Some(best) = output.recipes.first() {
        // To a tenth, and never the zero below zero.
        let less = |score: f64| ((1.0 - score) * 1000.0).round() / 10.0 + 0.0;
        let (gain, held) = (less(best.tuned), less(best.held_out));
        text.push_str(&format!(
            "{}: {gain:.1} % less than {} where it was chosen, {held:.1} % on jobs that came \
             later\n",
            best.recipe, output.base
        ));
        for aim in &output.decides_nothing {
            let why = if aim == "missed" { " (do any jobs have deadlines?)" } else { "" };
            text.push_str(&format!(
                "note: `{aim}` is zero for every candidate{why}: it decides nothing here\n"
            ));
        }
        if output.recipes.iter().any(|line| line.knows_the_truth) {
            text.push_str("* knows how long jobs really run, as only a simulator can\n");
        }
    }
    text
}
