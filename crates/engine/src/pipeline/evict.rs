//! Making room: take GPUs from running jobs, as few as will do, and never for nothing.

use super::Preempt;
use super::queue::Rank;
use super::walk::Walk;
use crate::fleet::Grip;
use crate::state::Job;
use crate::traits::{Want, Wants};
use heeler_model::{Assignment, Placement, Reason, Run, Stop, TenantId};

/// At most so many jobs are looked at to make room for one: a backstop against going through a
/// whole cluster for a job that is kept out by fragments, not a tuning knob.
const LOOKED_AT_MAX: usize = 4096;

/// From whom GPUs may be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    /// Jobs behind in the order; they stop.
    Behind(Rank),
    /// Jobs of tenants beyond their quota; they stop.
    OverQuota,
    /// Jobs larger than they must be; they shrink.
    Large,
}

/// A job that gives way, and what it keeps.
struct Relief<'a> {
    rank: Rank,
    job: &'a Job,
    old: Placement,
    new: Option<Placement>,
}

impl<'a> Walk<'a> {
    /// Try to start a job on GPUs of others. On success the plan has both.
    pub(super) fn make_room(&mut self, job: &'a Job, rank: Rank, wants: &Wants) -> bool {
        if self.pipe.parts.resize.is_some()
            && let Some(smallest) = wants.last()
            && self.relieve(job, smallest, From::Large)
        {
            return true;
        }
        match self.pipe.parts.preempt {
            Preempt::Never => false,
            Preempt::ByOrder { .. } => {
                wants.iter().any(|want| self.relieve(job, want, From::Behind(rank)))
            }
            Preempt::Reclaim { .. } => wants.iter().any(|want| {
                self.is_within_quota(job, want) && self.relieve(job, want, From::OverQuota)
            }),
        }
    }

    fn relieve(&mut self, job: &'a Job, want: &Want, from: From) -> bool {
        let savepoint = self.draft.savepoint();
        let mut reliefs: Vec<Relief<'a>> = Vec::new();
        let over = |tenant: TenantId| from != From::OverQuota || self.excess(tenant) > 0;
        let pipe = self.pipe;
        let others = pipe.queue.running_last_first(self.now(), |group| over(group.tenant));
        for other in others.take(LOOKED_AT_MAX) {
            if matches!(from, From::Behind(rank) if other <= rank) {
                break;
            }
            let Some(relief) = self.relief(other, want, from) else { continue };
            self.give_way(&relief);
            reliefs.push(relief);
            if let Some(placement) = self.fits(want) {
                self.settle(job, want, placement, reliefs);
                return true;
            }
        }
        for relief in &reliefs {
            self.count(relief.job, relief.given());
        }
        self.draft.back_to(savepoint);
        false
    }

