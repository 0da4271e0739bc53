//! What was seen of each recipe at each load: means over seeds, and who is on the Pareto front.

use super::undone::Undone;
use super::{Plan, Results};
use heeler_sim::metrics::{Interval, Summary, pareto_front};
use heeler_sim::report::Factor;
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

/// One recipe at one load: means over seeds. What only finished jobs say is of the runs in which
/// any did, and there is none of it if none did.
#[derive(Serialize)]
pub(super) struct Line {
    pub(super) recipe: String,
    pub(super) knows_the_truth: bool,
    /// Whether it goes by declared run times, which are the true ones here.
    pub(super) declared_is_true: bool,
    pub(super) completion_mean_s: Option<Interval>,
    pub(super) completion_p50_s: Option<Interval>,
    pub(super) completion_p99_s: Option<Interval>,
    pub(super) waiting_mean_s: Option<Interval>,
    pub(super) makespan_s: Option<Interval>,
    pub(super) utilisation: Interval,
    pub(super) unfair: Option<Interval>,
    pub(super) restarts_per_job: Interval,
    pub(super) lost_gpu_hours: Interval,
    pub(super) deadlines_missed: Interval,
    pub(super) deadline_value_lost: Interval,
    pub(super) submitted: Interval,
    pub(super) finished: Interval,
    /// What became of the other jobs.
    #[serde(flatten)]
    pub(super) undone: Undone,
    /// Whether no other recipe is as good in mean and late completion, fairness and restarts, and
    /// better in one of them.
    pub(super) pareto: bool,
    /// Mean completion time relative to the first recipe: the geometric mean over runs on the same
    /// jobs.
    pub(super) relative: Option<Factor>,
    pub(super) summaries: Vec<Summary>,
}

pub(super) fn at_load(plan: &Plan, results: &Results, load: usize) -> AtLoad {
    let by_choice = &results.summaries[load];
    let true_declared = plan.setting.declares_the_truth();
    let lines = plan.choices.iter().zip(by_choice).map(|(choice, summaries)| {
        let mut line = Line::of(&choice.label, summaries, &by_choice[0]);
        line.knows_the_truth = choice.card.knows_the_truth();
        line.declared_is_true = true_declared && choice.card.goes_by_declared();
        line
    });
    let mut recipes: Vec<Line> = lines.collect();
    let setting = plan.setting.facts(plan.loads[load], plan.seeds[0]);
    let setting = setting.into_iter().collect();
    let most = recipes.iter().map(|line| line.finished.mean).fold(0.0, f64::max);
    let points: Vec<Option<[f64; 4]>> =
        recipes.iter().map(|line| line.point().filter(|_| line.finished.mean >= most)).collect();
    for (line, front) in recipes.iter_mut().zip(pareto_front(&points)) {
        line.pareto = front;
    }
    AtLoad { load: plan.loads[load], setting, recipes }
}

impl Line {
    /// What runs of a recipe showed, beside those of the first on the same jobs.
    fn of(label: &str, summaries: &[Summary], first: &[Summary]) -> Line {
        let over =
            |of: fn(&Summary) -> f64| Interval::of(&summaries.iter().map(of).collect::<Vec<_>>());
        let of_finished = |of: fn(&Summary) -> f64| {
            let finished = summaries.iter().filter(|summary| summary.jobs.finished > 0);
            let values: Vec<f64> = finished.map(of).collect();
            (!values.is_empty()).then(|| Interval::of(&values))
        };
        let mean = |summary: &Summary| summary.completion_s.mean;
        let ratios: Vec<f64> =
            summaries.iter().zip(first).map(|(own, first)| mean(own) / mean(first)).collect();
        Line {
            recipe: label.to_string(),
            knows_the_truth: false,
            declared_is_true: false,
            completion_mean_s: of_finished(mean),
            completion_p50_s: of_finished(|summary| summary.completion_s.p50),
            completion_p99_s: of_finished(|summary| summary.completion_s.p99),
            waiting_mean_s: of_finished(|summary| summary.waiting_s.mean),
            makespan_s: of_finished(|summary| summary.makespan_s),
            utilisation: over(|summary| summary.utilisation),
            unfair: of_finished(|summary| summary.fairness.isolated.unfair),
            restarts_per_job: over(|summary| summary.restarts.per_job),
            lost_gpu_hours: over(|summary| summary.gpu_hours.lost),
            deadlines_missed: over(|summary| summary.deadlines.missed as f64),
            deadline_value_lost: over(|summary| summary.deadlines.value_lost),
            submitted: over(|summary| summary.jobs.submitted as f64),
            finished: over(|summary| summary.jobs.finished as f64),
            undone: Undone::of(summaries),
            pareto: false,
            relative: Factor::of(&ratios),
            summaries: summaries.to_vec(),
        }
    }

    /// By what recipes are weighed against each other; less is better.
    fn point(&self) -> Option<[f64; 4]> {
        Some([
            self.completion_mean_s?.mean,
            self.completion_p99_s?.mean,
            self.unfair?.mean,
            self.restarts_per_job.mean,
        ])
    }

    /// Its name, with a mark if it is told how long jobs really run.
    pub(super) fn label(&self) -> String {
        let mark = super::mark(self.knows_the_truth, self.declared_is_true);
        format!("{}{mark}", self.recipe)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(mean_s: f64) -> Summary {
        let mut summary = Summary::default();
        summary.jobs.submitted = 10;
        summary.jobs.finished = if mean_s > 0.0 { 10 } else { 0 };
        summary.completion_s.mean = mean_s;
        summary
    }

    #[test]
    fn one_way_and_the_other_way_make_one() {
        let (a, b) = ([run(10.0), run(400.0)], [run(30.0), run(200.0)]);
        let there = Line::of("a", &a, &b).relative.expect("both finished").mean;
        let back = Line::of("b", &b, &a).relative.expect("both finished").mean;
        assert!((there * back - 1.0).abs() < 1e-12, "{there} {back}");
    }

    #[test]
    fn runs_in_which_nothing_finished_have_no_times() {
        let none = Line::of("a", &[run(0.0), run(0.0)], &[run(10.0), run(10.0)]);
        assert!(none.completion_mean_s.is_none() && none.relative.is_none());
        assert!(none.point().is_none(), "nor are they on the front");
        let some = Line::of("a", &[run(0.0), run(20.0)], &[run(10.0), run(10.0)]);
        assert_eq!(some.completion_mean_s.map(|interval| interval.mean), Some(20.0));
        assert_eq!(some.relative.map(|factor| factor.mean.round()), Some(2.0));
    }
}
