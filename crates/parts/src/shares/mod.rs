//! Shares of time: which part of the time each job should run on each kind of GPU. The round-target
//! mechanism turns shares into rounds.

mod accounts;
mod beside;
mod best_kind_first;
mod equal;
mod in_parts;
mod isolated;
mod leftover_kind;
mod matching;
mod optimal;
mod random_pairs;
mod round_target;
mod seating;
mod spare;

pub use best_kind_first::BestKindFirst;
pub use equal::EqualShares;
pub use in_parts::InParts;
pub use matching::Matching;
pub use optimal::{Kinds, Objective, Optimal};
pub use random_pairs::RandomPairs;
pub use round_target::RoundTarget;
pub use spare::Spare;

use crate::predict::Declared;
use heeler_engine::{Job, Predict, View};
use heeler_model::{KindId, KindSet, Reach};
use heeler_solve::Pair;
use serde_json::Value;

/// What jobs are due: parts of the time on each kind of GPU.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Due {
    /// By themselves, a row for each job.
    pub alone: Vec<Vec<f64>>,
    /// Two by two on the same GPUs, jobs by their place among the rows.
    pub pairs: Vec<Pair>,
}

impl From<Vec<Vec<f64>>> for Due {
    fn from(alone: Vec<Vec<f64>>) -> Due {
        Due { alone, pairs: Vec::new() }
    }
}

/// The part of the time each job should run on each kind of GPU, by kind.
pub trait Shares: Send {
    /// A row for each job, in the same order, of so many GPUs of each kind, and for pairs of them.
    fn shares(&self, jobs: &[&Job], places: &[f64], view: &View) -> Due;

    /// Whether two jobs may share GPUs.
    fn packs(&self) -> bool {
        false
    }

    /// Learn how far jobs have come; called whenever shares are about to be computed anew.
    fn settle(&mut self, jobs: &[&Job], places: &[f64], view: &View) {
        let _ = (jobs, places, view);
    }

    /// Who says how long jobs are, if anybody does. The loop lets it learn and keeps what it knows.
    fn predictor(&self) -> Option<&dyn Predict> {
        None
    }

    /// The same, to learn.
    fn predictor_mut(&mut self) -> Option<&mut dyn Predict> {
        None
    }

    /// What was learned.
    fn save(&self) -> Value {
        Value::Null
    }

    /// Learn it again.
    ///
    /// # Errors
    ///
    /// If it was saved by something else.
    fn restore(&mut self, saved: &Value) -> Result<(), String> {
        let _ = saved;
        Ok(())
    }

    /// A copy.
    fn fork(&self) -> Box<dyn Shares>;
}

/// The rate of a job on a kind of GPU: as measured, or nominal. Zero where it cannot run.
pub(crate) fn rate(job: &Job, kind: KindId, view: &View) -> f64 {
    let demand = &job.spec.demand;
    let far =
        demand.reach != Reach::Cluster && view.fleet().together_ever(kind, demand) < demand.asked();
    if far || !demand.kinds.contains(kind) {
        return 0.0;
    }
    let speed = f64::from(view.fleet().cluster().kinds[kind.index()].speed.0) / 1000.0;
    let nominal = job.spec.nominal_pace * 1e6 * speed;
    job.spec.rates().get(kind.index()).copied().unwrap_or(nominal) * job.tempo.pace
}

/// Kinds by name, so that the order of a sum or of a choice does not hang on the cluster file.
fn kinds_by_name(view: &View) -> Vec<KindId> {
    let fleet = view.fleet();
    let kinds = &fleet.cluster().kinds;
    let mut order: Vec<KindId> = (0..kinds.len() as u8).map(KindId).collect();
    order.sort_by(|a, b| kinds[a.index()].name.cmp(&kinds[b.index()].name));
    order
}

/// GPUs of each kind that are there now.
fn places(view: &View) -> Vec<f64> {
    let kinds = (0..view.fleet().cluster().kinds.len() as u8).map(KindId);
    kinds.map(|kind| f64::from(view.fleet().up_of(KindSet::only(kind)))).collect()
}

fn gpus(job: &Job) -> f64 {
    f64::from(job.spec.demand.asked().max(1))
}

/// A job of which nothing is known is taken to be as far from its end as from its beginning, and no
/// less than this, seconds.
const UNKNOWN_MIN_S: f64 = 3600.0;

/// Work that is left, and at least a unit: a job that is there is not done. By what is predicted,
/// or else declared.
fn left(job: &Job, predict: &dyn Predict, view: &View) -> f64 {
    let done = job.progress.done_at(view.now());
    let work = predict.work(job, view).or_else(|| Declared.work(job, view));
    let known = work.map(|work| work - done);
    let unknown = || done.max(UNKNOWN_MIN_S * 1e6 * job.spec.nominal_pace);
    known.unwrap_or_else(unknown).max(1.0)
}
