//! `heeler tune`: which recipe, with which knobs, suits a site's own jobs. Many candidates are
//! tried on few jobs, the better of them on more, and the best on all that may be looked at; jobs
//! that came later, which nobody looked at, say what the choice is worth.

mod candidates;
mod objective;
mod rungs;
mod shown;

use super::compare::cache::Cache;
use super::compare::{Plan, cores};
use crate::arguments::{Choice, DrawArguments, Setting, SettingArguments};
use crate::mistake::Mistake;
use crate::show;
use anyhow::Result;
use candidates::{Candidates, candidates};
use clap::Args;
use heeler_recipes::{Card, all};
use heeler_sim::metrics::Summary;
use objective::{NoBase, Objective};
use rungs::{going_on, level_with_first, rank};
use serde::Serialize;
use std::ops::Range;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  heeler tune --trace jobs.csv --cluster 4x8
  heeler tune --trace jobs.csv --cluster 4x8 --objective mean=0.7,p99=0.3 tiresias las fifo-easy
  heeler tune --generate philly --jobs 4000 --load 0.9 --draws 40

Scores compare with the first recipe: 0.8 means a fifth less of what there should be less of. The
last column comes from jobs that no choice was made by, on a cluster that is empty when the first
of them comes; where it is much above the one before it, the choice fits only the past, or fewer
jobs wait for each other in so few. A score of inf stands for fewer jobs finished than under the
first recipe.

Of what the first recipe has nothing, a little counts as one: 0.01 restarts for each job, 0.001
unfair, 0.1 lost GPU-hours, a second of waiting, a missed deadline.";

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

/// A finalist, or the base.
#[derive(Serialize)]
struct Line {
    recipe: String,
    knows_the_truth: bool,
    /// Whether it goes by declared run times, which are the true ones here.
    declared_is_true: bool,
    /// Against the base, on the jobs that the choice was made by; null for one that finished fewer
    /// of them than the base.
    tuned: f64,
    /// The same on the others.
    held_out: f64,
    /// Of the others, jobs that it did not finish.
    held_out_undone: usize,
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
    /// The first by name of those who did best.
    best: String,
    best_score: f64,
    /// How many did as well as it, itself among them: if all, nothing was decided.
    level: usize,
}

#[derive(Serialize)]
struct Output {
    objective: String,
    /// Which jobs, in words.
    jobs: String,
    cluster: String,
    world: String,
    load: Option<f64>,
    seed: u64,
    /// The part of the jobs that no choice is made by.
    held_out: f64,
    base: String,
    tuned_jobs: usize,
    held_out_jobs: usize,
    rounds: Vec<Round>,
    recipes: Vec<Line>,
    /// Aims of which nobody had anything at all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    decides_nothing: Vec<String>,
    /// Candidates that were left out because another is the same by another name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    same: Vec<Same>,
    /// Aims of which the base had nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    without_base: Vec<NoBase>,
}

/// A candidate that is another by another name.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Same {
    recipe: String,
    as_recipe: String,
}

/// A candidate that was tried: how it did against the base.
struct Tried {
    score: f64,
    choice: Choice,
    run: Summary,
}

