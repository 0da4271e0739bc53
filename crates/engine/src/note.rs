//! What the engine tells its policy, beside asking it for plans.

use heeler_model::{JobId, KindId, Load, Report, ServiceId};

/// Something the engine tells its policy, after the state has been brought up to date.
#[derive(Clone, Debug, PartialEq)]
pub enum Note {
    /// A job is in the queue: new, released by those it follows, or saved after a stop.
    Joined(JobId),
    /// A job was given GPUs, or promised some.
    Placed(JobId),
    /// A job that was promised GPUs has them now.
    Began(JobId),
    /// A job lost its GPUs and is being saved, or lost a promise.
    Paused(JobId),
    /// A job is done, failed or was cancelled, and is about to be forgotten.
    Left(JobId),
    /// What is known of a running job's work has changed.
    Progressed(JobId),
    /// A running job said something of itself.
    Reported {
        /// The job.
        job: JobId,
        /// What it said.
        report: Report,
    },
    /// Service of a job as the world books it.
    Ran {
        /// The job.
        job: JobId,
        /// On which kind of GPU.
        kind: KindId,
        /// For how many seconds on the world's own clock.
        seconds: f64,
    },
    /// A service said how busy it is.
    Load {
        /// The service.
        service: ServiceId,
        /// How busy.
        load: Load,
    },
    /// A job that waits was refused for the first time only because the GPUs that are free are not
    /// near enough together.
    Scattered(JobId),
    /// Nodes came or went, or a quota changed.
    Changed,
    /// The world says that a round is over.
    RoundOver {
        /// The world's own clock, seconds.
        clock: f64,
        /// The kinds of GPU in the order it offers them.
        offer: Vec<KindId>,
        /// Whether nobody ran in it and nobody is to come.
        stalled: bool,
    },
    /// A decision is about to be taken, for all that happened at this moment.
    Deciding,
    /// A decision was taken and carried out.
    Decided,
}
