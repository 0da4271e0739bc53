//! The closed list of what can happen. Simulator and server stamp these and feed the engine.

use crate::ids::{Generation, JobId, KindId, NodeId, ServiceId, TenantId};
use crate::job::JobSpec;
use crate::reason::Reason;
use crate::report::{Load, Report};
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// How an attempt of a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exit {
    /// All its work is done.
    Finished,
    /// It stopped as told and kept so much of its work.
    Saved {
        /// Units of work that are safe.
        done: f64,
    },
    /// A node went away under it; it goes back to the queue with what it had saved.
    Lost {
        /// Units of work that are safe.
        done: f64,
    },
    /// It ended with an error of its own and does not come back.
    Failed,
}

/// Something that happened, to be stamped with the time it was noticed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// A job was handed in.
    Submitted {
        /// Its number; the loop counts up.
        job: JobId,
        /// What it asks for.
        spec: Box<JobSpec>,
    },
    /// Its owner took a job back.
    Cancelled {
        /// The job.
        job: JobId,
    },
    /// Somebody keeps a job from running: a waiting one leaves the queue, a running one stops.
    Held {
        /// The job.
        job: JobId,
        /// Why, which is what it is told until it is released.
        reason: Reason,
    },
    /// A job that was held may run again.
    Released {
        /// The job.
        job: JobId,
    },
    /// A job has another priority.
    Priority {
        /// The job.
        job: JobId,
        /// The new one.
        priority: i32,
    },
    /// What the world knows of a running job: from `from` on it adds `pace` units a microsecond
    /// to `done`. Sent only where it differs from what the engine assumes.
    Progress {
        /// The job.
        job: JobId,
        /// The assignment this was seen under.
        generation: Generation,
        /// Work done by `from`.
        done: f64,
        /// When work goes on; later than now while a job is still starting.
        from: Time,
        /// Units of work per microsecond.
        pace: f64,
    },
    /// A running job says something of itself.
    Reported {
        /// The job.
        job: JobId,
        /// The assignment this was seen under.
        generation: Generation,
        /// What it says.
        report: Report,
    },
    /// An attempt ended; its GPUs are free.
    Stopped {
        /// The job.
        job: JobId,
        /// The assignment that ended.
        generation: Generation,
        /// How.
        exit: Exit,
    },
    /// Service of a job as the world books it, for recipes that settle up after each round.
    Ran {
        /// The job.
        job: JobId,
        /// On which kind of GPU.
        kind: KindId,
        /// For how many seconds on the world's own clock.
        seconds: f64,
    },
    /// A service says how busy it is.
    Load {
        /// The service.
        service: ServiceId,
        /// How busy.
        load: Load,
    },
    /// A node broke or was taken away. The world says of each job on it how that ended.
    NodeDown {
        /// The node.
        node: NodeId,
    },
    /// A node is there again.
    NodeUp {
        /// The node.
        node: NodeId,
    },
    /// A tenant's quota and limit were changed.
    Quota {
        /// The tenant.
        tenant: TenantId,
        /// GPUs it can always get back.
        quota: Option<u32>,
        /// GPUs it can never go beyond.
        limit: Option<u32>,
    },
    /// A round is over, in a world that runs the rounds itself.
    RoundOver {
        /// The world's own clock, seconds.
        clock: f64,
        /// The kinds of GPU in the order it offers them.
        offer: Vec<KindId>,
        /// Whether nobody ran in it and nobody is to come, so that waiting changes nothing.
        stalled: bool,
    },
    /// A time the engine asked to be woken at.
    Tick,
}
