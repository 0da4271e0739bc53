//! A trace in memory: its jobs, what they train, and what its reader could not keep.

use super::names::Names;
use super::read::Format;
use super::tally::Tally;
use super::{TraceJob, Workload};

/// A trace in memory.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The format it was read from, if it was.
    pub format: Option<Format>,
    /// Its jobs.
    pub workload: Workload,
    /// The models they train, by `ModelId`.
    pub models: Names,
    /// Who handed them in, by `UserId`; the first is nobody.
    pub users: Names,
    /// What the trace calls time zero, where it has dates.
    pub origin: Option<String>,
    /// Rows that are no job here, by reason.
    pub skipped: Tally,
    /// What was assumed of jobs, or left out of them, by what it was.
    pub assumed: Tally,
}

impl Trace {
    /// All its jobs, in the order of submission.
    pub fn jobs(&self) -> &[TraceJob] {
        self.workload.jobs()
    }
}
