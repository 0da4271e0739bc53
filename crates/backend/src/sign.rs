//! What a world says of what happened.

use heeler_model::{Generation, JobId, NodeId};
use serde::{Deserialize, Serialize};

/// How a job was suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// It saved itself and ended.
    Saved,
    /// The driver moved its memory off the GPU; its processes stand still.
    Checkpointed,
    /// Its processes stand still with their memory on the GPU.
    Frozen,
    /// It was ended and starts from the beginning.
    Requeued,
}

/// How processes ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// With a code; of several, the first that is not zero.
    Exited {
        /// The code.
        code: i32,
    },
    /// By a signal.
    Killed {
        /// Its number.
        signal: i32,
        /// Whether for want of memory.
        out_of_memory: bool,
    },
    /// They could not be started.
    NotStarted {
        /// Why.
        message: String,
    },
    /// Nobody can say: the machine or the node went away under them.
    Lost,
}

/// What a running job says of itself, as its own text; the control plane reads it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Said {
    /// A report in JSON.
    pub report: serde_json::Value,
}

/// Something that happened in a world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sign {
    /// A job's processes run.
    Started {
        /// The job.
        job: JobId,
        /// The assignment.
        generation: Generation,
        /// Milliseconds from the order until they did.
        took_ms: u64,
        /// Whether they went on where they had stopped.
        resumed: bool,
    },
    /// A job was cleared off its GPUs, and can go on later.
    Stopped {
        /// The job.
        job: JobId,
        /// The assignment that ended.
        generation: Generation,
        /// How.
        way: Way,
        /// Milliseconds from the order until its GPUs were free.
        took_ms: u64,
    },
    /// A job's processes are gone.
    Ended {
        /// The job.
        job: JobId,
        /// The assignment that ended.
        generation: Generation,
        /// How.
        ending: Ending,
        /// Milliseconds since then; not zero if nobody was there to be told.
        #[serde(default)]
        ago_ms: u64,
    },
    /// A suspended job's processes are gone, though nobody ended them.
    Perished {
        /// The job.
        job: JobId,
    },
    /// A running job says something of itself.
    Reported {
        /// The job.
        job: JobId,
        /// The assignment.
        generation: Generation,
        /// What.
        said: Said,
    },
    /// A node is not usable any more.
    NodeDown {
        /// The node.
        node: NodeId,
        /// Why.
        message: String,
    },
    /// A node is usable again.
    NodeUp {
        /// The node.
        node: NodeId,
    },
}
