//! The bill: what the GPUs that jobs held have cost, where kinds have prices.

use heeler_model::{Assignment, Cluster, JobId, KindId, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Adds up what GPUs cost.
#[derive(Clone, Debug)]
pub(crate) struct Bill {
    /// Nothing, where nothing has a price.
    cluster: Option<Arc<Cluster>>,
    open: BTreeMap<JobId, (KindId, f64, Time)>,
    over: f64,
}

impl Bill {
    pub(crate) fn new(cluster: &Cluster) -> Bill {
        let priced = cluster.kinds.iter().any(|kind| !kind.prices.is_empty());
        let cluster = priced.then(|| Arc::new(cluster.clone()));
        Bill { cluster, open: BTreeMap::new(), over: 0.0 }
    }

    pub(crate) fn takes(&mut self, job: JobId, on: &Assignment, milli: f64, now: Time) {
        let Some(cluster) = &self.cluster else { return };
        let Some(first) = on.placement.slices().first() else { return };
        let kind = cluster.nodes[first.node.index()].kind;
        self.open.insert(job, (kind, milli, now));
    }

    /// A job holds so many thousandths of GPUs from now on.
    pub(crate) fn holds(&mut self, job: JobId, milli: f64, now: Time) {
        let Some(held) = self.open.get(&job).copied() else { return };
        self.over += self.cost(held, now);
        self.open.insert(job, (held.0, milli, now));
    }

    pub(crate) fn frees(&mut self, job: JobId, now: Time) {
        let held = self.open.remove(&job);
        self.over += held.map_or(0.0, |held| self.cost(held, now));
    }

    fn cost(&self, (kind, milli, from): (KindId, f64, Time), now: Time) -> f64 {
        let Some(cluster) = &self.cluster else { return 0.0 };
        cluster.kinds[kind.index()].cost(from, now) * milli / 1000.0
    }

    /// What was held until now has cost.
    pub(crate) fn total(&self, now: Time) -> f64 {
        self.over + self.open.values().map(|held| self.cost(*held, now)).sum::<f64>()
    }
}
