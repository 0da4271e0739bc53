//! Jobs that leave: told to end, and over.

use crate::job::{Leaving, Over, Told};
use crate::live::Live;
use heeler_api::JobState;
use heeler_backend::Order;
use heeler_model::{Event, JobId};

impl Leaving {
    /// Whether the job does not come back.
    pub(crate) fn is_for_good(self) -> bool {
        self != Leaving::Requeued
    }

    /// What the job is then.
    pub(crate) fn state(self) -> JobState {
        match self {
            Leaving::Cancelled => JobState::Cancelled,
            Leaving::Timeout => JobState::Timeout,
            Leaving::Stopped => JobState::Stopped,
            Leaving::Requeued => JobState::Pending,
        }
    }

    /// How its stretch ended, in a word.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Leaving::Cancelled => "cancelled",
            Leaving::Timeout => "timeout",
            Leaving::Stopped => "stopped",
            Leaving::Requeued => "requeued",
        }
    }
}

impl Live {
    /// End a job, or its stretch if it is to begin again.
    pub(crate) fn end_for(&mut self, id: u32, leaving: Leaving) {
        let now = self.now;
        let Some(job) = self.jobs.live_mut(id) else { return };
        let for_good = job.leaving.is_some_and(Leaving::is_for_good);
        if for_good {
            return;
        }
        let Some(attempt) = &mut job.attempt else {
            if leaving.is_for_good() {
                self.tell(Event::Cancelled { job: JobId(id) });
                let over = Over {
                    state: leaving.state(),
                    at: now,
                    code: None,
                    signal: None,
                    message: None,
                };
                self.over(id, over);
            }
            return;
        };
        job.leaving = Some(leaving);
        attempt.leaves.get_or_insert(now);
        let told = std::mem::replace(&mut attempt.told, Told::End);
        let generation = attempt.generation;
        if told != Told::End {
            self.outbox.push(Order::End { job: JobId(id), generation, now: false });
        }
        self.clear_run_alarms(id);
        if leaving.is_for_good() {
            self.tell(Event::Cancelled { job: JobId(id) });
        }
        self.changed(id);
    }

    /// A job is over. The engine knows already.
    pub(crate) fn over(&mut self, id: u32, over: Over) {
        let Some(job) = self.jobs.live_mut(id) else { return };
        let good = matches!(over.state, JobState::Completed | JobState::Stopped);
        job.over = Some(over);
        job.attempt = None;
        job.rests = None;
        let alarms = std::mem::take(&mut job.alarms);
        let (head, is_task, begun) = (job.head, job.task.is_some(), job.first_started.is_some());
        let (tenant, user) = (job.tenant, job.user.clone());
        let behind = job.keeps.array.is_some();
        job.keeps.needs.clear();
        for (at, alarm) in alarms {
            self.alarms.remove(&(at, id, alarm));
        }
        self.accounts.ended(tenant, user);
        self.outbox.push(Order::Forget { job: JobId(id) });
        self.jobs.retire(id);
        self.changed(id);
        if is_task {
            if let Some(array) = self.jobs.arrays.get_mut(&head) {
                array.left = array.left.saturating_sub(1);
                array.unbegun = array.unbegun.saturating_sub(u32::from(!begun));
                array.failed |= !good;
                array.behind.remove(&id);
            }
            if !behind {
                self.next_task(head);
            }
        }
        self.followed(id);
    }
}
