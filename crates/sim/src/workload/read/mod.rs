//! Readers: one small file for each format, from the rows of a table to jobs.

mod muri;
mod tiresias;

use super::error::TraceError;
use super::names::Names;
use super::table::Table;
use super::{TraceJob, Workload};
use heeler_model::{Cluster, Demand, JobSpec, ModelId, Span, Time, Truth};
use std::path::{Path, PathBuf};

/// A format of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Tiresias' simulator: seconds.
    Tiresias,
    /// Muri's simulator: milliseconds and iterations.
    Muri,
}

/// What a reader may need to know.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The format, if it cannot be told from the header.
    pub format: Option<Format>,
    /// A table of start-up costs by GPUs and model.
    pub startup: Option<PathBuf>,
}

/// A trace in memory.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Its jobs.
    pub workload: Workload,
    /// The models they train, by `ModelId`.
    pub models: Names,
}

/// What readers fill.
pub(super) struct Reading<'a> {
    pub(super) path: &'a Path,
    pub(super) options: &'a Options,
    pub(super) cluster: &'a mut Cluster,
    pub(super) jobs: Vec<TraceJob>,
    pub(super) models: Names,
}

impl Reading<'_> {
    fn model(&mut self, name: &str) -> ModelId {
        ModelId(self.models.number(name) as u16)
    }
}

/// Read a trace. Tenants it names are added to the cluster.
pub fn read(path: &Path, options: &Options, cluster: &mut Cluster) -> Result<Trace, TraceError> {
    let mut models = Names::default();
    models.number("");
    let mut reading = Reading { path, options, cluster, jobs: Vec::new(), models };
    let table = Table::open(path, b',')?;
    let header = table.header();
    let format = options.format.or_else(|| {
        let muri = ["num_gpu", "iteration_time", "iterations", "submit_time"];
        let tiresias = ["num_gpu", "submit_time", "duration"];
        if header.has(&muri) {
            Some(Format::Muri)
        } else {
            header.has(&tiresias).then_some(Format::Tiresias)
        }
    });
    match format {
        Some(Format::Tiresias) => tiresias::read(&mut reading, table)?,
        Some(Format::Muri) => muri::read(&mut reading, table)?,
        None => return Err(TraceError::file(path, "is in no known format")),
    }
    Ok(Trace { workload: Workload::new(reading.jobs), models: reading.models })
}

/// A job of which a duration is known: it counts microseconds.
pub(super) fn timed_job(submit: Time, duration: Span, demand: Demand) -> TraceJob {
    let truth = Truth { work: duration.micros() as f64 };
    let mut spec = JobSpec::new(demand).with_truth(truth);
    spec.declared = Some(duration);
    TraceJob { name: None, submit, spec, start_cost: None }
}
