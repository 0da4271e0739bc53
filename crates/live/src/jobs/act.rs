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
/// Jobs of which it is said why nothing was done to them.
const NOTES_MAX: usize = 5;

impl Act {
    /// What it is called.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Act::Cancel => "cancel",
            Act::Kill => "kill",
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

    /// What it does to a job, for a sentence such as "nothing to cancel".
    fn to_do(&self) -> &'static str {
        match self {
            Act::Priority(_) => "give another priority",
            Act::TimeLimit(_) => "give another time limit",
            _ => self.word(),
        }
    }

    /// Why it makes no sense for a job as it is, if it does not: "is completed".
    fn unsuited(&self, job: &Job) -> Option<String> {
        let state = job.state();
        let is = |what: &str| Some(format!("is {what}"));
        if state == JobState::Timeout {
            return Some("ran into its time limit".into());
        }
        if state.is_over() {
            return is(state.word());
        }
        if job.leaving.is_some_and(Leaving::is_for_good) && *self != Act::Kill {
            return is("stopping already");
        }
        let (placed, fixed) = (job.attempt.is_some(), job.submission.pause == Pause::Never);
        match self {
            Act::Hold if job.keeps.held => is("held already"),
            Act::Hold if placed => Some(format!("is {} and has its GPUs", state.word())),
            Act::Release if !job.keeps.held => is("not held"),
            Act::Suspend if job.keeps.suspended => is("suspended already"),
            Act::Suspend if placed && fixed => Some("was submitted with --pause never".into()),
            Act::Resume if !job.keeps.suspended => is("not suspended"),
            Act::Requeue if !placed && job.rests.is_none() => is("at its beginning already"),
            Act::Signal(_) if !matches!(state, JobState::Starting | JobState::Running) => {
                is(&format!("{}, and has no process to signal", state.word()))
            }
            _ => None,
        }
    }
}

/// Why something was not done to jobs, a sentence for each of the first.
fn notes(unsuited: &[(u32, String)]) -> Vec<String> {
    let first = unsuited.iter().take(NOTES_MAX);
    let mut notes: Vec<String> = first.map(|(job, why)| format!("job {job} {why}")).collect();
    match unsuited.len().saturating_sub(NOTES_MAX) {
        0 => {}
        more => notes.push(format!("so it is with {more} more")),
    }
    notes
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
        let (mut suitable, mut unsuited) = (Vec::new(), Vec::new());
        for number in numbers {
            let Some(job) = self.jobs.get(number).filter(|job| self.may_act(who, job)) else {
                continue;
            };
            match act.unsuited(job) {
                None => suitable.push(number),
                Some(why) => unsuited.push((number, why)),
            }
        }
        let notes = notes(&unsuited);
        // Who takes back what is on its way out gets what they want.
        let leaves = |(job, _): &(u32, String)| self.jobs.live(*job).is_some();
        let wanted = *act == Act::Cancel && unsuited.iter().any(leaves);
        if suitable.is_empty() && wanted {
            return Ok(Done::Acted { jobs: suitable, notes });
        }
        if suitable.is_empty() {
            let message = format!("there is nothing to {}: {}", act.to_do(), notes.join("; "));
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
        Ok(Done::Acted { jobs: suitable, notes })
    }

    fn do_to(&mut self, id: u32, act: &Act) {
        match act {
            Act::Cancel => self.end_for(id, Leaving::Cancelled),
            Act::Kill => self.kill(id),
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

    /// A job is taken back, and its world is told not to wait for its grace.
    fn kill(&mut self, id: u32) {
        self.end_for(id, Leaving::Cancelled);
        let Some(attempt) = self.jobs.live(id).and_then(|job| job.attempt.as_ref()) else { return };
        let generation = attempt.generation;
        self.outbox.push(Order::End { job: JobId(id), generation, now: true });
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
