//! Who runs by counting GPUs alone, in worlds whose program decides so: all jobs in order, each as
//! long as its GPUs are within what there is. Those who run and are beyond that stop; those who
//! wait and are within it start where they find a place, and wait on where they find none.

use super::queue::Rank;
use super::walk::Walk;
use super::{Cadence, Preempt};
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
        let sums = stops || parts.preempt == Preempt::Never;
        let limited = self.view.tenants().have_limits();
        match self.view.rules().starts {
            Starts::Counted if plain && stops => self.by_count(),
            Starts::AddingUp if plain && sums && !limited => self.by_sum(),
            _ => self.plan(),
        }
    }

    /// Where a job stands in the lists of that program. Whom the order puts level stand as they
    /// came into a list: of those who run or of those who wait, to which newcomers are added
    /// before those who are stopped. With rounds, who runs is first.
    fn level(&self, rank: Rank) -> impl Ord + use<> {
        let job = self.view.state().job(rank.job);
        let rounds = matches!(self.pipe.parts.cadence, Cadence::Round(_));
        let submitted = rounds.then_some(job.submitted);
        let second_list = job.is_placed() != rounds;
        let stopped = !job.is_placed() && !job.attained.is_zero();
        (rank.key, submitted, second_list, job.since, stopped, job.id)
    }

    /// The plan that comes of counting.
    fn by_count(mut self) -> Plan {
        let now = self.now();
        let queue = &self.pipe.queue;
        let waiting = queue.waiting_classes().flat_map(|(_, seats)| seats);
        let waiting = waiting.map(|seat| seat.rank(0, now));
        let mut ranks: Vec<_> = queue.running_last_first(now, |_| true).chain(waiting).collect();
        ranks.sort_by_cached_key(|rank| self.level(*rank));
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
