//! A job as the control plane keeps it: what was handed in, what keeps it from starting, its
//! stretches on GPUs, what it said of itself and how it ended.

use heeler_api::{Condition, Dependency, JobState, Submission};
use heeler_backend::{Identity, Resume, Way};
use heeler_model::{Assignment, Generation, JobId, Reason, Span, TenantId, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Stretches that are remembered of one job.
pub(crate) const PAST_MAX: usize = 64;

/// Why a job's processes are ended for good, or for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Leaving {
    /// It was taken back.
    Cancelled,
    /// It ran into its time limit.
    Timeout,
    /// The recipe declared it over.
    Stopped,
    /// It starts from the beginning when it is its turn.
    Requeued,
}

/// What a world was told last about a stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Told {
    /// To start it.
    Start,
    /// To clear its GPUs.
    Stop,
    /// To end it.
    End,
}

/// A stretch on GPUs that has not ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Attempt {
    pub(crate) generation: Generation,
    pub(crate) assignment: Assignment,
    /// Since when it has its GPUs.
    pub(crate) since: Time,
    /// Since when its processes run.
    pub(crate) started: Option<Time>,
    /// When it was told to stop or end.
    pub(crate) leaves: Option<Time>,
    pub(crate) told: Told,
    pub(crate) resume: Resume,
    /// How often its processes were started before.
    pub(crate) restarts: u32,
    /// When its processes ended, if nobody was told then.
    #[serde(default)]
    pub(crate) gone: Option<Time>,
}

impl Attempt {
    /// When it held its GPUs last, as seen at a time after its end.
    pub(crate) fn until(&self, now: Time) -> Time {
        self.gone.map_or(now, |gone| gone.min(now))
    }
}

/// A stretch on GPUs that has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Past {
    pub(crate) generation: Generation,
    pub(crate) assignment: Assignment,
    pub(crate) since: Time,
    pub(crate) until: Time,
    pub(crate) started: Option<Time>,
    pub(crate) leaves: Option<Time>,
    /// How it ended, in a word.
    pub(crate) end: String,
    /// GPU time lost with it, thousandths of a GPU × milliseconds.
    pub(crate) lost: u64,
}

/// What keeps a job from starting.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Keeps {
    /// Somebody holds it.
    pub(crate) held: bool,
    /// Somebody suspended it.
    pub(crate) suspended: bool,
    /// It may not start before then.
    pub(crate) until: Option<Time>,
    /// Jobs it waits for.
    pub(crate) needs: Vec<Dependency>,
    /// A job it waited for in vain.
    pub(crate) never: Option<u32>,
    /// As many tasks of its array as may are ahead of it: how many that is.
    pub(crate) array: Option<u32>,
    /// What the engine was told.
    pub(crate) told: Option<Reason>,
}

impl Keeps {
    /// What to tell the engine: the reason that is hardest to get rid of.
    pub(crate) fn reason(&self) -> Option<Reason> {
        if let Some(job) = self.never {
            return Some(Reason::NeededJobFailed { job: JobId(job) });
        }
        if self.suspended {
            return Some(Reason::Suspended);
        }
        if self.held {
            return Some(Reason::HeldBack);
        }
        if let Some(first) = self.needs.first() {
            let jobs = self.needs.len() as u32;
            return Some(Reason::AfterJobs { jobs, first: JobId(first.job) });
        }
        if let Some(until) = self.until {
            return Some(Reason::NotBefore { until });
        }
        self.array.map(|most| Reason::ArrayFull { most })
    }
}

/// What a job said of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Heard {
    /// The stretch that spoke last, and its count.
    pub(crate) seq: Option<(Generation, u64)>,
    pub(crate) step: u64,
    pub(crate) total_steps: Option<u64>,
    pub(crate) loss: Option<f64>,
    pub(crate) saved_step: Option<u64>,
    /// Steps a second lately.
    pub(crate) rate: Option<f64>,
    /// When the latest report came, and the step it was of.
    pub(crate) at: Option<(Time, u64)>,
    /// The best rate seen alone, by number of GPUs.
    pub(crate) best: BTreeMap<u32, f64>,
    /// The part of its best pace that the engine was told.
    pub(crate) part: Option<f64>,
    /// Whether it saves itself when asked.
    pub(crate) saves: bool,
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Over {
    pub(crate) state: JobState,
    pub(crate) at: Time,
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) message: Option<String>,
}

/// Something that happens to a job at a time to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Alarm {
    /// It may start.
    Begin,
    /// It is sent its early signal.
    Early,
    /// Its time is up.
    Limit,
}

