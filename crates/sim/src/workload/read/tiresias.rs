//! Tiresias' simulator: `job_id, num_gpu, submit_time [s], iterations, model_name, duration [s],
//! interval [s]`.

use super::{Reading, timed_job};
use crate::workload::error::TraceError;
use crate::workload::table::Table;
use heeler_model::Demand;

pub(super) fn read(reading: &mut Reading<'_>, table: Table) -> Result<(), TraceError> {
    table.each(|row| {
        let demand = Demand::gpus(row.count("num_gpu")?);
        // The program cuts durations down to whole seconds.
        let duration = row.number("duration")?.trunc();
        if duration < 0.0 {
            return Err(row.wrong("duration", "expected a time from 0 on"));
        }
        let duration = heeler_model::Span::from_secs_f64(duration);
        let mut job = timed_job(row.time("submit_time", 1.0)?, duration, demand);
        job.name = row.get("job_id").map(Into::into);
        if let Some(model) = row.get("model_name") {
            job.spec.model = reading.model(model);
        }
        reading.jobs.push(job);
        Ok(())
    })
}
