//! Whom to consider: down the order, each job that still fits on an empty cluster by itself, and
//! with it as many behind it of the same size as a group may have.

use super::settle::TOGETHER;
use heeler_engine::{Grip, Job, Place, View, Want};
use heeler_model::{JobId, KindSet, Reach, Reason, TenantId};
use std::collections::BTreeMap;

/// Who may be put together: jobs of one size, on the same kinds of GPU, with as many stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Sort {
    /// GPUs of each.
    pub gpus: u32,
    kinds: KindSet,
    reach: Reach,
    /// Stages of an iteration; none where nothing is known of them, so that nobody shares.
    pub stages: usize,
}

impl Sort {
    fn of(job: &Job) -> Sort {
        let demand = &job.spec.demand;
        let shares = demand.share.is_whole() && demand.asked() > 0;
        let known = job.spec.stages().filter(|stages| shares && is_sound(stages));
        let stages = known.map_or(0, |stages| stages.stage_s.len());
        Sort { gpus: demand.asked(), kinds: demand.kinds, reach: demand.reach, stages }
    }
}

fn is_sound(stages: &heeler_model::Stages) -> bool {
    let sound = |value: f64| value.is_finite() && value >= 0.0;
    stages.iteration_s > 0.0
        && stages.iteration_s.is_finite()
        && stages.stage_s.iter().all(|stage| sound(*stage))
}

/// Jobs of one sort, in order.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    /// What they have in common.
    pub sort: Sort,
    /// Those to consider.
    pub jobs: Vec<JobId>,
}

/// Whom to consider, and why the others are not.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// By sort, the sort of the first in order first.
    pub batches: Vec<Batch>,
    /// Why others wait.
    pub refused: BTreeMap<JobId, Reason>,
}

/// Walk down an order; a group may have so many.
pub(super) fn candidates(order: &[JobId], most: usize, view: &View) -> Candidates {
    let mut found = Candidates::default();
    let mut places: BTreeMap<Sort, usize> = BTreeMap::new();
    let mut all: Vec<Vec<JobId>> = Vec::new();
    let mut sorts: Vec<usize> = Vec::with_capacity(order.len());
    for id in order {
        let sort = Sort::of(view.job(*id));
        let place = *places.entry(sort).or_insert_with(|| {
            found.batches.push(Batch { sort, jobs: Vec::new() });
            all.push(Vec::new());
            all.len() - 1
        });
        all[place].push(*id);
        sorts.push(place);
    }
    let mut walk = Walk { view, used: BTreeMap::new(), refused: BTreeMap::new() };
    let mut draft = view.draft();
    for job in view.jobs().iter() {
        if let Some(on) = &job.assignment {
            draft.release(&on.placement, Grip { share: on.share, ..Grip::from(&job.spec.demand) });
        }
    }
    let mut next = vec![0; all.len()];
    for (id, place) in order.iter().zip(sorts) {
        let (batch, line) = (&mut found.batches[place], &all[place]);
        // Whoever is behind one of the same sort that did not fit does not fit either.
        if line.get(next[place]) != Some(id) {
            continue;
        }
        let job = view.job(*id);
        if let Err(reason) = walk.admit(job) {
            walk.refused.insert(*id, reason);
            next[place] += 1;
            continue;
        }
        let want = Want::as_asked(job);
        match TOGETHER.place(&want, &draft, view) {
            Ok(placement) => draft.claim(&placement, Grip::from(&want.demand)),
            Err(reason) => {
                walk.dismiss(job);
                walk.refused.extend(line[next[place]..].iter().map(|id| (*id, reason)));
                next[place] = line.len();
                continue;
            }
        }
        batch.jobs.push(*id);
        next[place] += 1;
        let most = if batch.sort.stages > 0 { most } else { 1 };
        let beside = walk.beside(&line[next[place]..], most.saturating_sub(1), &mut batch.jobs);
        next[place] += beside;
    }
    found.refused = walk.refused;
    found
}

/// What tenants have been given on the way.
struct Walk<'a> {
    view: &'a View<'a>,
    used: BTreeMap<TenantId, i64>,
    refused: BTreeMap<JobId, Reason>,
}

impl Walk<'_> {
    /// Whether a tenant's limit lets a job in. It counts as if it had its GPUs to itself, whoever
    /// it will share them with.
    fn admit(&mut self, job: &Job) -> Result<(), Reason> {
        let used = |tenant| self.used.get(&tenant).copied().unwrap_or(0);
        let tenants = self.view.tenants();
        let milli = Want::as_asked(job).milli();
        tenants.within_limits(job.spec.tenant, milli, used)?;
        self.count(job, 1);
        Ok(())
    }

    /// Take up to so many of a line that limits let in; and how far down the line that was.
    fn beside(&mut self, line: &[JobId], most: usize, taken: &mut Vec<JobId>) -> usize {
        let (before, mut passed) = (taken.len(), 0);
        for id in line {
            if taken.len() - before == most {
                break;
            }
            passed += 1;
            match self.admit(self.view.job(*id)) {
                Ok(()) => taken.push(*id),
                Err(reason) => drop(self.refused.insert(*id, reason)),
            }
        }
        passed
    }

    fn dismiss(&mut self, job: &Job) {
        self.count(job, -1);
    }

    fn count(&mut self, job: &Job, sign: i64) {
        let milli = Want::as_asked(job).milli();
        for tenant in self.view.tenants().lineage(job.spec.tenant) {
            *self.used.entry(tenant).or_default() += sign * milli;
        }
    }
}
