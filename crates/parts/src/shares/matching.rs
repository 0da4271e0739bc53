//! Each job on a GPU of its own until it is done, so that jobs are done as early as possible on
//! average: a job that is the k-th from the end on a GPU makes k jobs wait for as long as it takes
//! there, so waiting jobs are matched with (GPU, k) at the least sum of k times that. Who comes
//! first on a GPU starts; the rest is matched anew next time (AlloX, Le et al., EuroSys 2020).

use super::{Due, Shares, gpus, kinds_by_name, left, rate};
use heeler_engine::{Gangs, Job, Predict, View, Want};
use heeler_model::{JobId, KindId, TenantId};
use heeler_solve::cheapest_assignment;
use serde_json::Value;
use std::collections::BTreeMap;

/// Waiting jobs that are matched, at most: those who came first.
const MATCHED_MAX: usize = 256;
/// What it costs to be where one cannot run, in the largest of all other costs.
const NOWHERE: f64 = 1e3;

/// Each job on one kind until it is done.
pub struct Matching {
    /// The part of those who wait, the first to come, that is considered.
    alpha: f64,
    predict: Box<dyn Predict>,
    /// Who has which kind until it is done.
    matched: BTreeMap<JobId, KindId>,
}

/// A place in the line of one GPU, counted from the end.
struct Spot {
    kind: KindId,
    /// Which GPU of the kind.
    gpu: usize,
    from_end: usize,
}

/// GPUs that are left, by kind, and what tenants use.
struct Room<'a> {
    free: Vec<f64>,
    used: BTreeMap<TenantId, i64>,
    view: &'a View<'a>,
}

impl Room<'_> {
    /// Whether the job can have its GPUs on a kind; then it has them.
    fn take(&mut self, job: &Job, kind: KindId) -> bool {
        let milli = Want::as_asked(job).milli();
        let now_used = |tenant| self.used.get(&tenant).copied().unwrap_or(0);
        let tenants = self.view.tenants();
        let allowed = tenants.within_limits(job.spec.tenant, milli, now_used).is_ok();
        let fits = gpus(job) <= self.free[kind.index()] && rate(job, kind, self.view) > 0.0;
        if allowed && fits {
            self.free[kind.index()] -= gpus(job);
            for tenant in tenants.lineage(job.spec.tenant) {
                *self.used.entry(tenant).or_default() += milli;
            }
        }
        allowed && fits
    }
}

impl Matching {
    /// Jobs matched with GPUs; only this part of those who wait is considered, the first to come.
    pub fn new(alpha: f64, predict: Box<dyn Predict>) -> Matching {
        Matching { alpha, predict, matched: BTreeMap::new() }
    }

    /// Who is first in the line of a GPU, if everybody waits in the best of all lines.
    fn heads(&self, waiting: &[&Job], free: &[f64], view: &View) -> Vec<(JobId, KindId)> {
        let spots = spots(waiting.len(), free, &kinds_by_name(view));
        if spots.is_empty() {
            return Vec::new();
        }
        let lines = |job: &Job| if is_as_one(job, view) { 1.0 } else { gpus(job) };
        let time = |job: &Job, kind: KindId| match rate(job, kind, view) {
            rate if rate > 0.0 => left(job, self.predict.as_ref(), view) * lines(job) / rate,
            _ => f64::INFINITY,
        };
        let row = |job: &&Job| -> Vec<f64> {
            spots.iter().map(|spot| spot.from_end as f64 * time(job, spot.kind)).collect()
        };
        let mut costs: Vec<Vec<f64>> = waiting.iter().map(row).collect();
        let finite = costs.iter().flatten().copied().filter(|cost| cost.is_finite());
        let nowhere = finite.fold(1.0, f64::max) * NOWHERE;
        for cost in costs.iter_mut().flatten() {
            *cost = cost.min(nowhere);
        }
        let mut lines: BTreeMap<(KindId, usize), (usize, JobId)> = BTreeMap::new();
        for (job, column) in waiting.iter().zip(cheapest_assignment(&costs)) {
            let spot = &spots[column];
            let first = lines.entry((spot.kind, spot.gpu)).or_insert((spot.from_end, job.id));
            if spot.from_end > first.0 {
                *first = (spot.from_end, job.id);
            }
        }
        lines.into_iter().map(|((kind, _), (_, job))| (job, kind)).collect()
    }
}

