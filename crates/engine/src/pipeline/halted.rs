//! Running jobs that the gate does not let go on, and jobs that are over: they give way before the
//! queue is walked, so that others may have their GPUs in the same plan.

use super::walk::Walk;
use heeler_model::JobId;

impl Walk<'_> {
    /// Enter what the gate says into the plan.
    pub(super) fn halt(&mut self) {
        let Some(gate) = &self.pipe.parts.gate else { return };
        self.halted = gate.stops(self.view);
        self.plan.end = gate.ends(self.view);
        let gone: Vec<JobId> = self.gone().collect();
        for id in gone {
            let job = self.view.state().job(id);
            if let Some(door) = self.door.as_mut().filter(|_| job.is_placed()) {
                door.left(job, job.milli());
            }
        }
        self.give_up_halted();
        self.book_halted();
    }

    /// Jobs that run no longer, whoever comes.
    fn gone(&self) -> impl Iterator<Item = JobId> {
        self.halted.iter().chain(&self.plan.end).map(|stop| stop.job)
    }

    /// Release what they have.
    pub(super) fn give_up_halted(&mut self) {
        let gone: Vec<JobId> = self.gone().collect();
        for id in gone {
            let job = self.view.state().job(id);
            if let Some(on) = &job.assignment {
                self.draft.release(&on.placement, Walk::grip(job));
            }
        }
    }

    /// Enter them into the books.
    pub(super) fn book_halted(&mut self) {
        let gone: Vec<JobId> = self.gone().collect();
        for id in gone {
            let job = self.view.state().job(id);
            if job.is_placed() {
                self.count(job, -(job.milli() as i64));
            }
            self.planned.insert(id, None);
        }
    }

    /// Whoever found no room may not be let in any more after others were: then that is why it
    /// waits, and nobody else need wait for it.
    pub(super) fn ask_those_who_wait(&mut self) {
        let (Some(door), Some(gate)) = (&mut self.door, &self.pipe.parts.gate) else { return };
        if self.pipe.parts.resize.is_none() {
            return;
        }
        for wait in &mut self.plan.wait {
            let job = self.view.state().job(wait.job);
            if gate.class(job) != 0
                && let Err(reason) = door.ask(job, job.milli())
            {
                wait.reason = reason;
            }
        }
    }
}
