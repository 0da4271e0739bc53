//! What was measured of running jobs, so that a change can be judged by what it brought: the pace
//! of each job by itself, at its own size and larger, and what two models do side by side. Nothing
//! is predicted.

use heeler_engine::{Job, View};
use heeler_model::{JobId, KindId, ModelId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Relative differences of pace below this are none.
const SAME: f64 = 1e-9;

/// What was measured of one job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Entry {
    /// Pace by itself at the size it asked for, by kind.
    alone: BTreeMap<KindId, f64>,
    /// The largest size that was tried and was faster than that.
    faster_at: u32,
    /// The smallest larger size that was not.
    no_faster_at: Option<u32>,
}

/// What was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    jobs: BTreeMap<JobId, Entry>,
    /// Paces of two models side by side, each relative to its pace alone, together.
    sums: BTreeMap<KindId, BTreeMap<ModelId, BTreeMap<ModelId, f64>>>,
}

impl Ledger {
    /// Look at a running job that has the GPUs to itself.
    pub fn measure_alone(&mut self, job: &Job, view: &View) {
        let Some((kind, pace)) = measured(job, view) else { return };
        let (gpus, asked) = (job.gpus(), job.spec.demand.asked());
        let entry = self.jobs.entry(job.id).or_default();
        if gpus == asked {
            entry.alone.insert(kind, pace);
        } else if entry.alone.get(&kind).is_none_or(|alone| pace > alone * (1.0 + SAME)) {
            entry.faster_at = entry.faster_at.max(gpus);
        } else {
            entry.no_faster_at = Some(gpus);
        }
    }

    /// Look at two running jobs on the same GPUs: what they do together, if that can be told.
    pub fn measure_pair(&mut self, one: &Job, other: &Job, view: &View) -> Option<f64> {
        let part = |job: &Job| {
            let (kind, pace) = measured(job, view)?;
            let alone = self.alone(job.id, kind).filter(|alone| *alone > 0.0)?;
            Some((kind, pace / alone))
        };
        let ((kind, a), (_, b)) = (part(one)?, part(other)?);
        let (low, high) = in_order(one.spec.model, other.spec.model);
        let of_kind = self.sums.entry(kind).or_default();
        of_kind.entry(low).or_default().insert(high, a + b);
        Some(a + b)
    }

    /// The pace of a job by itself on a kind of GPU.
    pub fn alone(&self, job: JobId, kind: KindId) -> Option<f64> {
        self.jobs.get(&job)?.alone.get(&kind).copied()
    }

    /// What two models did side by side when last measured: below one, they had better take turns.
    pub fn sum(&self, kind: KindId, one: ModelId, other: ModelId) -> Option<f64> {
        let (low, high) = in_order(one, other);
        self.sums.get(&kind)?.get(&low)?.get(&high).copied()
    }

    /// The most GPUs that may be worth while for a job, as far as was tried.
    pub fn most_of_use(&self, job: &Job) -> u32 {
        let tried = self.jobs.get(&job.id).and_then(|entry| entry.no_faster_at);
        let sizes = &job.spec.demand.sizes;
        match tried {
            Some(gpus) => sizes.largest_up_to(gpus.saturating_sub(1)).unwrap_or(sizes.asked),
            None => sizes.max,
        }
    }

    /// Whether what a job does at its present size was measured.
    pub fn knows_size(&self, job: &Job) -> bool {
        let asked = job.spec.demand.asked();
        self.jobs.get(&job.id).is_some_and(|entry| {
            job.gpus() == asked && !entry.alone.is_empty() || job.gpus() <= entry.faster_at
        })
    }

    /// A job is gone.
    pub fn forget(&mut self, job: JobId) {
        self.jobs.remove(&job);
    }
}

/// The kind and pace of a job that has worked at that pace for a while.
fn measured(job: &Job, view: &View) -> Option<(KindId, f64)> {
    let works = job.is_running() && job.progress.from < view.now();
    let node = job.assignment.as_ref()?.placement.slices().first()?.node;
    works.then(|| (view.fleet().kind_of(node), job.progress.pace))
}

fn in_order(one: ModelId, other: ModelId) -> (ModelId, ModelId) {
    (one.min(other), one.max(other))
}
