//! What was seen of each recipe at each load: means over seeds, and who is on the Pareto front.

use super::{Plan, Results};
use heeler_sim::metrics::{Interval, Summary, pareto_front};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
pub(super) struct Output {
    pub(super) seeds: Vec<u64>,
    pub(super) loads: Vec<AtLoad>,
}

/// What was seen at one load.
#[derive(Serialize)]
pub(super) struct AtLoad {
    pub(super) load: Option<f64>,
    pub(super) setting: BTreeMap<String, String>,
    pub(super) recipes: Vec<Line>,
}

/// One recipe at one load: means over seeds.
#[derive(Serialize)]
pub(super) struct Line {
    pub(super) recipe: String,
    pub(super) knows_the_truth: bool,
    pub(super) completion_mean_s: Interval,
    pub(super) completion_p50_s: Interval,
    pub(super) completion_p99_s: Interval,
    pub(super) waiting_mean_s: Interval,
    pub(super) makespan_s: Interval,
    pub(super) utilisation: Interval,
    pub(super) unfair: Interval,
    pub(super) restarts_per_job: Interval,
    pub(super) lost_gpu_hours: Interval,
    pub(super) deadlines_missed: Interval,
    pub(super) deadline_value_lost: Interval,
    pub(super) finished: Interval,
    /// Whether no other recipe is as good in mean and late completion, fairness and restarts, and
    /// better in one of them.
    pub(super) pareto: bool,
    /// Mean completion time relative to the first recipe, run by run.
    pub(super) relative: Interval,
    pub(super) summaries: Vec<Summary>,
}

pub(super) fn at_load(plan: &Plan, results: &Results, load: usize) -> AtLoad {
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
            pareto: false,
            relative: Interval::of(&ratios),
            summaries: summaries.clone(),
        }
    });
    let setting = plan.setting.facts(plan.loads[load], plan.seeds[0]);
    let setting = setting.into_iter().collect();
    let mut recipes: Vec<Line> = lines.collect();
    let ends = |line: &Line| line.finished.mean;
    let most = recipes.iter().map(ends).fold(0.0, f64::max);
    let points: Vec<Option<[f64; 4]>> =
        recipes.iter().map(|line| (ends(line) >= most).then(|| line.point())).collect();
    for (line, front) in recipes.iter_mut().zip(pareto_front(&points)) {
        line.pareto = front;
    }
    AtLoad { load: plan.loads[load], setting, recipes }
}

impl Line {
    /// By what recipes are weighed against each other; less is better.
    fn point(&self) -> [f64; 4] {
        [
            self.completion_mean_s.mean,
            self.completion_p99_s.mean,
            self.unfair.mean,
            self.restarts_per_job.mean,
        ]
    }
}
