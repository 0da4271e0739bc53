//! Backfill: the first jobs that do not fit get a reservation, and others may pass only where they
//! would not be in its way.

use super::walk::{Seats, Walk};
use super::{Fit, Preempt};
use crate::fleet::{Beside, Grip};
use crate::state::Job;
use crate::traits::{Want, Wants};
use heeler_model::{
    Assignment, JobId, Milli, NodeId, Placement, Reason, Reservation, Slots, Span, TenantId, Time,
};
use std::collections::BTreeMap;

/// What is left when a job with a reservation starts.
pub(super) struct Slack {
    job: JobId,
    starts: Time,
    until: Time,
    /// Of its tenants' limits.
    left: BTreeMap<TenantId, i64>,
    /// Of its nodes, beside the GPUs.
    beside: BTreeMap<NodeId, Beside>,
}

/// Takes whole GPUs out of sight while others are placed.
const WHOLE: Grip = Grip { share: Milli::WHOLE, gpu_memory_mb: 0, cpu_milli: 0, memory_mb: 0 };

impl<'a> Walk<'a> {
    fn estimate(&self, job: &Job) -> Span {
        self.pipe.estimate(job, self.view)
    }

    /// Those of a class who run no shorter than one who would delay somebody would do so too.
    pub(super) fn leave_out_longer(&mut self, class: usize, job: &Job) {
        let Some(longest) = self.longest_out_of_the_way(job) else { return };
        let walk = &mut self.classes[class];
        let Some(current) = walk.current else { return };
        let short = self.pipe.queue.short_after(walk.class, current, longest);
        walk.seats = Seats::Short(short.into_iter());
    }

    /// How long a job of this one's class may run at most so as to be in nobody's way, now that
    /// this one is. None unless a longer one would surely be in the way too, with nothing else
    /// coming of looking at it.
    pub(super) fn longest_out_of_the_way(&mut self, job: &Job) -> Option<Span> {
        let Fit::Backfill { depth } = self.pipe.parts.fit else { return None };
        let parts = &self.pipe.parts;
        let only_looks = self.calendar.len() >= depth as usize
            && parts.preempt == Preempt::Never
            && parts.resize.is_none();
        if !only_looks {
            return None;
        }
        // What is in the way changes only where a reservation begins: the later a job ends, the
        // more there is.
        let until = self.now() + self.estimate(job);
        let starts = self.calendar.iter().map(|reservation| reservation.from);
        let mut starts: Vec<Time> = starts.filter(|from| *from < until).collect();
        starts.sort_unstable();
        starts.dedup();
        let wants = parts.allocate.wants(job, self.view);
        let mut fits = |until| {
            wants.iter().any(|want| {
                let slack = self.leaves_slack(job, want, until);
                slack.and_then(|()| self.place_until(want, until)).is_ok()
            })
        };
        // Whoever ends before the first reservation is in nobody's way.
        let later = starts.get(1..)?.partition_point(|until| fits(*until));
        Some(starts[later].since(self.now()))
    }

    /// The GPUs a job was promised from now on, if it can have them. Others were promised theirs
    /// around these, so that on other GPUs it would be in their way.
    pub(super) fn promised(&mut self, job: &Job, want: &Want) -> Option<Placement> {
        let now = self.now();
        let due = |r: &&Reservation| r.job == job.id && r.from <= now;
        let placement = &self.view.state().reservations().iter().find(due)?.placement;
        let until = now + self.estimate(job);
        if placement.gpus() != want.gpus || self.leaves_slack(job, want, until).is_err() {
            return None;
        }
        let savepoint = self.draft.savepoint();
        self.hide_reserved(now, until);
        let is_free = self.draft.has_room_for(placement, Grip::from(&want.demand));
        self.draft.back_to(savepoint);
        is_free.then(|| placement.clone())
    }

    /// Find a place where a job is in nobody's way for as long as it is taken to run.
    pub(super) fn place_around_reservations(
        &mut self,
        job: &Job,
        want: &Want,
    ) -> Result<Placement, Reason> {
        let now = self.now();
        let until = now + self.estimate(job);
        self.leaves_slack(job, want, until)?;
        let found = self.place_until(want, until);
        let Err(reason) = found else { return found };
        // Would it have fitted, if nothing were reserved?
        let in_the_way = self.calendar.overlapping(now, until).next();
        match (self.pipe.parts.place.place(want, &self.draft, self.view), in_the_way) {
            (Ok(_), Some(reservation)) => Err(Reason::WouldDelay {
                job: reservation.job,
                starts: reservation.from,
                by: until.since(reservation.from),
            }),
            _ => Err(reason),
        }
    }

