//! Acme's Kalos trace (Hu et al., NSDI 2024) as converted for simulators: `job_id, arrival_time
//! [s], num_iteration, iteration_computing_time [s], …, gpu_workers, …, gpu_per_worker,
//! cpu_per_gpu_worker, …`. Run time is iterations times their computing time; network times and
//! tensor sizes in such files are made up, and are not used.

use super::super::error::TraceError;
use super::super::table::Table;
use super::reading::{Reading, timed_job};
use heeler_model::Demand;

pub(super) fn read(reading: &mut Reading<'_>, table: Table) -> Result<(), TraceError> {
    table.each(|row| {
        let per_worker = row.count("gpu_per_worker")?;
        let Some(gpus) = row.count("gpu_workers")?.checked_mul(per_worker) else {
            return Err(row.wrong("gpu_workers", "has too many GPUs to count"));
        };
        let mut demand = Demand::gpus(gpus);
        if row.get("cpu_per_gpu_worker").is_some() && per_worker > 0 {
            let cpus = row.positive("cpu_per_gpu_worker")? / f64::from(per_worker);
            demand.cpu_milli = (cpus * 1000.0).round() as u32;
        }
        let seconds = row.positive("num_iteration")? * row.positive("iteration_computing_time")?;
        let duration = row.span_of("num_iteration", seconds)?;
        let mut job = timed_job(row.time("arrival_time", 1.0)?, duration, demand);
        job.name = row.get("job_id").map(Into::into);
        reading.push(job);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{jobs, wrong};
    use heeler_model::Span;

    const TRACE: &str = "job_id,arrival_time,num_iteration,iteration_computing_time,gpu_workers,\
                         gpu_per_worker,cpu_per_gpu_worker\n0,0.0,100,0.5,2,8.0,16.0\n";

    #[test]
    fn workers_have_gpus() {
        let jobs = jobs(TRACE);
        assert_eq!(jobs[0].spec.demand.asked(), 16);
        assert_eq!(jobs[0].spec.demand.cpu_milli, 2000, "beside each GPU");
        assert_eq!(jobs[0].duration(), Span::from_secs(50));
    }

    #[test]
    fn numbers_are_checked() {
        let (error, _) = wrong(&TRACE.replace("100,0.5", "-100,0.5"));
        assert_eq!(
            error,
            "t.csv:2: column 3 (`num_iteration`): expected a number from 0 on, found `-100`"
        );
    }
}