/// Whether a gang is taken for a single GPU.
fn is_as_one(job: &Job, view: &View) -> bool {
    view.rules().gangs == Gangs::AsOne && gpus(job) > 1.0
}

/// Places in all lines: GPUs of a kind are alike, so that no line needs more than its part.
fn spots(jobs: usize, free: &[f64], kinds: &[KindId]) -> Vec<Spot> {
    let lines = |free: &f64| (*free as usize).min(jobs);
    let longest = |lines: usize| if lines == 0 { 0 } else { jobs.div_ceil(lines) };
    let mut spots = Vec::new();
    for from_end in 1..=free.iter().map(|free| longest(lines(free))).max().unwrap_or(0) {
        for kind in kinds {
            let lines = lines(&free[kind.index()]);
            let there = if from_end <= longest(lines) { lines } else { 0 };
            spots.extend((0..there).map(|gpu| Spot { kind: *kind, gpu, from_end }));
        }
    }
    spots
}

impl Shares for Matching {
    fn shares(&self, jobs: &[&Job], places: &[f64], view: &View) -> Due {
        let row = |job: &&Job| {
            let mut row = vec![0.0; places.len()];
            if let Some(kind) = self.matched.get(&job.id) {
                row[kind.index()] = if is_as_one(job, view) { 1.0 / gpus(job) } else { 1.0 };
            }
            row
        };
        jobs.iter().map(row).collect::<Vec<_>>().into()
    }

    fn settle(&mut self, jobs: &[&Job], places: &[f64], view: &View) {
        let before = std::mem::take(&mut self.matched);
        let mut room = Room { free: places.to_vec(), used: BTreeMap::new(), view };
        let mut waiting: Vec<&Job> = Vec::new();
        for job in jobs {
            match before.get(&job.id) {
                Some(kind) if is_as_one(job, view) => {
                    self.matched.insert(job.id, *kind);
                    waiting.push(job);
                }
                Some(kind) if room.take(job, *kind) => {
                    self.matched.insert(job.id, *kind);
                }
                _ => waiting.push(job),
            }
        }
        // Who can run on none of the kinds that are there is in nobody's way.
        let kinds = || (0..places.len() as u8).map(KindId);
        let runs = |job: &Job, kind: KindId| {
            gpus(job) <= places[kind.index()] && rate(job, kind, view) > 0.0
        };
        waiting.retain(|job| kinds().any(|kind| runs(job, kind)));
        let free: f64 = room.free.iter().sum();
        let considered = ((waiting.len() as f64 * self.alpha) as usize).max(free as usize);
        waiting.truncate(considered.min(MATCHED_MAX));
        let mut heads = self.heads(&waiting, &room.free, view);
        heads.sort_unstable();
        let mut is_closed = vec![false; places.len()];
        for (id, kind) in heads {
            if is_as_one(view.job(id), view) {
                self.matched.entry(id).or_insert(kind);
            } else if !is_closed[kind.index()] && room.take(view.job(id), kind) {
                self.matched.insert(id, kind);
            } else if gpus(view.job(id)) > room.free[kind.index()] {
                // A gang that has to wait for GPUs is not overtaken for them.
                is_closed[kind.index()] = true;
            }
        }
    }

    fn save(&self) -> Value {
        serde_json::to_value(&self.matched).expect("plain data")
    }

    fn restore(&mut self, saved: &Value) -> Result<(), String> {
        self.matched = serde_json::from_value(saved.clone()).map_err(|error| error.to_string())?;
        Ok(())
    }

    fn predictor(&self) -> Option<&dyn Predict> {
        Some(&*self.predict)
    }

    fn predictor_mut(&mut self) -> Option<&mut dyn Predict> {
        Some(&mut *self.predict)
    }

    fn fork(&self) -> Box<dyn Shares> {
        let (predict, matched) = (self.predict.fork(), self.matched.clone());
        Box::new(Matching { alpha: self.alpha, predict, matched })
    }
}
