//! Shares of time: which part of the time each job should run on each kind of GPU. The round-target
//! mechanism turns shares into rounds.

mod best_kind_first;
mod equal;
mod isolated;
mod optimal;
mod round_target;

pub use best_kind_first::BestKindFirst;
pub use equal::EqualShares;
pub use optimal::{Kinds, Objective, Optimal};
pub use round_target::RoundTarget;

use heeler_engine::{Job, View};
use heeler_model::{KindId, Reach};
use serde_json::Value;

/// The part of the time each job should run on each kind of GPU, by kind.
pub trait Shares: Send {
    /// A row for each job, in the same order.
    fn shares(&self, jobs: &[&Job], view: &View) -> Vec<Vec<f64>>;

    /// Learn how far jobs have come; called whenever shares are about to be computed anew.
    fn settle(&mut self, jobs: &[&Job], view: &View) {
        let _ = (jobs, view);
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