impl Tune {
    pub(crate) fn run(&self) -> Result<()> {
        if !(0.05..=0.9).contains(&self.held_out) {
            let message = format!("expected a part from 0.05 to 0.9, found {}", self.held_out);
            return Err(Mistake::new(format!("--held-out: {message}")).into());
        }
        let prepared = self.setting.prepare()?;
        let setting = prepared.drawn(self.draw.load, self.draw.seed)?;
        let jobs = setting.jobs();
        let tuned_jobs = ((1.0 - self.held_out) * jobs as f64).floor() as usize;
        if tuned_jobs < JOBS_MIN || jobs - tuned_jobs < JOBS_MIN / 2 {
            return Err(too_few(jobs, self.held_out).into());
        }
        let recipes = if self.recipes.is_empty() { usual() } else { self.recipes.clone() };
        let Candidates { left, base, same } = candidates(&recipes, self.draws, self.draw.seed)?;
        let mut trials = Trials { tune: self, setting: &setting, base, not_kept: None };
        let (rounds, tuned) = trials.rounds(left, tuned_jobs)?;
        let finalists: Vec<Choice> = tuned.iter().map(|tried| tried.choice.clone()).collect();
        let held_out = trials.on(tuned_jobs..jobs, &finalists)?;
        let Trials { base, not_kept, .. } = trials;
        let output = self.output(&prepared, base, rounds, &tuned, &held_out);
        let output = Output { tuned_jobs, held_out_jobs: jobs - tuned_jobs, same, ..output };
        let printed = match self.json {
            true => show::print_json("heeler/tune/1", &output),
            false => show::print(&shown::text(&output)),
        };
        not_kept.map_or(Ok(()), Err).and(printed)
    }

    /// What was found; how many jobs that was on is not filled in.
    fn output(
        &self,
        setting: &Setting,
        base: String,
        rounds: Vec<Round>,
        tuned: &[Tried],
        held_out: &[Tried],
    ) -> Output {
        let true_declared = setting.declares_the_truth();
        let line = |tried: &Tried| {
            let label = &tried.choice.label;
            let after = held_out.iter().find(|other| other.choice.label == *label)?;
            let (card, seen) = (&tried.choice.card, &after.run);
            Some(Line {
                recipe: label.clone(),
                knows_the_truth: card.knows_the_truth(),
                declared_is_true: true_declared && card.goes_by_declared(),
                tuned: tried.score,
                held_out: after.score,
                held_out_undone: seen.jobs.submitted - seen.jobs.finished,
                completion_mean_s: seen.completion_s.mean,
                completion_p99_s: seen.completion_s.p99,
                unfair: seen.fairness.isolated.unfair,
                restarts_per_job: seen.restarts.per_job,
            })
        };
        let runs: Vec<&Summary> = tuned.iter().map(|tried| &tried.run).collect();
        let of_base = tuned.iter().find(|tried| tried.choice.label == base);
        let without = of_base.map(|of_base| self.objective.without_base(&runs, &of_base.run));
        let facts = setting.facts(self.draw.load, self.draw.seed);
        let fact = |name: &str| {
            let known = facts.iter().find(|(known, _)| known == name);
            known.map_or(String::new(), |(_, value)| value.clone())
        };
        let silent = self.objective.silent(&runs).into_iter();
        Output {
            objective: self.objective.to_string(),
            jobs: fact("jobs"),
            cluster: fact("cluster"),
            world: fact("world"),
            load: setting.load(self.draw.load),
            seed: self.draw.seed,
            held_out: self.held_out,
            base,
            tuned_jobs: 0,
            held_out_jobs: 0,
            rounds,
            recipes: tuned.iter().filter_map(line).collect(),
            decides_nothing: silent.map(ToString::to_string).collect(),
            same: Vec::new(),
            without_base: without.unwrap_or_default(),
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
}

/// Candidates on more and more jobs, beside the base.
struct Trials<'a> {
    tune: &'a Tune,
    setting: &'a Setting,
    /// What the base is called.
    base: String,
    /// Why the first run that was to be kept could not be.
    not_kept: Option<anyhow::Error>,
}

impl Trials<'_> {
    /// Round after round, until all jobs that may be looked at are: what came of each round, and
    /// the best of the last, the base among them. Who is level with the last that goes on goes on,
    /// too: few jobs often tell nobody apart, and more may.
    fn rounds(&mut self, mut left: Vec<Choice>, jobs: usize) -> Result<(Vec<Round>, Vec<Tried>)> {
        let times = self.tune.halving as usize;
        let mut rounds = Vec::new();
        let mut part = self.tune.first_part(left.len(), jobs);
        // Whether the base is there only to be compared with.
        let mut aside = false;
        loop {
            let tried = self.on(0..part, &left)?;
            let scores: Vec<f64> = tried
                .iter()
                .filter(|tried| !(aside && tried.choice.label == self.base))
                .map(|tried| tried.score)
                .collect();
            let (best_score, best) = (tried[0].score, tried[0].choice.label.clone());
            let all: Vec<f64> = tried.iter().map(|tried| tried.score).collect();
            let level = level_with_first(&all);
            rounds.push(Round { jobs: part, candidates: left.len(), best, best_score, level });
            if part == jobs {
                return Ok((rounds, self.best(tried, FINALISTS)));
            }
            let keep = (scores.len() / times).max(FINALISTS);
            let last = going_on(&scores, keep).checked_sub(1).map(|last| rank(scores[last]));
            let stays = |tried: &Tried| last.is_some_and(|last| rank(tried.score) <= last);
            let of_base = tried.iter().find(|tried| tried.choice.label == self.base);
            aside |= of_base.is_some_and(|of_base| !stays(of_base));
            let kept = tried.into_iter().filter(|on| stays(on) || on.choice.label == self.base);
            left = kept.map(|tried| tried.choice).collect();
            // The same once more on a few jobs more would say nothing new.
            let next = part * times;
            part = if next + jobs / 4 >= jobs { jobs } else { next };
        }
    }

