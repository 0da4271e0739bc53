//! What forecasts need to know of jobs beside what the engine knows.

use crate::job::Job;
use crate::live::Live;
use heeler_api::{Condition, JobState, Submission, Who};
use heeler_model::{JobId, Span, Time};

/// What is known of how long a job runs, and what has to pass before it may start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outlook {
    /// The job.
    pub job: JobId,
    /// Jobs with equal keys are runs of the same: of one user, by name, model and size.
    pub alike: u64,
    /// A key of its owner.
    pub owner: u64,
    /// How long its owner thinks it runs.
    pub expected: Option<Span>,
    /// How long it may run.
    pub limit: Option<Span>,
    /// How long it has run since it last began from the beginning.
    pub ran: Span,
    /// How long it still runs by its own count of steps.
    pub left: Option<Span>,
    /// Whether it may not start before something passes that will pass by itself.
    pub waits: bool,
    /// Jobs that must have begun.
    pub begins: Vec<JobId>,
    /// Jobs that must have ended.
    pub ends: Vec<JobId>,
    /// A time that must have come.
    pub until: Option<Time>,
    /// The array of which only so many tasks may run at once, if it is in one.
    pub line: Option<u32>,
}

impl Outlook {
    /// Of a submission that was not handed in.
    pub fn of(user: &str, submission: &Submission) -> Outlook {
        let key = |parts: &[&str]| {
            let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
            bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
            })
        };
        let gpus = submission.gpus.count.to_string();
        let model = submission.model.as_deref().unwrap_or_default();
        Outlook {
            alike: key(&[user, &submission.name, model, &gpus]),
            owner: key(&[user]),
            expected: submission.expected_s.map(Span::from_secs),
            limit: submission.time_limit_s.map(Span::from_secs),
            ..Outlook::default()
        }
    }
}

impl Live {
    /// What is known of jobs that are not over.
    pub fn outlooks(&self) -> Vec<Outlook> {
        self.jobs.all_live().map(|job| self.outlook(job)).collect()
    }

    /// The latest jobs that ended well, latest first.
    pub fn past_runs(&self, most: usize) -> Vec<Outlook> {
        let well = |job: &&Job| job.state() == JobState::Completed;
        self.jobs.all_done().rev().filter(well).take(most).map(|job| self.outlook(job)).collect()
    }

    fn outlook(&self, job: &Job) -> Outlook {
        let keeps = &job.keeps;
        let now = job.attempt.as_ref().and_then(|attempt| attempt.started);
        let heard = &job.heard;
        let rate = heard.rate.filter(|rate| *rate > 0.0);
        let steps = heard.total_steps.map(|total| total.saturating_sub(heard.step) as f64);
        let left = steps.zip(rate).map(|(steps, rate)| Span::from_secs_f64(steps / rate));
        let asked = |begun: bool| {
            let these = keeps.needs.iter().filter(move |it| (it.when == Condition::After) == begun);
            these.map(|it| JobId(it.job)).collect()
        };
        Outlook {
            job: job.number(),
            limit: job.time_limit_s.map(Span::from_secs),
            ran: job.ran + now.map_or(Span::ZERO, |since| self.now.since(since)),
            left: left.filter(|_| now.is_some()),
            waits: keeps.reason().is_some()
                && !keeps.held
                && !keeps.suspended
                && keeps.never.is_none(),
            begins: asked(true),
            ends: asked(false),
            until: keeps.until,
            line: job.submission.array.as_ref().and_then(|array| array.most.map(|_| job.head)),
            ..Outlook::of(&job.user, &job.submission)
        }
    }

    /// Whether somebody may know of what is a tenant's.
    pub fn may_see_tenant(&self, who: &Who, tenant: &str) -> bool {
        self.people.find(tenant).is_some_and(|tenant| self.people.may_see(who, tenant))
    }
}
