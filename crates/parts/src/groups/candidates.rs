//! Whom to consider: down the order, each job that still fits on an empty cluster by itself, and
//! with it as many behind it of the same size as a group may have.

use super::settle::TOGETHER;
use heeler_engine::{Draft, Grip, Job, Place, View, Want};
use heeler_model::{JobId, KindId, KindSet, Reach, Reason, TenantId};
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
    let mut all: Vec<Vec<JobId>> = Vec::new();
    let mut sorts: Vec<usize> = Vec::with_capacity(order.len());
    for id in order {
        let sort = Sort::of(view.job(*id));
        let known = found.batches.iter().position(|batch| batch.sort == sort);
        let place = known.unwrap_or_else(|| {
            found.batches.push(Batch { sort, jobs: Vec::new() });
            all.push(Vec::new());
            all.len() - 1
        });
        all[place].push(*id);
        sorts.push(place);
    }
    let mut walk = Walk { view, used: BTreeMap::new(), refused: BTreeMap::new() };
    let mut empty = Empty::new(order, view);
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
        if let Err(reason) = empty.take(job, view) {
            walk.dismiss(job);
            let asks = |id: &JobId| view.wants_all_verdicts() || view.job(*id).is_placed();
            let rest = line[next[place]..].iter().copied().filter(asks);
            walk.refused.extend(rest.map(|id| (id, reason)));
            next[place] = line.len();
            continue;
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

/// The cluster as if nobody had anything. Where all GPUs are alike and nobody asks for more than
/// GPUs, it is enough to count them: rather than wait, jobs are spread.
enum Empty<'a> {
    Counted(u32),
    Laid(Draft<'a>),
}

impl<'a> Empty<'a> {
    fn new(order: &[JobId], view: &View<'a>) -> Empty<'a> {
        if order.iter().all(|id| is_plain(view.job(*id), view)) {
            return Empty::Counted(view.fleet().up_of(KindSet::ANY));
        }
        let mut draft = view.state().draft();
        for job in view.jobs().iter() {
            if let Some(on) = &job.assignment {
                draft.release(&on.placement, Grip::of(&job.spec.demand, on));
            }
        }
        Empty::Laid(draft)
    }

    /// Let a job have what it asks for, if there is room.
    fn take(&mut self, job: &Job, view: &View) -> Result<(), Reason> {
        match self {
            Empty::Counted(free) => {
                let need = job.spec.demand.asked();
                *free =
                    free.checked_sub(need).ok_or(Reason::NotEnoughFree { need, free: *free })?;
            }
            Empty::Laid(draft) => {
                let want = Want::as_asked(job);
                let placement = TOGETHER.place(&want, draft, view)?;
                draft.claim(&placement, Grip::from(&want.demand));
            }
        }
        Ok(())
    }
}

/// Whether a job asks for nothing but whole GPUs, wherever they are.
fn is_plain(job: &Job, view: &View) -> bool {
    let (demand, fleet) = (&job.spec.demand, view.fleet());
    let one_kind = fleet.cluster().kinds.len() == 1 && demand.kinds.contains(KindId(0));
    let whole = demand.share.is_whole() && demand.asked() > 0 && demand.reach == Reach::Cluster;
    let gpus_only = demand.cpu_milli == 0 && demand.memory_mb == 0;
    one_kind && whole && gpus_only && demand.gpu_memory_mb <= fleet.memory_of(KindId(0))
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
        if !self.view.tenants().have_limits() {
            return;
        }
        let milli = Want::as_asked(job).milli();
        for tenant in self.view.tenants().lineage(job.spec.tenant) {
            *self.used.entry(tenant).or_default() += sign * milli;
        }
    }
}
