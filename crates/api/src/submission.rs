//! A job as it is handed in. Commands are lists of words, never lines for a shell.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A job as it is handed in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Submission {
    /// What people call it; up to 128 letters, digits and `-_.+:@`.
    pub name: String,
    /// Whose quota it uses; the submitter's first tenant, if nobody is named.
    pub tenant: Option<String>,
    /// The program and its arguments. With a script, the script's arguments.
    pub command: Vec<String>,
    /// A whole script, run by the interpreter its first line names.
    pub script: Option<String>,
    /// The folder it runs in.
    pub dir: String,
    /// Variables beside those that Heeler sets.
    pub env: BTreeMap<String, String>,
    /// GPUs it asks for.
    pub gpus: Gpus,
    /// How many processes are started, and where.
    pub ranks: Ranks,
    /// Nodes its GPUs must be spread over evenly; one or as few as possible, if not said.
    pub nodes: Option<u32>,
    /// CPU cores in thousandths beside each GPU (or in all, without GPUs).
    pub cpu_milli: u32,
    /// Host memory beside each GPU (or in all, without GPUs), MB.
    pub memory_mb: u32,
    /// Seconds it may run; it is then stopped.
    pub time_limit_s: Option<u64>,
    /// Seconds its owner thinks it runs; the time limit, if not said.
    pub expected_s: Option<u64>,
    /// Larger runs first where a recipe looks at it.
    pub priority: i32,
    /// Whether others may be preferred to it at any time.
    pub class: Class,
    /// Run it several times with different numbers.
    pub array: Option<Array>,
    /// Jobs it waits for.
    pub after: Vec<Dependency>,
    /// Not before so many seconds since 1970.
    pub begin: Option<u64>,
    /// Finish by then, seconds since 1970.
    pub deadline: Option<u64>,
    /// Whether it may be started again from the beginning after it was stopped or lost.
    pub requeue: bool,
    /// How often it is started again after it failed.
    pub retries: u32,
    /// Seconds before the first of those; each next one waits twice as long.
    pub backoff_s: u64,
    /// A signal it gets before it is stopped.
    pub early: Option<Early>,
    /// Seconds between being asked to stop and being killed.
    pub grace_s: u64,
    /// How it may be suspended.
    pub pause: Pause,
    /// Where its output goes, with `%j`, `%a`, `%A`, `%x`; Heeler's own folder, if not said.
    pub output: Option<String>,
    /// Where its standard error goes, with the same; with its output, if not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Hand it in without letting it start.
    pub hold: bool,
    /// Whether it talks to a terminal.
    pub terminal: bool,
    /// What it trains; the key of measured tables, and what predictions go by.
    pub model: Option<String>,
    /// How long its epochs take, if it changes its batch on the way; it reports which regime it is
    /// in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regimes: Option<Regimes>,
    /// How fast it is with CPUs and memory beside each GPU, for recipes that decide on those; first
    /// the least with which it is fastest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub appetite: Vec<Fed>,
    /// A key under which repeated hand-ins of one job are one job, for clients that retry.
    pub once: Option<String>,
}

/// GPUs that a job asks for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Gpus {
    /// How many.
    pub count: u32,
    /// The fewest it can run on; as many as asked for, if not said.
    pub min: Option<u32>,
    /// The most it can use; as many as asked for, if not said.
    pub max: Option<u32>,
    /// Kinds that will do; all, if none is named.
    pub kinds: Vec<String>,
    /// Thousandths of each GPU; 1000, if not said.
    pub share: Option<u32>,
    /// Memory on each GPU, MB.
    pub memory_mb: u32,
}

/// How fast a job is with so much beside each GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Fed {
    /// CPU cores in thousandths.
    pub cpu_milli: u32,
    /// Host memory, MB.
    pub memory_mb: u32,
    /// How many times as fast as it is expected to be.
    pub pace: f64,
}

/// The epochs of a job that changes its batch on the way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Regimes {
    /// Epochs in all.
    pub epochs: u32,
    /// Seconds of an epoch in each regime, on the GPUs it asks for.
    pub epoch_s: Vec<f64>,
}

/// How many processes are started.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, PartialOrd, Ord,
)]
#[serde(rename_all = "kebab-case")]
pub enum Ranks {
    /// One, which sees all GPUs (and may start others itself, as `torchrun` does).
    #[default]
    One,
    /// One on each node.
    PerNode,
    /// One for each GPU.
    PerGpu,
}

/// Whether others may be preferred to a job at any time.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, PartialOrd, Ord,
)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// It counts against its tenant's quota.
    #[default]
    Guaranteed,
    /// It takes what is left over and gives way to everybody.
    BestEffort,
}

/// Tasks of an array.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Array {
    /// Their numbers, in order, each once.
    pub indices: Vec<u32>,
    /// How many may run at once.
    #[serde(default)]
    pub most: Option<u32>,
}

/// When a job that is waited for is as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// It has begun.
    After,
    /// It has ended well.
    Ok,
    /// It has ended badly.
    NotOk,
    /// It has ended.
    Any,
}

/// A job that another waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Dependency {
    /// What must have happened.
    pub when: Condition,
    /// To which job.
    pub job: u32,
}

/// A signal before the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Early {
    /// Its name, such as `TERM` or `USR1`.
    pub signal: String,
    /// So many seconds before the time limit.
    pub before_s: u64,
}

/// How a job may be suspended: a ladder from best to worst, or one rung of it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, PartialOrd, Ord,
)]
#[serde(rename_all = "kebab-case")]
pub enum Pause {
    /// The best that works: save, checkpoint, freeze (where memory allows), requeue.
    #[default]
    Auto,
    /// It saves itself when asked, and ends.
    Save,
    /// The driver moves its memory off the GPU; the process stays.
    Checkpoint,
    /// It stands still with its memory on the GPU.
    Freeze,
    /// It is ended and starts from the beginning.
    Requeue,
    /// It may not be suspended.
    Never,
}

/// What became of a submission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Submitted {
    /// The job's number; the first task's, if it is an array.
    pub job: u32,
    /// How many tasks it has; one, if it is no array.
    pub tasks: u32,
    /// Whether it had been handed in before under the same `once`.
    pub again: bool,
    /// What whoever hands it in should know, such as that it can never start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}
