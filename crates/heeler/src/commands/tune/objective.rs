//! What a site wants less of, and how much each counts.

use heeler_sim::metrics::Summary;
use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// Something there can be less of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aim {
    Mean,
    P99,
    Wait,
    P99Wait,
    Makespan,
    Unfair,
    Restarts,
    Lost,
    Missed,
}

const AIMS: [(&str, Aim); 9] = [
    ("mean", Aim::Mean),
    ("p99", Aim::P99),
    ("wait", Aim::Wait),
    ("p99-wait", Aim::P99Wait),
    ("makespan", Aim::Makespan),
    ("unfair", Aim::Unfair),
    ("restarts", Aim::Restarts),
    ("lost", Aim::Lost),
    ("missed", Aim::Missed),
];

impl Aim {
    fn of(self, summary: &Summary) -> f64 {
        match self {
            Aim::Mean => summary.completion_s.mean,
            Aim::P99 => summary.completion_s.p99,
            Aim::Wait => summary.waiting_s.mean,
            Aim::P99Wait => summary.waiting_s.p99,
            Aim::Makespan => summary.makespan_s,
            Aim::Unfair => summary.fairness.isolated.unfair,
            Aim::Restarts => summary.restarts.per_job,
            Aim::Lost => summary.gpu_hours.lost,
            Aim::Missed => summary.deadlines.missed as f64,
        }
    }

    /// What counts as little: it is added to both sides, so that none and next to none are alike.
    fn little(self) -> f64 {
        match self {
            Aim::Unfair => 0.001,
            Aim::Restarts => 0.01,
            Aim::Lost => 0.1,
            Aim::Wait | Aim::P99Wait | Aim::Missed => 1.0,
            Aim::Mean | Aim::P99 | Aim::Makespan => 0.001,
        }
    }
}

/// A weighted sum, each part relative to what another recipe comes to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Objective {
    parts: Vec<(Aim, f64)>,
}

impl FromStr for Objective {
    type Err = String;
    fn from_str(text: &str) -> Result<Objective, String> {
        let names = || AIMS.map(|(name, _)| name).join(", ");
        let mut parts = Vec::new();
        for part in text.split(',') {
            let (name, weight) = part.split_once('=').unwrap_or((part, "1"));
            let Some((_, aim)) = AIMS.iter().find(|(known, _)| *known == name.trim()) else {
                return Err(format!("`{name}` is none of {}", names()));
            };
            let weight: f64 = weight.trim().parse().unwrap_or(f64::NAN);
            if !(weight > 0.0 && weight.is_finite()) {
                return Err(format!("expected a weight above zero as in mean=0.7, found `{part}`"));
            }
            parts.push((*aim, weight));
        }
        Ok(Objective { parts })
    }
}

/// An aim of which the base has nothing, so that no other can be relative to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct NoBase {
    pub(super) aim: String,
    /// So much counts as one, in seconds, restarts for each job, GPU-hours, jobs, or a part.
    pub(super) counts_as_one: f64,
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (aim, weight)) in self.parts.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            let known = AIMS.iter().find(|(_, known)| known == aim);
            let name = known.map_or("", |(name, _)| name);
            match *weight {
                1.0 => write!(f, "{comma}{name}")?,
                weight => write!(f, "{comma}{name}={weight}")?,
            }
        }
        Ok(())
    }
}

impl Objective {
    /// Aims of which the base has nothing and somebody else something.
    pub(super) fn without_base(&self, runs: &[&Summary], base: &Summary) -> Vec<NoBase> {
        let silent = self.silent(runs);
        let own = AIMS.iter().filter(|(_, aim)| self.parts.iter().any(|(own, _)| own == aim));
        own.filter(|(name, aim)| aim.of(base) == 0.0 && !silent.contains(name))
            .map(|(name, aim)| NoBase { aim: name.to_string(), counts_as_one: aim.little() })
            .collect()
    }

    /// What there was none of at all in any run, so that it says nothing of them.
    pub(super) fn silent(&self, runs: &[&Summary]) -> Vec<&str> {
        let none = |aim: Aim| runs.iter().all(|run| aim.of(run) == 0.0);
        let aims = AIMS.iter().filter(|(_, aim)| self.parts.iter().any(|(own, _)| own == aim));
        aims.filter(|(_, aim)| none(*aim)).map(|(name, _)| *name).collect()
    }

    /// How much a run has of what there should be less of: one, if it has as much as the base.
    /// Whoever leaves jobs undone that the base did has no end of it.
    pub(super) fn score(&self, run: &Summary, base: &Summary) -> f64 {
        if run.jobs.finished < base.jobs.finished {
            return f64::INFINITY;
        }
        let weights: f64 = self.parts.iter().map(|(_, weight)| weight).sum();
        let part = |(aim, weight): &(Aim, f64)| {
            let (own, base) = (aim.of(run), aim.of(base));
            weight * (own + aim.little()) / (base + aim.little())
        };
        self.parts.iter().map(part).sum::<f64>() / weights
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_has_any_of_says_nothing() {
        let objective: Objective = "mean,missed".parse().expect("an objective");
        let mut run = Summary::default();
        run.completion_s.mean = 60.0;
        assert_eq!(objective.silent(&[&run, &Summary::default()]), ["missed"]);
        run.deadlines.missed = 1;
        assert!(objective.silent(&[&run, &Summary::default()]).is_empty());
    }

    #[test]
    fn what_only_the_base_has_none_of_is_told() {
        let objective: Objective = "mean,restarts=0.5,missed".parse().expect("an objective");
        assert_eq!(objective.to_string(), "mean,restarts=0.5,missed");
        let (mut base, mut other) = (Summary::default(), Summary::default());
        (base.completion_s.mean, other.completion_s.mean) = (60.0, 60.0);
        other.restarts.per_job = 0.02;
        let told = objective.without_base(&[&base, &other], &base);
        assert_eq!(told, [NoBase { aim: "restarts".into(), counts_as_one: 0.01 }]);
        // As much as the base but for restarts, of which it has two more than none.
        let score = objective.score(&other, &base);
        assert!((score - (1.0 + 0.5 * 3.0 + 1.0) / 2.5).abs() < 1e-9, "{score}");
        base.restarts.per_job = 0.02;
        assert!(objective.without_base(&[&base, &other], &base).is_empty());
    }

    #[test]
    fn parts_are_weighed_against_the_base() {
        let run = |mean: f64, p99: f64| {
            let mut summary = Summary::default();
            (summary.completion_s.mean, summary.completion_s.p99) = (mean, p99);
            summary
        };
        let objective: Objective = "mean=3,p99".parse().expect("an objective");
        let score = objective.score(&run(50.0, 400.0), &run(100.0, 200.0));
        assert!((score - (3.0 * 0.5 + 2.0) / 4.0).abs() < 1e-3, "{score}");
        let base = run(100.0, 200.0);
        assert!((objective.score(&base, &base) - 1.0).abs() < 1e-12, "as much as itself");
        assert!("mean=0".parse::<Objective>().is_err());
        assert!("speed".parse::<Objective>().expect_err("no such aim").contains("p99-wait"));
    }
}
