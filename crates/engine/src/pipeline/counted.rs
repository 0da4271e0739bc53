//! Who runs by counting GPUs alone, in worlds whose program decides so: all jobs in order, each as
//! long as its GPUs are within what there is. Those who run and are beyond that stop; those who
//! wait and are within it start where they find a place, and wait on where they find none.

use super::Preempt;
use super::walk::Walk;
use crate::rules::Starts;
use crate::state::Job;
use crate::traits::Want;
use heeler_model::{KindSet, Plan, Reason, Stop, Wait};

impl Walk<'_> {
    /// The plan, in whichever way this world comes to one.
    pub(super) fn decide(self) -> Plan {
        let parts = &self.pipe.parts;
        let plain = parts.gate.is_none() && parts.resize.is_none();
        let stops = matches!(parts.preempt, Preempt::ByOrder { .. });
        match self.view.rules().starts {
            Starts::Counted if plain && stops => self.by_count(),
            _ => self.plan(),
        }
    }

    /// The plan that comes of counting.
    fn by_count(mut self) -> Plan {
        let now = self.now();
        let queue = &self.pipe.queue;
        let waiting = queue.waiting_classes().flat_map(|(_, seats)| seats);
        let waiting = waiting.map(|seat| seat.rank(0, now));
        let mut ranks: Vec<_> = queue.running_last_first(now, |_| true).chain(waiting).collect();
        ranks.sort_unstable();
        let mut left = self.draft.up_of(KindSet::ANY);
        let (mut starts, mut stops): (Vec<&Job>, Vec<&Job>) = (Vec::new(), Vec::new());
        for rank in ranks {
            let job = self.view.state().job(rank.job);
            let need = if job.is_placed() { job.gpus() } else { job.spec.demand.asked() };
            match (need <= left, job.is_placed()) {
                (true, placed) => {
                    left -= need;
                    starts.extend((!placed).then_some(job));
                }
                (false, true) => stops.push(job),
                (false, false) => {
                    let reason = Reason::NotEnoughFree { need, free: left };
                    self.plan.wait.push(Wait { job: job.id, reason });
                }
            }
        }
        for job in &stops {
            let placement = &job.assignment.as_ref().expect("a placed job").placement;
            self.draft.release(placement, Walk::grip(job));
        }
        for job in starts {
            let want = Want::as_asked(job);
            match self.pipe.parts.place.place(&want, &self.draft, self.view) {
                Ok(placement) => self.start(job, &want, placement),
                Err(reason) => self.plan.wait.push(Wait { job: job.id, reason }),
            }
        }
        // Those for whom it was may wait on all the same.
        let by = self.plan.run.first().map(|run| Reason::Displaced { by: run.job });
        let reason = by.unwrap_or(Reason::Rearranged);
        self.plan.stop = stops.iter().map(|job| Stop { job: job.id, reason }).collect();
        self.plan
    }
}