    /// Find a place where a job that ends at some time is in nobody's way.
    fn place_until(&mut self, want: &Want, until: Time) -> Result<Placement, Reason> {
        let savepoint = self.draft.savepoint();
        self.hide_reserved(self.now(), until);
        let found = self.pipe.parts.place.place(want, &self.draft, self.view);
        self.draft.back_to(savepoint);
        found
    }

    /// Whether a job leaves the tenants of reserved jobs enough of their limits.
    fn leaves_slack(&self, job: &Job, want: &Want, until: Time) -> Result<(), Reason> {
        for slack in self.slacks.iter().filter(|slack| slack.starts < until) {
            let mut tenants = self.view.tenants().lineage(job.spec.tenant);
            if tenants.any(|t| slack.left.get(&t).is_some_and(|left| *left < want.milli())) {
                let (job, starts) = (slack.job, slack.starts);
                return Err(Reason::WouldDelay { job, starts, by: until.since(starts) });
            }
        }
        Ok(())
    }

    /// A job that starts takes its part of what will be left when reserved jobs start.
    pub(super) fn take_slack(&mut self, job: &Job, on: &Assignment, grip: Grip) {
        if self.slacks.is_empty() {
            return;
        }
        let until = self.now() + self.estimate(job);
        for slack in self.slacks.iter_mut().filter(|slack| slack.starts < until) {
            for tenant in self.view.tenants().lineage(job.spec.tenant) {
                if let Some(left) = slack.left.get_mut(&tenant) {
                    *left -= on.milli() as i64;
                }
            }
            slack.take_beside(&on.placement, grip);
        }
    }

    /// Claim what is free of the GPUs reserved at some time in `from..until`, and what has to be
    /// kept free beside them.
    fn hide_reserved(&mut self, from: Time, until: Time) {
        for slack in self.slacks.iter().filter(|s| s.starts < until && from < s.until) {
            for (node, beside) in &slack.beside {
                if self.draft.is_up(*node) {
                    let kept = self.draft.left_beside(*node).beyond(*beside);
                    self.draft.claim(&Placement::on(*node, Slots::default()), kept);
                }
            }
        }
        for (node, slots) in self.calendar.taken(from, until) {
            if !self.draft.is_up(node) {
                continue;
            }
            let unused = self.draft.unused(node).and(slots);
            if !unused.is_empty() {
                self.draft.claim(&Placement::on(node, unused), WHOLE);
            }
            for slot in slots.without(unused).iter() {
                let left = self.draft.left_of(node, slot);
                if left > 0 {
                    let rest = Grip { share: Milli(left), ..WHOLE };
                    self.draft.claim(&Placement::on(node, Slots::one(slot)), rest);
                }
            }
        }
    }

    /// Reserve GPUs for a job at the first time it could start, going by when jobs are taken to
    /// end.
    pub(super) fn reserve(&mut self, job: &Job, wants: &Wants) {
        let Some(want) = wants.first() else { return };
        let savepoint = self.draft.savepoint();
        let found = self.first_start(job, want);
        self.draft.back_to(savepoint);
        if let Some((reservation, slack)) = found {
            let grip = Grip::from(&want.demand);
            let during = reservation.from..reservation.until;
            for other in self.slacks.iter_mut().filter(|other| during.contains(&other.starts)) {
                other.take_beside(&reservation.placement, grip);
            }
            self.calendar.reserve(reservation);
            self.slacks.push(slack);
        }
    }