/// A job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) id: u32,
    /// The first task of its array, or itself.
    pub(crate) head: u32,
    /// Its number in its array.
    pub(crate) task: Option<u32>,
    pub(crate) user: String,
    pub(crate) identity: Option<Identity>,
    /// Whose it is. The engine may count it elsewhere if it is best effort.
    pub(crate) tenant: TenantId,
    /// Shared by the tasks of an array, so it is saved apart.
    #[serde(skip)]
    pub(crate) submission: Arc<Submission>,
    pub(crate) submitted: Time,
    pub(crate) priority: i32,
    pub(crate) time_limit_s: Option<u64>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) keeps: Keeps,
    pub(crate) attempt: Option<Attempt>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) past: Vec<Past>,
    /// The latest assignment it had.
    pub(crate) generation: Generation,
    /// How it last stopped, if it can go on from there.
    pub(crate) rests: Option<Way>,
    pub(crate) leaving: Option<Leaving>,
    pub(crate) over: Option<Over>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) alarms: Vec<(Time, Alarm)>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) heard: Heard,
    /// How often its processes were started.
    pub(crate) starts: u32,
    /// How often it was started again after failing or being lost.
    pub(crate) restarts: u32,
    pub(crate) failures: u32,
    pub(crate) preemptions: u32,
    pub(crate) first_started: Option<Time>,
    /// Time its processes have run since they last began from the beginning.
    pub(crate) ran: Span,
    /// Time it has had GPUs.
    pub(crate) had: Span,
    /// GPU time it has had, thousandths of a GPU × milliseconds.
    pub(crate) gpu_time: u64,
    /// The part of it that was lost.
    pub(crate) lost: u64,
    /// The part of it that is of use as long as the job need not begin from the beginning.
    pub(crate) kept: u64,
}

impl Job {
    /// A job that was just handed in, of nobody yet.
    pub(crate) fn new(id: u32, head: u32, submission: Arc<Submission>, submitted: Time) -> Job {
        Job {
            id,
            head,
            task: None,
            user: String::new(),
            identity: None,
            tenant: TenantId(0),
            submitted,
            priority: submission.priority,
            time_limit_s: submission.time_limit_s,
            submission,
            keeps: Keeps::default(),
            attempt: None,
            past: Vec::new(),
            generation: Generation(0),
            rests: None,
            leaving: None,
            over: None,
            alarms: Vec::new(),
            heard: Heard::default(),
            starts: 0,
            restarts: 0,
            failures: 0,
            preemptions: 0,
            first_started: None,
            ran: Span::ZERO,
            had: Span::ZERO,
            gpu_time: 0,
            lost: 0,
            kept: 0,
        }
    }

    /// What it is doing.
    pub(crate) fn state(&self) -> JobState {
        if let Some(over) = &self.over {
            return over.state;
        }
        match &self.attempt {
            Some(attempt) if attempt.told > Told::Start => JobState::Stopping,
            Some(attempt) if attempt.started.is_some() => JobState::Running,
            Some(_) => JobState::Starting,
            None if self.keeps.suspended => JobState::Suspended,
            None if self.keeps.held => JobState::Held,
            None => JobState::Pending,
        }
    }

    /// The number as the engine and the world know it.
    pub(crate) fn number(&self) -> JobId {
        JobId(self.id)
    }

    /// Whether it has a stretch of this number.
    pub(crate) fn is_at(&self, generation: Generation) -> bool {
        self.attempt.as_ref().is_some_and(|attempt| attempt.generation == generation)
    }

    /// Whether its processes stand still somewhere.
    pub(crate) fn sleeps(&self) -> bool {
        matches!(self.rests, Some(Way::Checkpointed | Way::Frozen))
    }

    /// What it goes on from.
    pub(crate) fn resume(&self) -> Resume {
        match self.rests {
            Some(Way::Checkpointed | Way::Frozen) => Resume::Processes,
            Some(Way::Saved) => Resume::Saved,
            Some(Way::Requeued) | None => Resume::No,
        }
    }

    /// Whether it may begin again without having been asked to retry.
    pub(crate) fn comes_back(&self) -> bool {
        self.submission.requeue || self.saves()
    }

    /// Whether it can go on from what it saved itself.
    pub(crate) fn saves(&self) -> bool {
        let asked = self.submission.pause == heeler_api::Pause::Save;
        self.heard.saves && (asked || self.heard.saved_step.is_some())
    }

    /// Bytes it takes, roughly.
    pub(crate) fn weight(&self) -> usize {
        if self.task.is_some() && self.id != self.head {
            return 256;
        }
        256 + weight(&self.submission)
    }
}

/// Whether nothing was ever noted, which is then not saved.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Bytes that a submission takes, roughly.
pub(crate) fn weight(submission: &Submission) -> usize {
    let words: usize = submission.command.iter().map(String::len).sum();
    let env: usize = submission.env.iter().map(|(key, value)| key.len() + value.len()).sum();
    let script = submission.script.as_ref().map_or(0, String::len);
    let tasks = submission.array.as_ref().map_or(0, |array| array.indices.len() * 4);
    words + env + script + tasks + submission.dir.len()
}

/// Whether a job that is waited for is as it should be: yes, no and never, or not yet.
pub(crate) fn met(when: Condition, begun: bool, over: Option<JobState>) -> Option<bool> {
    match (when, over) {
        (Condition::After, _) if begun || over.is_some() => Some(true),
        (Condition::After, _) | (_, None) => None,
        (Condition::Any, Some(_)) => Some(true),
        (Condition::Ok, Some(state)) => Some(is_good(state)),
        (Condition::NotOk, Some(state)) => Some(!is_good(state)),
    }
}

/// Whether a job ended well. One that its recipe declared over has done all that was wanted.
fn is_good(state: JobState) -> bool {
    matches!(state, JobState::Completed | JobState::Stopped)
}
