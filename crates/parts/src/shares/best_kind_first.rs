//! First come, first served, each job on the kind of GPU it is fastest on among those with room;
//! the first job for which no kind has room blocks the rest (Gavel's `fifo_perf`). Or, for whoever
//! does not tell kinds apart, on the kind with the most room (its `fifo`).

use super::{Kinds, Shares, kinds_by_name, rate};
use heeler_engine::{Job, View};
use heeler_model::{KindId, TenantId};
use std::collections::BTreeMap;

/// First come, first served, on the best kind with room.
#[derive(Clone, Copy, Debug, Default)]
pub struct BestKindFirst {
    kinds: Kinds,
}

impl BestKindFirst {
    /// Telling kinds apart or not.
    pub fn new(kinds: Kinds) -> BestKindFirst {
        BestKindFirst { kinds }
    }

    /// How much a job wants a kind that has so many GPUs free.
    fn liking(&self, job: &Job, kind: KindId, free: u32, view: &View) -> f64 {
        let rate = rate(job, kind, view);
        if self.kinds == Kinds::Aware || rate <= 0.0 {
            return rate;
        }
        // Where it is it stays.
        let on = job.assignment.as_ref().and_then(|on| on.placement.slices().first().copied());
        let stays = on.is_some_and(|slice| view.fleet().kind_of(slice.node) == kind);
        if stays { f64::INFINITY } else { f64::from(free) }
    }
}

impl Shares for BestKindFirst {
    fn shares(&self, jobs: &[&Job], places: &[f64], view: &View) -> Vec<Vec<f64>> {
        let kinds = kinds_by_name(view);
        let mut free: Vec<u32> = places.iter().map(|places| *places as u32).collect();
        let mut rows = vec![vec![0.0; kinds.len()]; jobs.len()];
        let mut used: BTreeMap<TenantId, i64> = BTreeMap::new();
        let tenants = view.tenants();
        for (job, row) in jobs.iter().zip(&mut rows) {
            let gpus = job.spec.demand.asked();
            // A job that may not run is in nobody's way.
            let now_used = |tenant| used.get(&tenant).copied().unwrap_or(0);
            let milli = i64::from(gpus) * i64::from(job.spec.demand.share.0);
            if tenants.within_limits(job.spec.tenant, milli, now_used).is_err() {
                continue;
            }
            let has_room = |kind: &&KindId| free[kind.index()] >= gpus.max(1);
            let mut best = None;
            for kind in kinds.iter().filter(has_room) {
                let rate = self.liking(job, *kind, free[kind.index()], view);
                if best.is_none_or(|(_, fastest)| rate > fastest) {
                    best = Some((*kind, rate));
                }
            }
            let Some((kind, rate)) = best else { break };
            // One that runs on none of the kinds with room is passed over.
            if rate > 0.0 {
                row[kind.index()] = 1.0;
                free[kind.index()] -= gpus;
                for tenant in tenants.lineage(job.spec.tenant) {
                    *used.entry(tenant).or_default() += milli;
                }
            }
        }
        rows
    }

    fn fork(&self) -> Box<dyn Shares> {
        Box::new(*self)
    }
}
