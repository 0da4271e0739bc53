//! Equal shares: every job its n-th part of every kind of GPU. What a job would have if the cluster
//! were divided, and so the yardstick of fairness (Gavel's `isolated`). Or every job the same part
//! of the time, however many GPUs it has then (Shockwave's evaluation calls that Gandiva_fair).

use super::{Due, Shares, gpus, kinds_by_name};
use heeler_engine::{Job, View};
use heeler_model::KindId;

/// What everybody has the same of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EqualShares {
    /// GPU time: every job its n-th part of every kind of GPU.
    #[default]
    OfGpus,
    /// Time: a gang's turns are as long as those of a job of one GPU.
    OfTime,
}

impl Shares for EqualShares {
    fn shares(&self, jobs: &[&Job], places: &[f64], view: &View) -> Due {
        let kinds = kinds_by_name(view);
        let row = |job: &&Job| {
            let gpus = match self {
                EqualShares::OfGpus => gpus(job),
                EqualShares::OfTime => 1.0,
            };
            equal_row(places, jobs.len(), gpus, &kinds)
        };
        jobs.iter().map(row).collect::<Vec<_>>().into()
    }

    fn fork(&self) -> Box<dyn Shares> {
        Box::new(*self)
    }
}

/// One of so many equal parts of every kind, for somebody with so many GPUs.
pub(super) fn equal_row(places: &[f64], parts: usize, gpus: f64, kinds: &[KindId]) -> Vec<f64> {
    let mut row = vec![0.0; kinds.len()];
    let mut sum = 0.0;
    for kind in kinds {
        row[kind.index()] = places[kind.index()] / parts as f64 / gpus;
        sum += row[kind.index()];
    }
    // Nobody can run more than all the time.
    let all = f64::max(sum, 1.0);
    row.iter().map(|share| share / all).collect()
}
