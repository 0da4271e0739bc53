//! Jobs, nodes and the server as they are shown.

use crate::answer::ReasonView;
use crate::submission::{Class, Pause, Submission};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// What a job is doing.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    ToSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum JobState {
    /// It waits its turn.
    #[default]
    Pending,
    /// Its owner, or somebody with the right to, keeps it from starting.
    Held,
    /// It has its GPUs, and its processes are being started.
    Starting,
    /// It runs.
    Running,
    /// It was told to stop and is being saved.
    Stopping,
    /// It was suspended by somebody and waits to be resumed.
    Suspended,
    /// It ended well.
    Completed,
    /// It ended with an error of its own.
    Failed,
    /// It was taken back.
    Cancelled,
    /// It ran into its time limit.
    Timeout,
    /// Its recipe declared it over.
    Stopped,
}

impl JobState {
    /// It as one word.
    pub const fn word(self) -> &'static str {
        match self {
            JobState::Pending => "pending",
            JobState::Held => "held",
            JobState::Starting => "starting",
            JobState::Running => "running",
            JobState::Stopping => "stopping",
            JobState::Suspended => "suspended",
            JobState::Completed => "completed",
            JobState::Failed => "failed",
            JobState::Cancelled => "cancelled",
            JobState::Timeout => "timeout",
            JobState::Stopped => "stopped",
        }
    }

    /// Whether it will not run again.
    pub const fn is_over(self) -> bool {
        matches!(
            self,
            JobState::Completed
                | JobState::Failed
                | JobState::Cancelled
                | JobState::Timeout
                | JobState::Stopped
        )
    }
}

/// One stretch of a job on some GPUs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub struct AttemptView {
    /// Its number.
    pub generation: u32,
    /// Where: `n0[0-3]`.
    pub on: String,
    /// How many GPUs.
    pub gpus: u32,
    /// When it got them, seconds since 1970.
    pub from: f64,
    /// When it gave them back.
    pub until: Option<f64>,
    /// How it ended: `finished`, `saved`, `checkpointed`, `frozen`, `requeued`, `failed`, `lost`,
    /// `cancelled`, `timeout`.
    pub end: Option<String>,
    /// Seconds from being told to stop until its GPUs were free.
    pub stop_s: Option<f64>,
    /// Seconds from having GPUs until it went on.
    pub start_s: Option<f64>,
    /// GPU-seconds of it that were lost.
    pub lost_gpu_s: f64,
}

/// A job as it is shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub struct JobView {
    /// Its number.
    pub id: u32,
    /// The array it is a task of, and its number there.
    pub array: Option<(u32, u32)>,
    /// What people call it.
    pub name: String,
    /// Who handed it in.
    pub user: String,
    /// Whose quota it uses.
    pub tenant: String,
    /// What it is doing.
    pub state: JobState,
    /// Whether others may be preferred to it at any time.
    pub class: Class,
    /// Larger runs first where a recipe looks at it.
    pub priority: i32,
    /// GPUs it asks for.
    pub gpus: u32,
    /// Kinds that will do; all, if none is named.
    pub kinds: Vec<String>,
    /// Where it runs: `n0[0-3]`.
    pub on: Option<String>,
    /// When it was handed in, seconds since 1970.
    pub submitted: f64,
    /// When it first had GPUs.
    pub started: Option<f64>,
    /// When it was over.
    pub ended: Option<f64>,
    /// Seconds it has had GPUs.
    pub ran_s: f64,
    /// Seconds it may run.
    pub time_limit_s: Option<u64>,
    /// How far it says it is, from 0 to 1.
    pub progress: Option<f64>,
    /// Steps it has reported, and steps a second lately.
    pub steps: Option<(u64, f64)>,
    /// Its latest loss.
    pub loss: Option<f64>,
    /// Why it waits, as last noted.
    pub reason: Option<ReasonView>,
    /// Its exit code, once it is over.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub exit_signal: Option<i32>,
    /// What there is to say about its end.
    pub message: Option<String>,
    /// How often it was stopped for others.
    pub preemptions: u32,
    /// How often it was started again after failing or being lost.
    pub restarts: u32,
    /// GPU-seconds that it had.
    pub gpu_s: f64,
    /// Those of them that were lost.
    pub lost_gpu_s: f64,
    /// How it may be suspended.
    pub pause: Pause,
    /// Where its output goes.
    pub output: Option<String>,
    /// Its stretches on GPUs, latest last; only where one job is shown.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub attempts: Vec<AttemptView>,
    /// What was handed in; only where one job is shown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub submission: Option<Submission>,
}

