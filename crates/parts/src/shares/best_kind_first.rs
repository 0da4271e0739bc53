//! First come, first served, each job on the kind of GPU it is fastest on among those with room;
//! the first job for which no kind has room blocks the rest (Gavel's `fifo_perf`).

use super::{Shares, kinds_by_name, rate};
use heeler_engine::{Job, View};
use heeler_model::KindSet;

/// First come, first served, on the best kind with room.
#[derive(Clone, Copy, Debug, Default)]
pub struct BestKindFirst;

impl Shares for BestKindFirst {
    fn shares(&self, jobs: &[&Job], view: &View) -> Vec<Vec<f64>> {
        let kinds = kinds_by_name(view);
        let mut free: Vec<u32> = vec![0; kinds.len()];
        for kind in &kinds {
            free[kind.index()] = view.fleet().up_of(KindSet::only(*kind));
        }
        let mut rows = vec![vec![0.0; kinds.len()]; jobs.len()];
        for (job, row) in jobs.iter().zip(&mut rows) {
            let gpus = job.spec.demand.asked();
            let has_room = |kind: &&heeler_model::KindId| free[kind.index()] >= gpus.max(1);
            let mut best = None;
            for kind in kinds.iter().filter(has_room) {
                let rate = rate(job, *kind, view);
                if best.is_none_or(|(_, fastest)| rate > fastest) {
                    best = Some((*kind, rate));
                }
            }
            let Some((kind, rate)) = best else { break };
            // One that runs on none of the kinds with room is passed over.
            if rate > 0.0 {
                row[kind.index()] = 1.0;
                free[kind.index()] -= gpus;
            }
        }
        rows
    }

    fn fork(&self) -> Box<dyn Shares> {
        Box::new(*self)
    }
}
