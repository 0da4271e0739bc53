//! Backfill: the first jobs that do not fit get a reservation, and others may pass only where they
//! would not be in its way.

use super::walk::Walk;
use crate::fleet::Grip;
use crate::state::Job;
use crate::traits::{Want, Wants};
use heeler_model::{JobId, Milli, Placement, Reason, Reservation, Span, Time};

/// Takes whole GPUs out of sight while others are placed.
const WHOLE: Grip = Grip { share: Milli::WHOLE, gpu_memory_mb: 0, cpu_milli: 0, memory_mb: 0 };

impl<'a> Walk<'a> {
    fn estimate(&self, job: &Job) -> Span {
        let predict = self.pipe.parts.predict.as_ref();
        predict.and_then(|predict| predict.left(job, self.view)).unwrap_or(Span::MAX)
    }

    /// Find a place where a job is in nobody's way for as long as it is taken to run.
    pub(super) fn place_around_reservations(
        &mut self,
        job: &Job,
        want: &Want,
    ) -> Result<Placement, Reason> {
        let now = self.now();
        let until = now + self.estimate(job);
        let savepoint = self.draft.savepoint();
        self.hide_reserved(now, until);
        let found = self.pipe.parts.place.place(want, &self.draft, self.view);
        self.draft.back_to(savepoint);
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

    /// Claim what is free of the GPUs reserved at some time in `from..until`.
    fn hide_reserved(&mut self, from: Time, until: Time) {
        for (node, slots) in self.calendar.taken(from, until) {
            let free = self.draft.unused(node).and(slots);
            if !free.is_empty() && self.draft.is_up(node) {
                self.draft.claim(&Placement::on(node, free), WHOLE);
            }
        }
    }

    /// Reserve GPUs for a job at the first time it could start, going by when jobs are taken to
    /// end.
    pub(super) fn reserve(&mut self, job: &Job, wants: &Wants) {
        let Some(want) = wants.first() else { return };
        let length = self.estimate(job);
        let savepoint = self.draft.savepoint();
        // Running jobs are sorted by their ends already; only what this plan adds is not.
        let mut added = self.added_ends();
        added.sort_unstable();
        let running = self.pipe.ends.iter().map(|(end, job)| (*end, Some(*job)));
        let mut ends = merge(running, added.into_iter()).peekable();
        let mut found = None;
        while let Some((end, ending)) = ends.next() {
            if let Some(ending) = ending {
                let other = self.view.state().job(ending);
                if let Some(placement) = self.placement_of(other) {
                    self.draft.release(&placement, Walk::grip(other));
                }
            }
            // All that ends together is released before anybody looks.
            let last = ends.peek().is_none_or(|(next, _)| *next > end);
            let whole = want.demand.share.is_whole();
            if !last || end == Time::MAX || (whole && self.free_for(want) < want.gpus) {
                continue;
            }
            let inner = self.draft.savepoint();
            self.hide_reserved(end, end + length);
            let placed = self.pipe.parts.place.place(want, &self.draft, self.view);
            self.draft.back_to(inner);
            if let Ok(placement) = placed {
                let (job, from) = (job.id, end.max(self.now()));
                found = Some(Reservation { job, from, until: from + length, placement });
                break;
            }
        }
        self.draft.back_to(savepoint);
        if let Some(reservation) = found {
            self.calendar.reserve(reservation);
        }
    }

    fn free_for(&self, want: &Want) -> u32 {
        self.draft.free_of(want.demand.kinds)
    }

    /// When GPUs come free that the queue does not know of: those of jobs that this plan starts, and
    /// those that are reserved.
    fn added_ends(&self) -> Vec<(Time, Option<JobId>)> {
        let planned = self.plan.run.iter().map(|run| {
            let job = self.view.state().job(run.job);
            (self.now() + self.estimate(job), Some(run.job))
        });
        let reserved = self.calendar.ends_after(self.now()).map(|time| (time, None));
        planned.chain(reserved).collect()
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
