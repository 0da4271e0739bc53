//! Workloads as Blox draws them (Agarwal et al., EuroSys 2024), written down: `job_id, submit [s],
//! duration [s], gpus`.

use super::super::error::TraceError;
use super::super::table::Table;
use super::reading::{Reading, timed_job};
use heeler_model::Demand;

pub(super) fn read(reading: &mut Reading<'_>, table: Table) -> Result<(), TraceError> {
    table.each(|row| {
        let (submit, duration) = (row.time("submit", 1.0)?, row.span("duration", 1.0)?);
        let mut job = timed_job(submit, duration, Demand::gpus(row.count("gpus")?));
        job.name = row.get("job_id").map(Into::into);
        reading.push(job);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{jobs, wrong};
    use heeler_model::{Span, Time};

    const HEADER: &str = "job_id,submit,duration,gpus\n";

    #[test]
    fn times_are_in_seconds() {
        let jobs = jobs(&format!("{HEADER}7,260,35424.347,1\n"));
        assert_eq!(jobs[0].name.as_deref(), Some("7"));
        let times = (jobs[0].submit, jobs[0].duration());
        assert_eq!(times, (Time::from_secs(260), Span::from_micros(35_424_347_000)));
    }

    #[test]
    fn gpus_are_whole_numbers() {
        let (error, _) = wrong(&format!("{HEADER}7,260,10,one\n"));
        assert_eq!(error, "t.csv:2: column 4 (`gpus`): expected a number, found `one`");
    }
}
