//! A plan says what should run where, and why the rest waits. Actions are the difference between
//! a plan and what runs.

use crate::ids::{Generation, JobId};
use crate::placement::{Assignment, Placement};
use crate::reason::Reason;
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// Whether a plan names everything that should run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Jobs it does not name stay as they are, so that a plan costs what it changes.
    #[default]
    Changes,
    /// Jobs it does not name do not run.
    Whole,
}

/// A job that should run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The job.
    pub job: JobId,
    /// On what.
    pub assignment: Assignment,
    /// Until when it may not be disturbed.
    pub lease: Option<Time>,
}

/// A running job that should stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    /// The job.
    pub job: JobId,
    /// Why; names who benefits.
    pub reason: Reason,
}

/// A job that waits, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// The job.
    pub job: JobId,
    /// Why.
    pub reason: Reason,
}

/// GPUs promised to a job for some time to come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reservation {
    /// For whom.
    pub job: JobId,
    /// From when.
    pub from: Time,
    /// Until when, as far as one can tell.
    pub until: Time,
    /// Which GPUs.
    pub placement: Placement,
}

/// What a job with a deadline is told: by when it will have ended, or could have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promise {
    /// To whom.
    pub job: JobId,
    /// The last deadline it asked for.
    pub asked: Time,
    /// Renegotiated, where later than asked for; unknown where nobody can say how long it runs.
    pub offered: Option<Time>,
    /// Whether it is promised; otherwise it takes what is left over.
    pub admitted: bool,
}

impl Promise {
    /// What it is promised to end by.
    pub fn by(&self) -> Option<Time> {
        self.offered.filter(|_| self.admitted)
    }
}

/// The wanted state of the cluster. It leaves whoever carries it out no choice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Whether jobs it does not name stay as they are.
    pub scope: Scope,
    /// Jobs that should run: new ones, and running ones whose assignment changes.
    pub run: Vec<Run>,
    /// Running jobs that should stop.
    pub stop: Vec<Stop>,
    /// Jobs that are over, whether they run or wait: they do not come back, and those who follow
    /// them may go on.
    #[serde(default)]
    pub end: Vec<Stop>,
    /// Verdicts on the waiting jobs that were looked at, in the order they were.
    pub wait: Vec<Wait>,
    /// GPUs promised to jobs that wait. They replace those of the last plan.
    pub reserve: Vec<Reservation>,
    /// Answers to jobs with deadlines: new ones, and those that have changed.
    pub promise: Vec<Promise>,
}

impl Plan {
    /// A plan that changes nothing.
    pub const fn none() -> Plan {
        Plan {
            scope: Scope::Changes,
            run: Vec::new(),
            stop: Vec::new(),
            end: Vec::new(),
            wait: Vec::new(),
            reserve: Vec::new(),
            promise: Vec::new(),
        }
    }

    /// Let a job run.
    pub fn start(&mut self, job: JobId, assignment: Assignment) {
        self.run.push(Run { job, assignment, lease: None });
    }
}

/// What a difference between plan and reality is called, and what its cost is named after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transition {
    /// Its first start.
    Start,
    /// It goes on after it was stopped.
    Resume,
    /// Other GPUs, the same number.
    Move,
    /// More GPUs, or a larger share of them.
    Grow,
    /// Fewer GPUs, or a smaller share of them.
    Shrink,
}

/// Something for the world to do. It is refused if the generation is an older one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Start a job on these GPUs, which are free now.
    Start {
        /// The job.
        job: JobId,
        /// The assignment's number.
        generation: Generation,
        /// The GPUs.
        assignment: Assignment,
        /// What this is called.
        transition: Transition,
    },
    /// Save and stop a job; answer with `Event::Stopped`.
    Stop {
        /// The job.
        job: JobId,
        /// The assignment to end.
        generation: Generation,
        /// Why.
        reason: Reason,
    },
    /// A job does not come back. If it still runs, a stop came first.
    End {
        /// The job.
        job: JobId,
        /// Why.
        reason: Reason,
    },
}
