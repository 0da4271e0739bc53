//! Who runs in worlds whose program wants free GPUs to add up: all jobs in order, each on the first
//! nodes whose free GPUs come to exactly as many as it asks for. For whoever finds none those
//! behind it are stopped, last first, until it does. If nothing helps they stay stopped, and
//! nobody behind it is looked at.

use super::queue::Rank;
use super::walk::Walk;
use crate::fleet::Grip;
use crate::state::Job;
use crate::traits::Want;
use heeler_model::{JobId, KindId, Placement, Plan, Reach, Reason, Slice, Stop, Wait};
use smallvec::SmallVec;

/// Jobs that were stopped, each with the one for which it was.
type Stopped<'a> = Vec<(&'a Job, JobId)>;

impl<'a> Walk<'a> {
    /// The plan that comes of adding up.
    pub(super) fn by_sum(mut self) -> Plan {
        let jobs = self.all_in_order();
        let mut stopped = Stopped::new();
        // Whoever ran from here on has been stopped.
        let mut end = jobs.len();
        for (index, job) in jobs.iter().enumerate() {
            if job.is_placed() && index < end {
                continue;
            }
            let want = Want::as_asked(job);
            let mut found = self.adding_up(&want);
            while found.is_err() && end > index + 1 {
                end -= 1;
                let Some(on) = &jobs[end].assignment else { continue };
                self.draft.release(&on.placement, Walk::grip(jobs[end]));
                stopped.push((jobs[end], job.id));
                found = self.adding_up(&want);
            }
            match found {
                Ok(placement) => {
                    self.start(job, &want, placement);
                    stopped.retain(|(other, _)| other.id != job.id);
                }
                Err(reason) => {
                    self.keep_waiting(&jobs[index..], reason);
                    break;
                }
            }
        }
        self.stop_all(&stopped);
        self.plan
    }

    /// All jobs in order. Where a recipe stops nobody, its queue knows only who waits, and that is
    /// enough: nobody is ever passed.
    fn all_in_order(&self) -> Vec<&'a Job> {
        let (now, queue, view) = (self.now(), &self.pipe.queue, self.view);
        let waiting = queue.waiting_classes().flat_map(|(_, seats)| seats);
        let waiting = waiting.map(|seat| seat.rank(0, now));
        let running = queue.running_last_first(now, |_| true);
        let mut ranks: Vec<Rank> = running.chain(waiting).collect();
        ranks.sort_unstable();
        ranks.iter().map(|rank| view.state().job(rank.job)).collect()
    }

    /// The first of these finds no place, and nobody passes it.
    fn keep_waiting(&mut self, jobs: &[&Job], reason: Reason) {
        let first = jobs[0].id;
        self.plan.wait.push(Wait { job: first, reason });
        let behind = jobs[1..].iter().filter(|job| !job.is_placed());
        let waits = behind.zip(1..).map(|(job, ahead)| {
            let reason = Reason::Behind { ahead, first };
            Wait { job: job.id, reason }
        });
        self.plan.wait.extend(waits);
    }

    fn stop_all(&mut self, stopped: &Stopped) {
        for (job, by) in stopped {
            // The one for which it was may wait on all the same.
            let starts = self.plan.run.iter().any(|run| run.job == *by);
            let by = Reason::Displaced { by: *by };
            let reason = if starts { by } else { Reason::Rearranged };
            self.plan.stop.push(Stop { job: job.id, reason });
        }
    }

    /// The first nodes of a kind whose free GPUs come to exactly as many as are wanted, where no
    /// node counts for more than that.
    fn adding_up(&self, want: &Want) -> Result<Placement, Reason> {
        let is_gang = want.gpus > 0 && want.demand.share.is_whole();
        if !is_gang || want.demand.reach != Reach::Cluster {
            return self.pipe.parts.place.place(want, &self.draft, self.view);
        }
        let (need, free) = (want.gpus, self.draft.free_of(want.demand.kinds));
        if free < need {
            return Err(Reason::NotEnoughFree { need, free });
        }
        let kinds = || want.demand.kinds.iter(self.draft.cluster().kinds.len());
        let found = kinds().find_map(|kind| self.first_of(kind, want));
        found.ok_or_else(|| {
            let together = |kind| self.draft.most_together(kind, Grip::from(&want.demand));
            let largest = kinds().map(together).max().unwrap_or(0);
            Reason::Fragmented { need, free, largest }
        })
    }

    fn first_of(&self, kind: KindId, want: &Want) -> Option<Placement> {
        let grip = Grip::from(&want.demand);
        let mut left = want.gpus;
        let mut slices: SmallVec<[Slice; 1]> = SmallVec::new();
        for node in self.draft.nodes_with_any(kind) {
            let take = want.gpus.min(self.draft.room(node, grip));
            if take == 0 {
                continue;
            }
            // More than that is as bad as less.
            left = left.checked_sub(take)?;
            slices.push(Slice { node, slots: self.draft.unused(node).lowest(take) });
            if left == 0 {
                return Some(Placement::new(slices));
            }
        }
        None
    }
}
