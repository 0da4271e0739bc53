//! What people do to jobs: take back, hold, suspend, begin again, signal, and change.

use super::spec::priority;
use crate::ask::{Act, Done};
use crate::job::{Job, Leaving};
use crate::live::Live;
use heeler_api::{Code, JobState, Pause, Problem, Role, Selection, Who};
use heeler_backend::Order;
use heeler_model::{Event, JobId};

/// Numbers that an entry of the audit trail names.
const NAMED_MAX: usize = 20;

impl Act {
    /// What it is called.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Act::Cancel => "cancel",
            Act::Hold => "hold",
            Act::Release => "release",
            Act::Suspend => "suspend",
            Act::Resume => "resume",
            Act::Requeue => "requeue",
            Act::Signal(_) => "signal",
            Act::Priority(_) => "priority",
            Act::TimeLimit(_) => "time-limit",
        }
    }

    /// Whether it makes sense for a job as it is.
    fn suits(&self, job: &Job) -> bool {
        let state = job.state();
        if state.is_over() || job.leaving.is_some_and(Leaving::is_for_good) {
            return false;
        }
        match self {
            Act::Cancel | Act::Priority(_) | Act::TimeLimit(_) => true,
            Act::Hold => job.attempt.is_none() && !job.keeps.held,
            Act::Release => job.keeps.held,
            Act::Suspend => {
                let fixed = job.submission.pause == Pause::Never && job.attempt.is_some();
                !job.keeps.suspended && !fixed
            }
            Act::Resume => job.keeps.suspended,
            Act::Requeue => job.attempt.is_some() || job.rests.is_some(),
            Act::Signal(_) => matches!(state, JobState::Starting | JobState::Running),
        }
    }
}

impl Live {
    /// Whether somebody may know of a job.
    pub(crate) fn may_see(&self, who: &Who, job: &Job) -> bool {
        job.user == who.user || self.people.may_see(who, job.tenant)
    }

    /// Whether somebody may act on a job.
    pub(crate) fn may_act(&self, who: &Who, job: &Job) -> bool {
        let own = job.user == who.user && who.role >= Role::User;
        self.may_see(who, job) && (own || who.role >= Role::Operator)
    }

    pub(crate) fn act(&mut self, who: &Who, jobs: &Selection, act: &Act) -> Result<Done, Problem> {
        let numbers = self.select(who, jobs)?;
        let suitable: Vec<u32> = numbers
            .into_iter()
            .filter(|number| {
                let job = self.jobs.live(*number);
                job.is_some_and(|job| self.may_act(who, job) && act.suits(job))
            })
            .collect();
        if suitable.is_empty() {
            let message = format!("none of them is in a state to {} it", act.word());
            return Err(Problem::new(Code::Conflict, message));
        }
        for job in &suitable {
            self.do_to(*job, act);
        }
        let named: Vec<String> = suitable.iter().take(NAMED_MAX).map(u32::to_string).collect();
        let more = suitable.len().saturating_sub(NAMED_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let value = match act {
            Act::Signal(value) | Act::Priority(value) => format!(" to {value}"),
            Act::TimeLimit(Some(value)) => format!(" to {value}"),
            _ => String::new(),
        };
        self.note(who, act.word(), format!("{}{more}{value}", named.join(",")));
        Ok(Done::Acted(suitable))
    }

    fn do_to(&mut self, id: u32, act: &Act) {
        match act {
            Act::Cancel => self.end_for(id, Leaving::Cancelled),
            Act::Hold => self.mark(id, |job| job.keeps.held = true),
            Act::Release => self.mark(id, |job| job.keeps.held = false),
            Act::Suspend => self.suspend(id),
            Act::Resume => self.mark(id, |job| job.keeps.suspended = false),
            Act::Requeue => self.requeue(id),
            Act::Signal(signal) => self.signal(id, *signal),
            Act::Priority(asked) => {
                let Some(job) = self.jobs.live_mut(id) else { return };
                job.priority = *asked;
                let priority = priority(job.submission.class, *asked);
                self.tell(Event::Priority { job: JobId(id), priority });
            }
            Act::TimeLimit(seconds) => {
                let Some(job) = self.jobs.live_mut(id) else { return };
                job.time_limit_s = *seconds;
                self.set_run_alarms(id);
            }
        }
    }

    /// Change what keeps a job from starting.
    fn mark(&mut self, id: u32, change: impl FnOnce(&mut Job)) {
        let Some(job) = self.jobs.live_mut(id) else { return };
        change(job);
        self.keep(id);
        self.changed(id);
    }

    /// The engine takes a running job's GPUs away, and the stop that it orders goes to the world.
    fn suspend(&mut self, id: u32) {
        self.mark(id, |job| job.keeps.suspended = true);
    }

    fn signal(&mut self, id: u32, signal: i32) {
        let Some(attempt) = self.jobs.live(id).and_then(|job| job.attempt.as_ref()) else { return };
        let generation = attempt.generation;
        self.outbox.push(Order::Signal { job: JobId(id), generation, signal });
    }

    /// A job begins from the beginning: its stretch is ended, or what it rests on is thrown away.
    fn requeue(&mut self, id: u32) {
        let Some(job) = self.jobs.live(id) else { return };
        if job.attempt.is_some() {
            return self.end_for(id, Leaving::Requeued);
        }
        self.wake_no_more(id);
        self.changed(id);
    }

    /// What a job rests on is thrown away, and its work with it.
    pub(crate) fn wake_no_more(&mut self, id: u32) {
        let Some(job) = self.jobs.live_mut(id) else { return };
        let sleeps = job.sleeps();
        let generation = job.generation;
        job.rests = None;
        job.ran = heeler_model::Span::ZERO;
        if sleeps {
            self.outbox.push(Order::End { job: JobId(id), generation, now: true });
        }
        self.write_off(id);
    }
}