/// A job is doing something else than before: what the event stream carries.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub struct JobEvent {
    /// When, seconds since 1970.
    pub at: f64,
    /// The job.
    pub job: u32,
    /// What people call it.
    pub name: String,
    /// Who handed it in.
    pub user: String,
    /// Whose quota it uses.
    pub tenant: String,
    /// What it does now.
    pub state: JobState,
    /// Where it runs: `n0[0-3]`.
    pub on: Option<String>,
    /// Seconds since it was handed in.
    pub age_s: f64,
    /// Seconds from being handed in until it first had GPUs.
    pub waited_s: Option<f64>,
}

/// A node as it is shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub struct NodeView {
    /// Its name.
    pub name: String,
    /// `up`, `draining`, `drained` or `down`.
    pub state: String,
    /// The kind of its GPUs.
    pub kind: String,
    /// How many GPUs.
    pub gpus: u32,
    /// How many of them are free, thousandths.
    pub free_milli: u32,
    /// CPU cores; zero when unknown.
    pub cpus: f64,
    /// Host memory, MB; zero when unknown.
    pub memory_mb: u64,
    /// GPU memory, MB; zero when unknown.
    pub gpu_memory_mb: u32,
    /// Jobs that run there.
    pub jobs: Vec<u32>,
    /// Whether its GPUs are made up.
    pub emulated: bool,
    /// What each GPU says of itself: use in per cent and memory in MB, where it can be asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<BTreeMap<String, f64>>,
    /// Why it was drained.
    pub note: Option<String>,
}

/// The recipe in charge.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub struct RecipeView {
    /// Its name.
    pub name: String,
    /// Knobs that differ from its card.
    pub knobs: BTreeMap<String, String>,
    /// What it does.
    pub summary: String,
    /// Since when, seconds since 1970.
    pub since: f64,
}

/// A recipe to put in charge.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RecipeChange {
    /// The name of a built-in recipe.
    #[serde(default)]
    pub name: Option<String>,
    /// Or a whole card.
    #[serde(default)]
    pub card: Option<String>,
    /// Knobs to set.
    #[serde(default)]
    pub knobs: BTreeMap<String, String>,
}

/// The server as it is shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub struct ServerView {
    /// Its version.
    pub version: String,
    /// When it was started, seconds since 1970.
    pub started: f64,
    /// The recipe in charge.
    pub recipe: String,
    /// Jobs by state.
    pub jobs: BTreeMap<String, u32>,
    /// GPUs in all.
    pub gpus: u32,
    /// GPUs in use, thousandths.
    pub used_milli: u64,
    /// Records in the journal.
    pub records: u64,
    /// Decisions taken since it was started.
    pub decisions: u64,
    /// A digest of all decisions since the journal began.
    pub digest: String,
    /// What was found wrong when it was started, such as a torn journal.
    pub notes: Vec<String>,
}

/// What a running job says of itself. All but `step` may be left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct RunReport {
    /// Counts reports of one start; older ones are dropped.
    pub seq: u64,
    /// Steps done in all.
    pub step: u64,
    /// Steps until it is done.
    pub total_steps: Option<u64>,
    /// Epochs done.
    pub epoch: Option<f64>,
    /// Examples seen.
    pub samples: Option<u64>,
    /// Its loss.
    pub loss: Option<f64>,
    /// A score that is being optimised, the larger the better.
    pub score: Option<f64>,
    /// Seconds a step takes lately.
    pub step_s: Option<f64>,
    /// Examples of a step on each GPU, and passes to a step.
    pub batch: Option<(u32, u32)>,
    /// Which of the regimes it was handed in with it is in, counted from zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regime: Option<u32>,
    /// Squared norm and variance of its gradient.
    pub gradient: Option<(f64, f64)>,
    /// The step that is safe on disk.
    pub saved_step: Option<u64>,
    /// Seconds its latest save took.
    pub save_s: Option<f64>,
    /// Seconds from its start until it went on.
    pub start_s: Option<f64>,
    /// Whether it saves itself when asked.
    pub saves: bool,
}