    /// What a running job could give, if it may be disturbed at all.
    fn relief(&self, other: Rank, want: &Want, from: From) -> Option<Relief<'a>> {
        let job = self.view.state().job(other.job);
        let leased = job.lease.is_some_and(|until| until > self.now());
        if leased || self.planned.contains_key(&job.id) {
            return None;
        }
        let old = job.assignment.as_ref()?.placement.clone();
        let kind = self.draft.kind_of(old.slices().first()?.node);
        if !want.demand.kinds.contains(kind) {
            return None;
        }
        let new = match from {
            From::Behind(_) => None,
            From::OverQuota if self.excess(job.spec.tenant) > 0 => None,
            From::OverQuota => return None,
            From::Large => {
                let resize = self.pipe.parts.resize.as_ref()?;
                let size = resize.shrink(job, self.view).filter(|size| *size < old.gpus())?;
                Some(keep_largest(&old, size))
            }
        };
        Some(Relief { rank: other, job, old, new })
    }

    fn give_way(&mut self, relief: &Relief<'a>) {
        let grip = Walk::grip(relief.job);
        self.draft.release(&relief.old, grip);
        if let Some(new) = &relief.new {
            self.draft.claim(new, grip);
        }
        self.count(relief.job, -relief.given());
    }

    fn come_back(&mut self, relief: &Relief<'a>) {
        let grip = Walk::grip(relief.job);
        if let Some(new) = &relief.new {
            self.draft.release(new, grip);
        }
        self.draft.claim(&relief.old, grip);
        self.count(relief.job, relief.given());
    }

    fn fits(&self, want: &Want) -> Option<Placement> {
        let count = self.draft.free_of(want.demand.kinds);
        if want.demand.share.is_whole() && count < want.gpus {
            return None;
        }
        self.pipe.parts.place.place(want, &self.draft, self.view).ok()
    }

    /// Everybody who need not give way after all comes back, those first in order first. The
    /// others stop or shrink, and may run elsewhere when their turn comes.
    fn settle(&mut self, job: &'a Job, want: &Want, mut fit: Placement, reliefs: Vec<Relief<'a>>) {
        let mut given: Vec<Relief<'a>> = Vec::new();
        for relief in reliefs.into_iter().rev() {
            self.come_back(&relief);
            match self.fits(want) {
                Some(placement) => fit = placement,
                None => {
                    self.give_way(&relief);
                    given.push(relief);
                }
            }
        }
        for relief in given {
            self.planned.insert(relief.job.id, relief.new.clone());
            match relief.new {
                None => {
                    let reason = Reason::Displaced { by: job.id };
                    self.plan.stop.push(Stop { job: relief.job.id, reason });
                    if let Some(door) = &mut self.door {
                        door.left(relief.job, relief.job.milli());
                    }
                    self.put_back(relief.job, relief.rank);
                }
                Some(placement) => {
                    let share = Walk::grip(relief.job).share;
                    let assignment = Assignment { placement, share };
                    self.plan.run.push(Run { job: relief.job.id, assignment, lease: None });
                }
            }
        }
        self.start(job, want, fit);
    }

    /// A job that lost its GPUs and found others later in the walk need not move at all if those who
    /// took its GPUs can be placed elsewhere, now that it is known who stops.
    pub(super) fn spare_moves(&mut self) {
        let state = self.view.state();
        let moves = |run: &Run| state.job(run.job).is_placed();
        if self.pipe.parts.resize.is_some() || !self.plan.run.iter().any(moves) {
            return;
        }
        self.draft.back_to_start();
        for stop in &self.plan.stop {
            let job = state.job(stop.job);
            let placement = &job.assignment.as_ref().expect("a stopped job is placed").placement;
            self.draft.release(placement, Walk::grip(job));
        }
        let mut runs = Vec::new();
        for run in self.plan.run.iter().filter(|run| !moves(run)) {
            let job = state.job(run.job);
            let demand = job.spec.demand;
            let want = Want { gpus: run.assignment.gpus(), demand, skewed: job.spec.skewed };
            let Some(placement) = self.fits(&want) else { return };
            self.draft.claim(&placement, Grip::from(&demand));
            runs.push(Run { assignment: want.met_by(placement), ..run.clone() });
        }
        self.plan.run = runs;
    }

    /// Thousandths of GPUs a tenant would use beyond its quota if this plan were carried out.
    fn excess(&self, tenant: TenantId) -> i64 {
        let Some(quota) = self.view.tenants().spec(tenant).quota else { return i64::MIN / 2 };
        let used = self.view.tenants().usage(tenant).milli as i64 + self.extra(tenant);
        used - i64::from(quota) * 1000
    }

    fn is_within_quota(&self, job: &Job, want: &Want) -> bool {
        let need = i64::from(want.gpus) * i64::from(want.demand.share.0);
        let tenant = job.spec.tenant;
        self.view.tenants().spec(tenant).quota.is_some() && self.excess(tenant) + need <= 0
    }

    /// What a job takes beside GPU slots.
    pub(super) fn grip(job: &Job) -> Grip {
        let share = job.assignment.as_ref().map_or(job.spec.demand.share, |a| a.share);
        Grip { share, ..Grip::from(&job.spec.demand) }
    }
}

impl Relief<'_> {
    /// Thousandths of GPUs it gives.
    fn given(&self) -> i64 {
        let kept = self.new.as_ref().map_or(0, Placement::gpus);
        i64::from(self.old.gpus() - kept) * i64::from(Walk::grip(self.job).share.0)
    }
}

/// The part of a placement that keeps so many GPUs on as few nodes as possible.
fn keep_largest(placement: &Placement, gpus: u32) -> Placement {
    let mut slices = placement.slices().to_vec();
    slices.sort_by_key(|slice| (std::cmp::Reverse(slice.slots.count()), slice.node));
    let mut left = gpus;
    for slice in &mut slices {
        slice.slots = slice.slots.lowest(left.min(slice.slots.count()));
        left -= slice.slots.count();
    }
    Placement::new(slices.into_iter().filter(|slice| !slice.slots.is_empty()).collect())
}
