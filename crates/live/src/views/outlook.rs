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
    /// Whether it waits for another task of it to end.
    pub in_line: bool,
}

/// Jobs that are looked at to tell what starting and stopping takes.
const MEASURED_MAX: usize = 500;

/// What starting and stopping took, in the median, seconds; nothing where it was never seen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured {
    /// From having GPUs until processes run.
    pub start_s: Option<f64>,
    /// The same for jobs that go on where they were.
    pub resume_s: Option<f64>,
    /// From being told to stop until the GPUs are free.
    pub stop_s: Option<f64>,
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
            these.flat_map(|it| self.tasks_of(it.job)).collect()
        };
        let in_vain = keeps.needs.iter().any(|it| it.when == Condition::NotOk);
        Outlook {
            job: job.number(),
            limit: job.time_limit_s.map(Span::from_secs),
            ran: job.ran + now.map_or(Span::ZERO, |since| self.seen().since(since)),
            left: left.filter(|_| now.is_some()),
            waits: keeps.reason().is_some()
                && !in_vain
                && !keeps.held
                && !keeps.suspended
                && keeps.never.is_none(),
            begins: asked(true),
            ends: asked(false),
            until: keeps.until,
            line: job.submission.array.as_ref().and_then(|array| array.most.map(|_| job.head)),
            in_line: keeps.array.is_some(),
            ..Outlook::of(&job.user, &job.submission)
        }
    }

    /// Whoever follows an array follows all of its tasks that are not over.
    fn tasks_of(&self, job: u32) -> Vec<JobId> {
        match self.jobs.arrays.get(&job) {
            Some(_) => {
                let tasks = self.jobs.all_live().filter(|other| other.head == job);
                tasks.map(Job::number).collect()
            }
            None => vec![JobId(job)],
        }
    }

    /// What starting and stopping took lately.
    pub fn measured(&self) -> Measured {
        let (mut starts, mut resumes, mut stops) = (Vec::new(), Vec::new(), Vec::new());
        let jobs = self.jobs.all_live().filter(|job| !job.past.is_empty());
        for job in jobs.chain(self.jobs.all_done().rev()).take(MEASURED_MAX) {
            let mut went_on = false;
            for past in &job.past {
                let list = if went_on { &mut resumes } else { &mut starts };
                list.extend(past.started.map(|at| at.since(past.since).secs_f64()));
                went_on = matches!(past.end.as_str(), "saved" | "checkpointed" | "frozen");
                if went_on || past.end == "requeued" {
                    stops.extend(past.leaves.map(|at| past.until.since(at).secs_f64()));
                }
            }
        }
        let median = |mut list: Vec<f64>| {
            list.sort_unstable_by(f64::total_cmp);
            list.get(list.len() / 2).copied()
        };
        Measured { start_s: median(starts), resume_s: median(resumes), stop_s: median(stops) }
    }

    /// Whether somebody may know of what is a tenant's.
    pub fn may_see_tenant(&self, who: &Who, tenant: &str) -> bool {
        self.people.find(tenant).is_some_and(|tenant| self.people.may_see(who, tenant))
    }
}
