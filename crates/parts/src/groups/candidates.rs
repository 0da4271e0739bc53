//! Whom to consider: down the order, each job that still fits on an empty cluster by itself, and
//! with it as many behind it of the same size as a group may have.

use super::known::Kinds;
use super::settle::TOGETHER;
use super::standing::Standing;
use heeler_engine::{Draft, Grip, Job, Place, View, Want};
use heeler_model::{KindId, KindSet, Reach, Reason, TenantId};
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
    pub(super) fn of(job: &Job) -> Sort {
        let demand = &job.spec.demand;
        let shares = demand.share.is_whole() && demand.asked() > 0;
        let known = job.spec.stages().filter(|stages| shares && is_sound(stages));
        let stages = known.map_or(0, |stages| stages.stage_s.len());
        Sort { gpus: demand.asked(), kinds: demand.kinds, reach: demand.reach, stages }
    }

    /// Whether they ask for GPUs, wherever these are in a cluster with one kind of them.
    fn is_anywhere(&self, view: &View) -> bool {
        let one_kind = view.fleet().cluster().kinds.len() == 1 && self.kinds.contains(KindId(0));
        one_kind && self.gpus > 0 && self.reach == Reach::Cluster
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
    /// Those to consider, by where they stand.
    pub jobs: Vec<u32>,
}

/// Whom to consider, and why the others are not.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// By sort, the sort of the first in order first.
    pub batches: Vec<Batch>,
    /// Why others wait, by where they stand.
    pub refused: BTreeMap<u32, Reason>,
}

/// Walk down a line; a group may have so many.
pub(super) fn candidates(line: &[Standing], kinds: &Kinds, most: usize, view: &View) -> Candidates {
    let mut found = Candidates::default();
    let mut all: Vec<Vec<u32>> = Vec::new();
    let mut batch_of: Vec<Option<usize>> = Vec::new();
    for (at, job) in line.iter().enumerate() {
        let sort = job.own.sort as usize;
        if batch_of.len() <= sort {
            batch_of.resize(sort + 1, None);
        }
        let batch = *batch_of[sort].get_or_insert_with(|| {
            let jobs = Vec::with_capacity(line.len() - at);
            found.batches.push(Batch { sort: kinds.sort(job.own.sort), jobs });
            all.push(Vec::with_capacity(line.len() - at));
            all.len() - 1
        });
        all[batch].push(at as u32);
    }
    let limited = view.tenants().have_limits();
    let mut walk = Walk { view, line, limited, used: BTreeMap::new(), refused: BTreeMap::new() };
    let alike = found.batches.iter().all(|batch| batch.sort.is_anywhere(view));
    let mut empty = Empty::new(line, alike, view);
    let mut next = vec![0; all.len()];
    for (at, standing) in line.iter().enumerate() {
        let place = batch_of[standing.own.sort as usize].expect("every sort has a batch");
        let (batch, same) = (&mut found.batches[place], &all[place]);
        // Whoever is behind one of the same sort that did not fit does not fit either.
        if same.get(next[place]) != Some(&(at as u32)) {
            continue;
        }
        if let Err(reason) = walk.admit(standing.job) {
            walk.refused.insert(at as u32, reason);
            next[place] += 1;
            continue;
        }
        if let Err(reason) = empty.take(standing, view) {
            walk.dismiss(standing.job);
            let asks = |at: &u32| view.wants_all_verdicts() || line[*at as usize].job.is_placed();
            let rest = same[next[place]..].iter().copied().filter(asks);
            walk.refused.extend(rest.map(|at| (at, reason)));
            next[place] = same.len();
            continue;
        }
        batch.jobs.push(at as u32);
        next[place] += 1;
        let most = if batch.sort.stages > 0 { most } else { 1 };
        let beside = walk.beside(&same[next[place]..], most.saturating_sub(1), &mut batch.jobs);
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
    /// For jobs that may be anywhere, or may not.
    fn new(line: &[Standing], anywhere: bool, view: &View<'a>) -> Empty<'a> {
        let memory = view.fleet().memory_of(KindId(0));
        let fits = |job: &Job| {
            let demand = &job.spec.demand;
            let bare = demand.cpu_milli == 0 && demand.memory_mb == 0;
            bare && demand.share.is_whole() && demand.gpu_memory_mb <= memory
        };
        if anywhere && line.iter().all(|standing| standing.own.plain || fits(standing.job)) {
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
    fn take(&mut self, standing: &Standing, view: &View) -> Result<(), Reason> {
        match self {
            Empty::Counted(free) => {
                let need = standing.own.gpus;
                *free =
                    free.checked_sub(need).ok_or(Reason::NotEnoughFree { need, free: *free })?;
            }
            Empty::Laid(draft) => {
                let want = Want::as_asked(standing.job);
                let placement = TOGETHER.place(&want, draft, view)?;
                draft.claim(&placement, Grip::from(&want.demand));
            }
        }
        Ok(())
    }
}

/// What tenants have been given on the way.
struct Walk<'a> {
    view: &'a View<'a>,
    line: &'a [Standing<'a>],
    /// Whether any tenant has a limit.
    limited: bool,
    used: BTreeMap<TenantId, i64>,
    refused: BTreeMap<u32, Reason>,
}

impl Walk<'_> {
    /// Whether a tenant's limit lets a job in. It counts as if it had its GPUs to itself, whoever
    /// it will share them with.
    fn admit(&mut self, job: &Job) -> Result<(), Reason> {
        if !self.limited {
            return Ok(());
        }
        let used = |tenant| self.used.get(&tenant).copied().unwrap_or(0);
        let tenants = self.view.tenants();
        let milli = Want::as_asked(job).milli();
        tenants.within_limits(job.spec.tenant, milli, used)?;
        self.count(job, 1);
        Ok(())
    }

    /// Take up to so many of a line that limits let in; and how far down the line that was.
    fn beside(&mut self, same: &[u32], most: usize, taken: &mut Vec<u32>) -> usize {
        let (before, mut passed) = (taken.len(), 0);
        for at in same {
            if taken.len() - before == most {
                break;
            }
            passed += 1;
            match self.admit(self.line[*at as usize].job) {
                Ok(()) => taken.push(*at),
                Err(reason) => drop(self.refused.insert(*at, reason)),
            }
        }
        passed
    }

    fn dismiss(&mut self, job: &Job) {
        self.count(job, -1);
    }

    fn count(&mut self, job: &Job, sign: i64) {
        if !self.limited {
            return;
        }
        let milli = Want::as_asked(job).milli();
        for tenant in self.view.tenants().lineage(job.spec.tenant) {
            *self.used.entry(tenant).or_default() += sign * milli;
        }
    }
}
