//! Workloads: jobs in the order of their submission, from files or generators.

mod curve;
mod cut;
mod date;
mod describe;
mod error;
mod generate;
mod names;
mod phases;
mod read;
mod row;
mod table;
mod tally;
mod trace;
mod write;

pub use curve::{Curve, Rising, Trial};
pub use cut::{Cut, CutError, Share, cut};
pub use describe::{Description, Part, Quantiles, describe};
pub use error::{Field, TraceError};
pub use generate::{Generator, GeneratorOptions, OptionError, Shape, Stream, UnknownShape};
pub use names::Names;
pub use phases::{Change, Phases, Stage};
pub use read::{Format, Options, Sample, read};
pub use row::{Header, Row};
pub use table::{Table, find_beside, open};
pub use tally::Tally;
pub use trace::Trace;
pub use write::{WriteError, replace_file, write, write_to};

#[cfg(test)]
pub(crate) use read::testing;

use crate::losses::LossCurve;
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
    /// What it reports, if it is a trial of a study.
    pub trial: Option<Box<Trial>>,
    /// The batches that it goes through, if it changes them on the way.
    pub phases: Option<Box<Phases>>,
    /// How its loss falls, if it reports that.
    pub loss: Option<LossCurve>,
}

impl TraceJob {
    /// A job without a name and without anything of its own.
    pub fn new(submit: Time, spec: JobSpec) -> TraceJob {
        let (start_cost, trial, phases, loss) = (None, None, None, None);
        TraceJob { name: None, submit, spec, start_cost, trial, phases, loss }
    }

    /// Work until it is done, in its own units.
    pub fn work(&self) -> f64 {
        self.spec.truth_for_the_oracle().map_or(0.0, |truth| truth.work)
    }

    /// How long it runs at the size it asks for, on the kind of GPU that suits it best.
    pub fn duration(&self) -> Span {
        match &self.phases {
            Some(phases) => Span::from_secs_f64(phases.alone_s),
            None => Span::from_micros((self.work() / self.spec.nominal_pace).round() as u64),
        }
    }

    /// GPUs times seconds at the size it asks for.
    pub fn gpu_seconds(&self) -> f64 {
        let demand = &self.spec.demand;
        let milli = f64::from(demand.asked()) * f64::from(demand.share.0);
        milli / 1000.0 * self.duration().secs_f64()
    }

    /// Submit it at another time. Its deadlines come as long after it as before.
    pub fn resubmit(&mut self, at: Time) {
        let before = std::mem::replace(&mut self.submit, at);
        if !self.spec.deadlines().is_empty() {
            for deadline in &mut self.spec.extras_mut().deadlines {
                deadline.at = at + deadline.at.since(before);
            }
        }
    }
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
