//! What people do to jobs that are not over: keep them from running, let them go on, and change how
//! important they are. To a policy, a job that is held has left; it joins when it is released.

use crate::engine::Engine;
use crate::state::Phase;
use crate::traits::Note;
use heeler_model::{Action, JobId, Reason};

impl Engine {
    /// Somebody keeps a job from running.
    pub(crate) fn hold(&mut self, id: JobId, reason: Reason) {
        let now = self.state.now;
        let Some(job) = self.state.jobs.get_mut(id) else { return };
        if job.leaving.is_some() {
            return;
        }
        job.held = Some(reason);
        if !job.never_runs() {
            job.note(reason, now);
        }
        let generation = job.generation;
        match job.phase {
            Phase::Running => {
                self.state.displace(id);
                self.tell(&Note::Paused(id));
                self.outbox.push(Action::Stop { job: id, generation, reason });
                // Its GPUs may be promised to others at once, which no plan has looked at.
                self.tell(&Note::Changed);
            }
            Phase::Stopping => {
                if job.is_placed() {
                    self.state.displace(id);
                    self.tell(&Note::Paused(id));
                    self.tell(&Note::Changed);
                }
            }
            Phase::Held => {
                self.state.displace(id);
                self.state.waiting -= 1;
                self.set_aside(id);
            }
            Phase::Waiting => {
                self.state.waiting -= 1;
                self.set_aside(id);
            }
            Phase::Blocked => {}
        }
    }

    /// A job that nobody is being considered for any more: to the policy it has left.
    pub(crate) fn set_aside(&mut self, id: JobId) {
        self.tell(&Note::Left(id));
        let now = self.state.now;
        let job = self.state.jobs.get_mut(id).expect("the job is not done");
        job.phase = Phase::Blocked;
        job.since = now;
        self.state.tenants.has_less(job.spec.tenant);
    }

    /// A job that was held may run again.
    pub(crate) fn release(&mut self, id: JobId) {
        let now = self.state.now;
        let Some(job) = self.state.jobs.get_mut(id) else { return };
        if job.held.take().is_none() {
            return;
        }
        if job.phase == Phase::Blocked && job.after == 0 && !job.never_runs() {
            job.phase = Phase::Waiting;
            job.since = now;
            self.state.waiting += 1;
            self.state.tenants.has_work(job.spec.tenant);
            self.tell(&Note::Joined(id));
        }
    }

    /// A job has another priority.
    pub(crate) fn set_priority(&mut self, id: JobId, priority: i32) {
        let Some(phase) = self.state.jobs.get(id).map(|job| job.phase) else { return };
        // An order sees a job's priority when the job joins, so a waiting one leaves and joins.
        if phase == Phase::Waiting {
            self.tell(&Note::Left(id));
        }
        let job = self.state.jobs.get_mut(id).expect("looked up a line above");
        job.spec.priority = priority;
        match phase {
            Phase::Waiting => self.tell(&Note::Joined(id)),
            Phase::Running | Phase::Held => self.tell(&Note::Progressed(id)),
            Phase::Blocked | Phase::Stopping => {}
        }
    }
}
