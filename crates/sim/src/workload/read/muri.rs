//! Muri's simulator: `job_id, num_gpu, submit_time [ms], iterations, model_name, …, iteration_time
//! [ms], …`. Its program stretches every iteration by 1.5 %, and charges a start-up cost by model
//! and size that is in a table of its own.

use super::{Reading, timed_job};
use crate::workload::error::TraceError;
use crate::workload::table::Table;
use heeler_model::{Demand, Span};
use std::collections::BTreeMap;
use std::path::Path;

/// Microseconds for each millisecond of an iteration.
const STRETCH: u64 = 1015;

pub(super) fn read(reading: &mut Reading<'_>, table: Table) -> Result<(), TraceError> {
    let startup = match &reading.options.startup {
        Some(path) => startup_costs(path)?,
        None => BTreeMap::new(),
    };
    table.each(|row| {
        let gpus = row.count("num_gpu")?;
        let iterations = u64::from(row.count("iterations")?);
        let iteration_ms = u64::from(row.count("iteration_time")?);
        let duration = Span::from_micros(iterations * iteration_ms * STRETCH);
        let mut job = timed_job(row.time("submit_time", 1e-3)?, duration, Demand::gpus(gpus));
        job.name = row.get("job_id").map(Into::into);
        let model = row.text("model_name")?;
        job.start_cost = startup.get(&(gpus, model.to_string())).copied();
        job.spec.model = reading.model(model);
        reading.jobs.push(job);
        Ok(())
    })
}

/// `num_gpu, model_name, overhead_s`.
fn startup_costs(path: &Path) -> Result<BTreeMap<(u32, String), Span>, TraceError> {
    let mut costs = BTreeMap::new();
    Table::open(path, b',')?.each(|row| {
        let key = (row.count("num_gpu")?, row.text("model_name")?.to_string());
        costs.insert(key, row.span("overhead_s", 1.0)?);
        Ok(())
    })?;
    Ok(costs)
}
