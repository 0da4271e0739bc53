//! Jobs that leave without having done their work: taken back by their owner, or declared over by
//! the policy. Those who follow a job that is over may go on, as if it had finished: it has done
//! all that was wanted of it.

use crate::engine::{Engine, Step};
use crate::state::{Leaving, Phase};
use crate::traits::Note;
use heeler_model::{Action, JobId, Reason, Stop};

impl Engine {
    /// A job's owner took it back.
    pub(crate) fn cancel(&mut self, id: JobId) {
        let Some(job) = self.state.jobs.get_mut(id) else { return };
        match job.phase {
            Phase::Running => {
                job.leaving = Some(Leaving::Withdrawn);
                let generation = job.generation;
                self.state.displace(id);
                self.tell(&Note::Paused(id));
                let reason = Reason::Withdrawn;
                self.outbox.push(Action::Stop { job: id, generation, reason });
            }
            Phase::Stopping => {
                job.leaving = Some(Leaving::Withdrawn);
                if job.is_placed() {
                    self.state.displace(id);
                    self.tell(&Note::Paused(id));
                }
            }
            Phase::Held => {
                self.state.displace(id);
                self.state.waiting -= 1;
                self.forget(id, false);
            }
            Phase::Waiting => {
                self.state.waiting -= 1;
                self.forget(id, false);
            }
            Phase::Blocked => self.forget(id, false),
        }
    }

    /// The policy declared some jobs over. Those that had GPUs have lost them by now.
    pub(crate) fn end(&mut self, ends: &[Stop], step: &mut Step) {
        for Stop { job: id, reason } in ends {
            let Some(job) = self.state.jobs.get_mut(*id) else { continue };
            step.actions.push(Action::End { job: *id, reason: *reason });
            match job.phase {
                Phase::Waiting => {
                    self.state.waiting -= 1;
                    self.forget(*id, true);
                }
                Phase::Blocked => self.forget(*id, true),
                Phase::Stopping | Phase::Held | Phase::Running => {
                    job.leaving.get_or_insert(Leaving::Over);
                }
            }
        }
    }
}
