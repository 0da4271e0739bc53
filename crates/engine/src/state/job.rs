//! A job that is not done yet, as the engine knows it.

use heeler_model::{Assignment, Generation, JobId, JobSpec, Promise, Reason, Span, Tier, Time};
use serde::{Deserialize, Serialize};

/// Jobs with equal demands (of one tenant, if that matters) are one class.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct DemandId(pub u32);

/// What a job is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// It may not be considered: jobs it follows are not done, or it can never run.
    Blocked,
    /// It is in the queue.
    Waiting,
    /// It is promised GPUs that are still being cleared.
    Held,
    /// It has its GPUs.
    Running,
    /// It was told to save and stop.
    Stopping,
}

/// Work done, and the pace at which more is being done.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Units done by `from`.
    pub done: f64,
    /// When `pace` begins to count.
    pub from: Time,
    /// Units per microsecond; zero while it does not run.
    pub pace: f64,
}

impl Progress {
    /// Units done by a time.
    pub fn done_at(&self, at: Time) -> f64 {
        self.done + self.pace * at.since(self.from).micros() as f64
    }
}

/// How a job that changes its batch on the way counts and runs now, compared with how it was
/// submitted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tempo {
    /// Units of work per second.
    pub pace: f64,
    /// Units of all its work.
    pub work: f64,
}

impl Default for Tempo {
    fn default() -> Tempo {
        Tempo { pace: 1.0, work: 1.0 }
    }
}

/// Why a job that was told to stop does not come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Leaving {
    /// Its owner took it back.
    Withdrawn,
    /// The policy declared it over.
    Over,
}

/// A reason a job was given, and for how long it has stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Noted {
    /// The latest reason.
    pub reason: Reason,
    /// Since when the reason has been of this name.
    pub since: Time,
    /// In how many decisions.
    pub times: u32,
}

/// A job that was submitted and is not done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Its number.
    pub id: JobId,
    /// What was submitted.
    pub spec: JobSpec,
    /// When.
    pub submitted: Time,
    /// Its demand's class.
    pub demand: DemandId,
    /// What it is doing.
    pub phase: Phase,
    /// Since when.
    pub since: Time,
    /// What it has or is promised.
    pub assignment: Option<Assignment>,
    /// Until when it may not be disturbed.
    pub lease: Option<Time>,
    /// Counts its assignments.
    pub generation: Generation,
    /// Its work.
    pub progress: Progress,
    /// How it counts and runs since it last changed its batch.
    #[serde(default)]
    pub tempo: Tempo,
    /// Time it has had GPUs, up to `since` if it runs.
    pub attained: Span,
    /// GPU time it has had in thousandths of a GPU × microseconds, up to `since` if it runs.
    pub attained_milli: u64,
    /// When it first got GPUs.
    pub started: Option<Time>,
    /// How often it was stopped for another job.
    pub preemptions: u32,
    /// Why it does not come back once it has stopped.
    pub leaving: Option<Leaving>,
    /// Why somebody keeps it from running, if somebody does.
    #[serde(default)]
    pub held: Option<Reason>,
    /// Jobs it follows that are not done.
    pub after: u32,
    /// The latest reason it was given.
    pub noted: Option<Noted>,
    /// When, in its latest wait in which it was, it was first refused only because the GPUs that
    /// were free were not near enough together.
    #[serde(default)]
    pub scattered: Option<Time>,
    /// What it was told of its deadline.
    #[serde(default)]
    pub promise: Option<Promise>,
}

impl Job {
    pub(crate) fn new(id: JobId, spec: JobSpec, submitted: Time, demand: DemandId) -> Job {
        Job {
            id,
            submitted,
            demand,
            phase: Phase::Waiting,
            since: submitted,
            assignment: None,
            lease: None,
            generation: Generation(0),
            progress: Progress { done: 0.0, from: submitted, pace: 0.0 },
            tempo: Tempo::default(),
            attained: Span::ZERO,
            attained_milli: 0,
            started: None,
            preemptions: 0,
            leaving: None,
            held: None,
            after: 0,
            noted: None,
            scattered: None,
            promise: None,
            spec,
        }
    }

    /// Whether it has GPUs and works.
    pub fn is_running(&self) -> bool {
        self.phase == Phase::Running
    }

    /// Whether it has GPUs or is promised some.
    pub fn is_placed(&self) -> bool {
        self.assignment.is_some()
    }

    /// Whether it will never run as asked.
    pub fn never_runs(&self) -> bool {
        self.noted.is_some_and(|noted| noted.reason.tier() == Tier::Never)
    }

    /// Whether it may not be disturbed now.
    pub fn is_leased(&self, now: Time) -> bool {
        self.lease.is_some_and(|until| until > now)
    }

    /// GPUs it has, or those it asks for.
    pub fn gpus(&self) -> u32 {
        self.assignment.as_ref().map_or(self.spec.demand.asked(), Assignment::gpus)
    }

    /// Thousandths of a GPU it has, or those it asks for.
    pub fn milli(&self) -> u64 {
        match &self.assignment {
            Some(assignment) => assignment.milli(),
            None => u64::from(self.spec.demand.asked()) * u64::from(self.spec.demand.share.0),
        }
    }

    /// Time it has had GPUs by now.
    pub fn attained_at(&self, now: Time) -> Span {
        if self.is_running() { self.attained + now.since(self.since) } else { self.attained }
    }

    /// GPU time it has had by now, thousandths of a GPU × microseconds.
    pub fn attained_milli_at(&self, now: Time) -> u64 {
        match self.is_running() {
            true => {
                let since = self.milli().saturating_mul(now.since(self.since).micros());
                self.attained_milli.saturating_add(since)
            }
            false => self.attained_milli,
        }
    }

    /// Since when, in this wait, enough GPUs have been free for it at times, though not near enough
    /// together.
    pub fn scattered_since(&self) -> Option<Time> {
        self.scattered.filter(|at| *at >= self.since)
    }

    /// Book the time since the last change and stand still.
    pub(crate) fn settle(&mut self, now: Time, assignment: &Assignment) {
        self.book(now, assignment.milli());
        self.progress.done = self.progress.done_at(now);
        self.progress.from = now;
        self.progress.pace = 0.0;
    }

    /// Book the time since the last change, with so many thousandths of GPUs.
    pub(super) fn book(&mut self, now: Time, milli: u64) {
        let span = now.since(self.since);
        self.attained += span;
        let served = milli.saturating_mul(span.micros());
        self.attained_milli = self.attained_milli.saturating_add(served);
    }

    pub(crate) fn note(&mut self, reason: Reason, now: Time) {
        match &mut self.noted {
            Some(noted) if noted.reason.name() == reason.name() => {
                noted.reason = reason;
                noted.times += 1;
            }
            _ => self.noted = Some(Noted { reason, since: now, times: 1 }),
        }
    }

    /// Remember when, in this wait, it was first refused only because what is free is scattered.
    /// Says whether that is now.
    pub(crate) fn scatter(&mut self, reason: Reason, now: Time) -> bool {
        let first = matches!(reason, Reason::Fragmented { .. }) && self.scattered_since().is_none();
        self.scattered = if first { Some(now) } else { self.scattered };
        first
    }
}
