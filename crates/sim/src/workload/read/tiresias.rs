//! Tiresias' simulator (Gu et al., NSDI 2019): `job_id, num_gpu, submit_time [s], iterations,
//! model_name, duration [s], interval [s]`.

use super::super::error::TraceError;
use super::super::table::Table;
use super::reading::{Reading, timed_job};
use heeler_model::Demand;

pub(super) fn read(reading: &mut Reading<'_>, table: Table) -> Result<(), TraceError> {
    table.each(|row| {
        let demand = Demand::gpus(row.count("num_gpu")?);
        // The program cuts durations down to whole seconds.
        let duration = row.span_of("duration", row.number("duration")?.trunc())?;
        let mut job = timed_job(row.time("submit_time", 1.0)?, duration, demand);
        job.name = row.get("job_id").map(Into::into);
        if let Some(model) = row.get("model_name") {
            job.spec.model = reading.model(model)?;
        }
        reading.push(job);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{jobs, wrong};
    use heeler_model::{Span, Time};

    const HEADER: &str = "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n";

    #[test]
    fn durations_are_cut_to_whole_seconds() {
        let jobs = jobs(&format!("{HEADER}7,4,30,9,net,12.9,0\n8,0,0,9,net,5,0\n"));
        assert_eq!(jobs.len(), 1, "a job without GPUs is left out");
        assert_eq!(jobs[0].name.as_deref(), Some("7"));
        assert_eq!(
            (jobs[0].submit, jobs[0].duration()),
            (Time::from_secs(30), Span::from_secs(12))
        );
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        for (row, error) in [
            ("7,4,30,9,net,-5,0", "column 6 (`duration`): expected a time from 0 on, found `-5`"),
            ("7,4,,9,net,5,0", "column 3 (`submit_time`): is empty"),
        ] {
            assert_eq!(wrong(&format!("{HEADER}{row}\n")).0, format!("t.csv:2: {error}"));
        }
    }
}
