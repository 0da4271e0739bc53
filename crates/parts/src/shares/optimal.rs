//! Shares that are best by some objective, as linear programmes over the rates that jobs have on
//! each kind of GPU: Gavel (Narayanan et al., OSDI 2020, §4).

use super::{Shares, rate};
use heeler_engine::{Job, Predict, View};
use heeler_model::{KindId, KindSet};
use heeler_solve::{Row, Sharing};
use serde::{Deserialize, Serialize};

/// What is best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Objective {
    /// Whoever has the least, compared with an equal part of every kind, has as much as possible:
    /// least attained service for several kinds.
    MaxMin,
    /// All jobs that are there are done as early as possible.
    Makespan,
    /// All jobs together, each compared with an equal part of every kind, get as much done as
    /// possible.
    Throughput,
}

/// Whether jobs are taken to run at different rates on different kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kinds {
    /// At the rates they have.
    #[default]
    Aware,
    /// At the same rate everywhere.
    Agnostic,
}

/// Shares that are best by an objective.
pub struct Optimal {
    /// What is best.
    pub objective: Objective,
    /// Whether rates differ between kinds.
    pub kinds: Kinds,
    /// Who says how much work jobs are, where that matters.
    pub predict: Box<dyn Predict>,
}

impl Optimal {
    /// What all the time on each kind is worth to a job.
    fn row(&self, job: &Job, places: &[f64], view: &View) -> Row {
        let kinds = (0..places.len() as u8).map(KindId);
        let rates: Vec<f64> = kinds.map(|kind| rate(job, kind, view)).collect();
        let best = rates.iter().copied().fold(0.0, f64::max);
        // Who does not tell kinds apart takes the best rate for all of them.
        let level = |rate: f64| match self.kinds {
            Kinds::Aware => rate,
            Kinds::Agnostic if rate > 0.0 => best,
            Kinds::Agnostic => 0.0,
        };
        let rates: Vec<f64> = rates.into_iter().map(level).collect();
        let gpus = f64::from(job.spec.demand.asked().max(1));
        let all: f64 = places.iter().sum();
        let equal: f64 = rates.iter().zip(places).map(|(rate, places)| rate * places / all).sum();
        let divide_by = match self.objective {
            Objective::MaxMin => equal / gpus * f64::from(job.spec.priority.max(1)),
            Objective::Throughput => equal,
            Objective::Makespan => self.left(job, view),
        };
        let worth = rates.iter().map(|rate| rate / divide_by.max(f64::MIN_POSITIVE)).collect();
        Row { size: gpus, worth }
    }

    /// Work that is left, and at least a unit: a job that is there is not done.
    fn left(&self, job: &Job, view: &View) -> f64 {
        let work = self.predict.work(job, view).unwrap_or(1.0);
        (work - job.progress.done).max(1.0)
    }
}

impl Shares for Optimal {
    fn shares(&self, jobs: &[&Job], view: &View) -> Vec<Vec<f64>> {
        let kinds = (0..view.fleet().cluster().kinds.len() as u8).map(KindId);
        let there = |kind| f64::from(view.fleet().up_of(KindSet::only(kind)));
        let places: Vec<f64> = kinds.map(there).collect();
        let rows: Vec<Row> = jobs.iter().map(|job| self.row(job, &places, view)).collect();
        // Whoever can run nowhere now would hold everybody down to nothing.
        let runs = |row: &Row| row.worth.iter().zip(&places).any(|(w, p)| *w > 0.0 && *p > 0.0);
        let able: Vec<bool> = rows.iter().map(runs).collect();
        let sharers = rows.iter().zip(&able).filter(|(_, able)| **able);
        let sharing = Sharing { places, rows: sharers.map(|(row, _)| row.clone()).collect() };
        if sharing.rows.is_empty() {
            return vec![vec![0.0; sharing.places.len()]; jobs.len()];
        }
        let division = match self.objective {
            Objective::MaxMin | Objective::Makespan => sharing.max_min(),
            Objective::Throughput => sharing.max_sum(),
        };
        let mut parts = division.parts.into_iter();
        let nothing = vec![0.0; sharing.places.len()];
        able.iter()
            .map(|able| if *able { parts.next() } else { None })
            .map(|parts| parts.unwrap_or_else(|| nothing.clone()))
            .collect()
    }

    fn fork(&self) -> Box<dyn Shares> {
        let predict = self.predict.fork();
        Box::new(Optimal { objective: self.objective, kinds: self.kinds, predict })
    }
}
