//! What a world is told to do.

use heeler_model::{Assignment, Generation, JobId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Whom processes run as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The user's number.
    pub uid: u32,
    /// The group's number.
    pub gid: u32,
}

/// How many processes are started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ranks {
    /// One, which sees all GPUs.
    #[default]
    One,
    /// One on each node.
    PerNode,
    /// One for each GPU.
    PerGpu,
}

/// How a job goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resume {
    /// From the beginning.
    #[default]
    No,
    /// Its processes are still there, suspended; if they are not, from what it saved.
    Processes,
    /// From what it saved itself.
    Saved,
}

/// Everything a world needs to run a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// The job.
    pub job: JobId,
    /// The number of this assignment.
    pub generation: Generation,
    /// How often its processes were started before.
    pub restarts: u32,
    /// What people call it.
    pub name: String,
    /// Who handed it in.
    pub user: String,
    /// Whose quota it uses.
    pub tenant: String,
    /// Its array and its number there.
    pub array: Option<(u32, u32)>,
    /// The program and its arguments; with a script, the script's arguments.
    pub command: Vec<String>,
    /// A whole script.
    pub script: Option<String>,
    /// The folder it runs in.
    pub dir: String,
    /// Variables beside those that the world sets.
    pub env: BTreeMap<String, String>,
    /// Whom it runs as, where the world may choose.
    pub identity: Option<Identity>,
    /// How many processes.
    pub ranks: Ranks,
    /// Where.
    pub assignment: Assignment,
    /// CPU cores in thousandths beside each GPU (or in all, without GPUs); zero for no limit.
    pub cpu_milli: u32,
    /// Host memory beside each GPU (or in all, without GPUs), MB; zero for no limit.
    pub memory_mb: u32,
    /// Memory on each GPU, MB; zero for no limit.
    pub gpu_memory_mb: u32,
    /// Where its output goes; the world's own folder, if not said.
    pub output: Option<String>,
    /// Where its standard error goes; with its output, if not said. Not written then: digests of
    /// decisions in old journals are of orders without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether it talks to a terminal.
    pub terminal: bool,
    /// How it goes on.
    pub resume: Resume,
    /// How it may be suspended: the ladder's rungs that are allowed, best first.
    pub ways: Vec<crate::Way>,
    /// Seconds between being asked to stop and being killed.
    pub grace_s: u64,
}

/// Something for a world to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Start a job, or go on with it. Answered by `Sign::Started` or `Sign::Ended`.
    Start(Box<Launch>),
    /// Clear a job's GPUs so that it can go on later. Answered by `Sign::Stopped`, or by
    /// `Sign::Ended` if it ended by itself first.
    Stop {
        /// The job.
        job: JobId,
        /// The assignment to end.
        generation: Generation,
    },
    /// End a job for good: ask, wait for its grace, kill. Answered by `Sign::Ended`.
    End {
        /// The job.
        job: JobId,
        /// The assignment to end.
        generation: Generation,
        /// Whether to kill at once.
        now: bool,
    },
    /// Send it a signal.
    Signal {
        /// The job.
        job: JobId,
        /// The assignment.
        generation: Generation,
        /// The signal's number.
        signal: i32,
    },
    /// The job is over: nothing of it may be left, and its folder may go when its logs may.
    Forget {
        /// The job.
        job: JobId,
    },
    /// A node was declared lost: kill what runs there and answer for each job with `Ended`.
    Lose {
        /// The node's number.
        node: heeler_model::NodeId,
    },
}

/// What should be there after a restart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expected {
    /// It should run.
    Runs(Box<Launch>),
    /// It was told to stop, and has not said that it has.
    Stops(Box<Launch>),
    /// It was told to end, and has not said that it has.
    Ends(Box<Launch>),
    /// It is suspended with its processes, and may go on later.
    Sleeps {
        /// The job.
        job: JobId,
        /// The latest assignment it had.
        generation: Generation,
    },
}