    /// Release what ends, in order, until the job fits.
    fn first_start(&mut self, job: &Job, want: &Want) -> Option<(Reservation, Slack)> {
        let length = self.estimate(job);
        let mut left = self.left_of_limits(job, want);
        // Running jobs are sorted by their ends already; only what this plan adds is not.
        let mut added = self.added_ends();
        added.sort_unstable();
        let running = self.pipe.ends.iter().map(|(end, job)| (end, Some(job)));
        // Nothing can be promised for when those end of whom nobody knows when that will be.
        let known = merge(running, added.into_iter()).take_while(|(end, _)| *end < Time::MAX);
        let mut ends = known.peekable();
        let mut seen = vec![Slots::default(); self.draft.cluster().nodes.len()];
        // Rather the GPUs it was promised before, so that a promise does not wander.
        let before = self.view.state().reservations().iter().find(|r| r.job == job.id);
        let before = before.map(|r| &r.placement).filter(|p| p.gpus() == want.gpus);
        while let Some((end, ending)) = ends.next() {
            if let Some(ending) = ending {
                self.release_for(ending, &mut left);
            }
            // All that ends together is released before anybody looks.
            let last = ends.peek().is_none_or(|(next, _)| *next > end);
            let over = left.values().any(|left| *left < 0);
            if !last || over || self.has_too_few(want, (end, end + length), &mut seen) {
                continue;
            }
            let inner = self.draft.savepoint();
            self.hide_reserved(end, end + length);
            let grip = Grip::from(&want.demand);
            let placed = match before.filter(|p| self.draft.has_room_for(p, grip)) {
                Some(placement) => Ok(placement.clone()),
                None => self.pipe.parts.place.place(want, &self.draft, self.view),
            };
            let nodes = placed.iter().flat_map(Placement::slices);
            let beside =
                nodes.map(|slice| (slice.node, self.draft.left_beside(slice.node))).collect();
            self.draft.back_to(inner);
            if let Ok(placement) = placed {
                let from = end.max(self.now());
                let until = from + length;
                let mut slack = Slack { job: job.id, starts: from, until, left, beside };
                slack.take_beside(&placement, grip);
                return Some((Reservation { job: job.id, from, until, placement }, slack));
            }
        }
        None
    }

    /// Whether too few GPUs are free that are reserved at no time in `from..until`, wherever they
    /// are: to count them costs far less than to hide what is reserved. `seen` is empty for every
    /// node, before and after.
    fn has_too_few(&self, want: &Want, (from, until): (Time, Time), seen: &mut [Slots]) -> bool {
        let kinds = want.demand.kinds;
        let mut count = self.draft.free_of(kinds);
        if !want.demand.share.is_whole() || count < want.gpus {
            return want.demand.share.is_whole();
        }
        let reserved = self.calendar.overlapping(from, until);
        let slices = reserved.flat_map(|reservation| reservation.placement.slices());
        for slice in slices.clone() {
            if self.draft.is_up(slice.node) && kinds.contains(self.draft.kind_of(slice.node)) {
                let seen = &mut seen[slice.node.index()];
                count -= self.draft.unused(slice.node).and(slice.slots).without(*seen).count();
                *seen = seen.or(slice.slots);
            }
        }
        slices.for_each(|slice| seen[slice.node.index()] = Slots::default());
        count < want.gpus
    }

    /// What a job's tenants would have left of their limits if it started now.
    fn left_of_limits(&self, job: &Job, want: &Want) -> BTreeMap<TenantId, i64> {
        let tenants = self.view.tenants();
        let left = |tenant| {
            let limit = i64::from(tenants.spec(tenant).limit?) * 1000;
            let used = tenants.usage(tenant).milli as i64 + self.extra(tenant);
            Some((tenant, limit - used - want.milli()))
        };
        tenants.lineage(job.spec.tenant).filter_map(left).collect()
    }

    fn release_for(&mut self, ending: JobId, left: &mut BTreeMap<TenantId, i64>) {
        let other = self.view.state().job(ending);
        let Some(placement) = self.placement_of(other) else { return };
        let grip = Walk::grip(other);
        self.draft.release(&placement, grip);
        for tenant in self.view.tenants().lineage(other.spec.tenant) {
            if let Some(left) = left.get_mut(&tenant) {
                *left += i64::from(placement.gpus()) * i64::from(grip.share.0);
            }
        }
    }

    /// When GPUs come free that the queue does not know of: those of jobs that this plan starts,
    /// and those that are reserved.
    fn added_ends(&self) -> Vec<(Time, Option<JobId>)> {
        // Running jobs that this plan moves or resizes are known to the queue.
        let starts = self.plan.run.iter().map(|run| self.view.state().job(run.job));
        let planned = starts
            .filter(|job| !job.is_placed())
            .map(|job| (self.now() + self.estimate(job), Some(job.id)));
        let reserved = self.calendar.ends_after(self.now()).map(|time| (time, None));
        planned.chain(reserved).collect()
    }
}

impl Slack {
    fn take_beside(&mut self, placement: &Placement, grip: Grip) {
        for slice in placement.slices() {
            if let Some(beside) = self.beside.get_mut(&slice.node) {
                beside.take(*slice, grip);
            }
        }
    }
}

/// Two sorted lists as one.
fn merge<T: Ord>(
    a: impl Iterator<Item = T>,
    b: impl Iterator<Item = T>,
) -> impl Iterator<Item = T> {
    let (mut a, mut b) = (a.peekable(), b.peekable());
    std::iter::from_fn(move || match (a.peek(), b.peek()) {
        (Some(first), Some(second)) if first <= second => a.next(),
        (Some(_), None) => a.next(),
        _ => b.next(),
    })
}
