//! Workloads: jobs in the order of their submission, from files or generators.

mod error;
mod generate;
mod names;
mod python_random;
mod read;
mod table;

pub use error::TraceError;
pub use generate::{Generator, GeneratorOptions, OptionError, Shape, Stream, UnknownShape};
pub use names::Names;
pub use python_random::PythonRandom;
pub use read::{Format, Options, Trace, read};
pub use table::{Header, Row, Table, open};

use heeler_model::{JobSpec, Span, Time};
use std::sync::Arc;

/// A job of a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceJob {
    /// What the trace calls it; jobs without a name are called by their number.
    pub name: Option<Box<str>>,
    /// When it is submitted.
    pub submit: Time,
    /// What it asks for, with the truth.
    pub spec: JobSpec,
    /// Its own cost of starting, where the trace knows it.
    pub start_cost: Option<Span>,
}

/// Jobs as they come. Forks go on independently.
pub trait Arrivals: Send {
    /// The next job; submission times never fall.
    fn next_job(&mut self) -> Option<TraceJob>;

    /// How many jobs are still to come, if that is known.
    fn remaining(&self) -> Option<usize>;

    /// A copy that goes on by itself.
    fn fork(&self) -> Box<dyn Arrivals>;
}

/// A workload that is all in memory.
#[derive(Clone, Debug, Default)]
pub struct Workload {
    jobs: Arc<Vec<TraceJob>>,
    next: usize,
}

impl Workload {
    /// Jobs in any order; they are sorted by submission, equal times stay as they are.
    pub fn new(mut jobs: Vec<TraceJob>) -> Workload {
        jobs.sort_by_key(|job| job.submit);
        Workload { jobs: Arc::new(jobs), next: 0 }
    }

    /// All its jobs.
    pub fn jobs(&self) -> &[TraceJob] {
        &self.jobs
    }
}

impl Arrivals for Workload {
    fn next_job(&mut self) -> Option<TraceJob> {
        let job = self.jobs.get(self.next).cloned();
        self.next += 1;
        job
    }

    fn remaining(&self) -> Option<usize> {
        Some(self.jobs.len().saturating_sub(self.next))
    }

    fn fork(&self) -> Box<dyn Arrivals> {
        Box::new(self.clone())
    }
}