    /// So many of the best, and the base, however it did.
    fn best(&self, tried: Vec<Tried>, keep: usize) -> Vec<Tried> {
        let kept = |(at, tried): &(usize, Tried)| *at < keep || tried.choice.label == self.base;
        tried.into_iter().enumerate().filter(kept).map(|(_, tried)| tried).collect()
    }

    /// Candidates, the base among them, on some of the jobs: the best first.
    fn on(&mut self, jobs: Range<usize>, left: &[Choice]) -> Result<Vec<Tried>> {
        let setting = self.setting.window(jobs)?;
        let cache = self.tune.cache.as_ref();
        let cache = cache.map(|folder| Cache::open(folder, &setting)).transpose()?;
        let threads = self.tune.threads.map_or_else(cores, usize::from);
        let (loads, seeds) = (vec![None], vec![self.tune.draw.seed]);
        let choices = left.to_vec();
        let plan = Plan { choices, setting, loads, seeds, threads, report: false, cache };
        let results = plan.run()?;
        self.not_kept = self.not_kept.take().or(results.not_kept);
        let runs: Vec<Summary> =
            results.summaries[0].iter().map(|by_seed| by_seed[0].clone()).collect();
        let at = plan.choices.iter().position(|choice| choice.label == self.base);
        let base = runs[at.expect("the base runs along")].clone();
        if base.jobs.finished == 0 {
            let message = format!("{} finishes none of the jobs that it is tried on", self.base);
            let hint = "scores are relative to the first recipe: name one first that does";
            return Err(Mistake::new(message).hint(hint).into());
        }
        let objective = &self.tune.objective;
        let tried = |(choice, run)| Tried { score: objective.score(&run, &base), choice, run };
        let mut tried: Vec<Tried> = plan.choices.into_iter().zip(runs).map(tried).collect();
        // Equals by name, whoever was named first.
        let name = |tried: &Tried| tried.choice.label.clone();
        tried.sort_by_cached_key(|tried| (rank(tried.score), name(tried)));
        Ok(tried)
    }
}

/// What is said where there are not enough jobs.
fn too_few(jobs: usize, held_out: f64) -> Mistake {
    let enough = |jobs: &usize| {
        let tuned = ((1.0 - held_out) * *jobs as f64).floor() as usize;
        tuned >= JOBS_MIN && jobs - tuned >= JOBS_MIN / 2
    };
    let needed = (JOBS_MIN..).find(enough).expect("a part of enough jobs is enough");
    let number = if jobs == 1 { "1 job is".to_string() } else { format!("{jobs} jobs are") };
    let mistake = Mistake::new(format!(
        "{number} too few to choose a recipe by: with --held-out {held_out} it takes {needed}"
    ));
    mistake.hint("give a longer trace, or more --jobs")
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
