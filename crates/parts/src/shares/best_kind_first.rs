//! First come, first served, each job on the kind of GPU it is fastest on among those with room;
//! the first job for which no kind has room blocks the rest (Gavel's `fifo_perf`). Or, for whoever
//! does not tell kinds apart, on the kind with the most room (its `fifo`). Whoever finds no room
//! may be put beside one that has, where both together do well (its packed form).

use super::beside::together;
use super::leftover_kind::LeftoverKind;
use super::{Due, Kinds, Shares, kinds_by_name, rate};
use heeler_engine::{Job, View};
use heeler_model::{KindId, TenantId};
use heeler_solve::Pair;
use serde_json::Value;
use std::collections::BTreeMap;

/// First come, first served, on the best kind with room.
#[derive(Clone, Debug, Default)]
pub struct BestKindFirst {
    kinds: Kinds,
    /// Who has which kind in a world with that mistake.
    leftover: LeftoverKind,
    /// Two may share GPUs if they keep more than this together, of one each.
    packing: Option<f64>,
}

impl BestKindFirst {
    /// Telling kinds apart or not.
    pub fn new(kinds: Kinds) -> BestKindFirst {
        BestKindFirst { kinds, packing: None, leftover: LeftoverKind::default() }
    }

    /// And two on the same GPUs, if together they keep more than so much, of one each.
    pub fn packing(self, above: Option<f64>) -> BestKindFirst {
        BestKindFirst { packing: above, ..self }
    }

    /// Whoever has nothing is put beside the one with which it does best.
    fn pack(&self, jobs: &[&Job], rows: &mut [Vec<f64>], view: &View) -> Vec<Pair> {
        let mut pairs = Vec::new();
        let Some(above) = self.packing else { return pairs };
        let kind_of = |row: &[f64]| row.iter().position(|part| *part > 0.0);
        let none = |index: &usize| kind_of(&rows[*index]).is_none();
        let waiting: Vec<usize> = (0..jobs.len()).filter(none).collect();
        for waiting in waiting {
            let mut best: Option<(f64, usize, usize)> = None;
            for (placed, row) in rows.iter().enumerate() {
                let Some(kind) = kind_of(row) else { continue };
                let Some(kept) = together(jobs[placed], jobs[waiting], kind, view) else {
                    continue;
                };
                let sum = kept.0 + kept.1;
                if sum > best.map_or(above, |(most, ..)| most) {
                    best = Some((sum, placed, kind));
                }
            }
            let Some((_, placed, kind)) = best else { continue };
            rows[placed].fill(0.0);
            let mut parts = vec![0.0; rows[placed].len()];
            parts[kind] = 1.0;
            pairs.push(Pair { rows: (placed.min(waiting), placed.max(waiting)), parts });
        }
        pairs
    }

    /// The seed by which kinds are drawn in a world with that mistake.
    fn leftover_seed(&self, view: &View) -> Option<u32> {
        view.rules().leftover_kind_seed.filter(|_| self.kinds == Kinds::Agnostic)
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
    fn shares(&self, jobs: &[&Job], places: &[f64], view: &View) -> Due {
        if self.leftover_seed(view).is_some() {
            return self.leftover.rows(jobs, places.len()).into();
        }
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
        let pairs = self.pack(jobs, &mut rows, view);
        Due { alone: rows, pairs }
    }

    fn packs(&self) -> bool {
        self.packing.is_some()
    }

    fn settle(&mut self, jobs: &[&Job], places: &[f64], view: &View) {
        if let Some(seed) = self.leftover_seed(view) {
            self.leftover.settle(jobs, places, seed, view);
        }
    }

    fn save(&self) -> Value {
        serde_json::to_value(&self.leftover).expect("plain data")
    }

    fn restore(&mut self, saved: &Value) -> Result<(), String> {
        let saved: Option<LeftoverKind> =
            serde_json::from_value(saved.clone()).map_err(|error| error.to_string())?;
        self.leftover = saved.unwrap_or_default();
        Ok(())
    }

    fn fork(&self) -> Box<dyn Shares> {
        Box::new(self.clone())
    }
}
