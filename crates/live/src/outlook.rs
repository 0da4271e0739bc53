//! What forecasts go by, copied out in one pass: how long jobs that are not over may still run and
//! what they wait for, how long others ran, and what starting and stopping took.

use crate::ask::Ask;
use crate::job::{Job, Told};
use crate::live::Live;
use crate::recipe::InCharge;
use heeler_api::{Condition, JobState, Problem, RecipeChange, Submission, Who};
use heeler_engine::Policy;
use heeler_model::{JobId, JobSpec, ModelId, Span, Time};

/// Jobs that are looked at to tell what starting and stopping takes.
const MEASURED_MAX: usize = 500;

/// What is known of how long a job that is not over will run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outlook {
    /// The job.
    pub job: JobId,
    /// A key of its user, name and size: jobs with equal keys are runs of the same.
    pub alike: u64,
    /// A key of its user.
    pub owner: u64,
    /// How long its owner thinks it runs.
    pub expected: Option<Span>,
    /// How long it may run.
    pub limit: Option<Span>,
    /// How long its processes have run since they last began from the beginning.
    pub ran: Span,
    /// How long it still runs by its own count of steps.
    pub left: Option<Span>,
    /// What it waits for, if it may start by itself then.
    pub waits: Option<Waits>,
    /// The array of which only so many tasks may run at once, if it is of one.
    pub array: Option<u32>,
}

/// What a job waits for before it may start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Jobs that must have begun.
    pub begins: Vec<JobId>,
    /// Jobs that must have ended.
    pub ends: Vec<JobId>,
    /// A time that must have come.
    pub until: Option<Time>,
    /// Whether it waits for another task of its array to end.
    pub in_line: bool,
}

/// A run that ended well.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Run {
    /// As in [`Outlook`].
    pub alike: u64,
    /// As in [`Outlook`].
    pub owner: u64,
    /// How long it ran.
    pub ran: Span,
    /// How long its owner thought it would.
    pub expected: Option<Span>,
    /// How long it could have.
    pub limit: Option<Span>,
}

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

impl Live {
    /// What is known of all jobs that are not over, by number.
    pub fn outlooks(&self) -> Vec<Outlook> {
        self.jobs.all_live().map(|job| self.outlook(job)).collect()
    }

    /// The latest jobs that ended well, latest first; not more than so many.
    pub fn runs(&self, most: usize) -> Vec<Run> {
        let done = self.jobs.all_done().rev().take(most);
        let good = done.filter(|job| job.state() == JobState::Completed);
        let run = |job: &Job| Run {
            alike: alike(&job.user, &job.submission),
            owner: key(&[job.user.as_bytes()]),
            ran: job.ran,
            expected: job.submission.expected_s.map(Span::from_secs),
            limit: job.time_limit_s.map(Span::from_secs),
        };
        good.map(run).collect()
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

    /// A submission as the engine would know it, if somebody may hand it in, and what would be
    /// known of it. Nothing is handed in.
    pub fn imagine(
        &self,
        who: &Who,
        submission: Submission,
        at: Time,
    ) -> Result<(JobSpec, Outlook), Problem> {
        let checked = self.check(who, Ask::Submit(vec![submission]), at)?;
        let Ask::Submit(mut checked) = checked else { unreachable!("a submit stays a submit") };
        let submission = checked.pop().expect("one was checked");
        let name = submission.tenant.clone().unwrap_or_else(|| self.home(who));
        let tenant = self.people.find(&name).unwrap_or_default();
        let model = submission.model.as_ref().and_then(|model| self.model_numbers.get(model));
        let spec = self.spec_with(&submission, tenant, ModelId(model.copied().unwrap_or(0)));
        let outlook = Outlook {
            alike: alike(&who.user, &submission),
            owner: key(&[who.user.as_bytes()]),
            expected: submission.expected_s.map(Span::from_secs),
            limit: submission.time_limit_s.map(Span::from_secs),
            ..Outlook::default()
        };
        Ok((spec, outlook))
    }

    /// A policy of another recipe, if it could be in charge.
    pub fn policy_of(&self, change: &RecipeChange) -> Result<Box<dyn Policy>, Problem> {
        InCharge::chosen(change, self.now)?.build()
    }

    fn outlook(&self, job: &Job) -> Outlook {
        let heard = &job.heard;
        let running = job.attempt.as_ref().filter(|attempt| attempt.told == Told::Start);
        let since = running.and_then(|attempt| attempt.started);
        let ran = job.ran + since.map_or(Span::ZERO, |since| self.now.since(since));
        let left = match (heard.total_steps, heard.rate, heard.at) {
            (Some(total), Some(rate), Some((at, step))) if rate > 0.0 => {
                let seconds = total.saturating_sub(step) as f64 / rate;
                let passed = since.map_or(Span::ZERO, |since| self.now.since(at.max(since)));
                let left = (seconds - passed.secs_f64()).clamp(0.0, 1e9);
                Some(Span::from_secs_f64(left))
            }
            _ => None,
        };
        let array = self.jobs.arrays.get(&job.head).filter(|array| array.most.is_some());
        Outlook {
            job: job.number(),
            alike: alike(&job.user, &job.submission),
            owner: key(&[job.user.as_bytes()]),
            expected: job.submission.expected_s.map(Span::from_secs),
            limit: job.time_limit_s.map(Span::from_secs),
            ran,
            left,
            waits: self.waits(job),
            array: array.map(|_| job.head),
        }
    }

    /// What a job that is kept from starting waits for, if it is not people.
    fn waits(&self, job: &Job) -> Option<Waits> {
        let keeps = &job.keeps;
        let by_people = keeps.held || keeps.suspended || keeps.never.is_some();
        let in_vain = keeps.needs.iter().any(|need| need.when == Condition::NotOk);
        if keeps.told.is_none() || by_people || in_vain {
            return None;
        }
        let mut waits =
            Waits { until: keeps.until, in_line: keeps.array.is_some(), ..Waits::default() };
        for need in &keeps.needs {
            let list = match need.when {
                Condition::After => &mut waits.begins,
                Condition::Ok | Condition::NotOk | Condition::Any => &mut waits.ends,
            };
            match self.jobs.arrays.get(&need.job) {
                // Whoever follows an array follows all of its tasks.
                Some(_) => {
                    let tasks = self.jobs.all_live().filter(|other| other.head == need.job);
                    list.extend(tasks.map(Job::number));
                }
                None => list.push(JobId(need.job)),
            }
        }
        Some(waits)
    }
}

/// A key of a job's user, name and size.
fn alike(user: &str, submission: &Submission) -> u64 {
    let gpus = submission.gpus.count.to_le_bytes();
    key(&[user.as_bytes(), submission.name.as_bytes(), &gpus])
}

/// A number that stands for some texts: the same on every machine.
fn key(parts: &[&[u8]]) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for part in parts {
        for byte in part.iter().chain(&[0xff]) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash
}
