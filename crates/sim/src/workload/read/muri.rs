//! Muri's simulator (Zhao et al., SIGCOMM 2022): `job_id, num_gpu, submit_time [ms], iterations,
//! model_name, …, iteration_time [ms], …`. Its program stretches every iteration by 1.5 %, and
//! charges a start-up cost by model and size that is in a table of its own.

use super::super::Row;
use super::super::error::TraceError;
use super::super::table::Table;
use super::reading::{Reading, timed_job};
use heeler_model::{Demand, Span, Stages};
use std::collections::BTreeMap;
use std::path::Path;

/// Microseconds for each millisecond of an iteration.
const STRETCH: u64 = 1015;

pub(super) fn read(reading: &mut Reading<'_>, table: Table) -> Result<(), TraceError> {
    let given = reading.options.startup.as_ref();
    let startup = match reading.companion(given, "startup_overhead.csv") {
        Some(path) => startup_costs(&path)?,
        None => BTreeMap::new(),
    };
    table.each(|row| {
        let gpus = row.count("num_gpu")?;
        let iterations = u64::from(row.count("iterations")?);
        let iteration_ms = u64::from(row.count("iteration_time")?);
        let Some(micros) = iterations.checked_mul(iteration_ms * STRETCH) else {
            return Err(row.wrong("iterations", "take longer than time can count"));
        };
        let duration = Span::from_micros(micros);
        let mut job = timed_job(row.time("submit_time", 1e-3)?, duration, Demand::gpus(gpus));
        job.name = row.get("job_id").map(Into::into);
        let model = row.text("model_name")?;
        job.start_cost = startup.get(&(gpus, model.to_string())).copied();
        job.spec.model = reading.model(model)?;
        job.spec.extras_mut().stages = stages(row, iteration_ms)?;
        // What its owner said of it is in whole seconds, and without the stretch.
        if row.get("duration").is_some() {
            job.spec.declared = Some(row.span("duration", 1e-3)?);
        }
        // In its program 0 is guaranteed its GPUs, and 1 takes what is left over.
        if row.get("priority").is_some_and(|text| text.trim() != "0") {
            job.spec.priority = -1;
        }
        reading.push(job);
        Ok(())
    })
}

/// The stages of an iteration: `resource_time_0`, `resource_time_1` and so on, in milliseconds.
fn stages(row: &Row, iteration_ms: u64) -> Result<Option<Stages>, TraceError> {
    let mut stage_s = Vec::new();
    loop {
        let column = format!("resource_time_{}", stage_s.len());
        if row.get(&column).is_none() {
            break;
        }
        stage_s.push(row.number(&column)? / 1000.0);
    }
    let iteration_s = iteration_ms as f64 * (STRETCH as f64 / 1000.0) / 1000.0;
    Ok((!stage_s.is_empty()).then_some(Stages { iteration_s, stage_s }))
}

/// `num_gpu, model_name, overhead_s`.
fn startup_costs(path: &Path) -> Result<BTreeMap<(u32, String), Span>, TraceError> {
    let mut costs = BTreeMap::new();
    Table::open(path, ',')?.each(|row| {
        let key = (row.count("num_gpu")?, row.text("model_name")?.to_string());
        costs.insert(key, row.span("overhead_s", 1.0)?);
        Ok(())
    })?;
    Ok(costs)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{folder, jobs, wrong};
    use crate::workload::{Options, read};
    use heeler_model::{Cluster, Span, Time};

    const TRACE: &str = "job_id,num_gpu,submit_time,iterations,model_name,iteration_time\n\
                         0,2,1500,1000,net,40\n1,1,0,10,other,40\n";

    #[test]
    fn iterations_are_stretched() {
        let jobs = jobs(TRACE);
        assert_eq!(jobs[1].submit, Time::from_micros(1_500_000));
        assert_eq!(jobs[1].duration(), Span::from_micros(40_600_000));
        assert_eq!(jobs[1].start_cost, None, "there is no table");
        assert_eq!(jobs.iter().map(|job| job.spec.priority).collect::<Vec<_>>(), [0, 0]);
    }

    #[test]
    fn the_table_of_start_up_costs_is_found_above_the_trace() {
        let folder = folder();
        let traces = folder.join("traces");
        std::fs::create_dir_all(&traces).expect("a folder");
        std::fs::write(traces.join("t.csv"), TRACE).expect("a trace");
        let costs = "num_gpu,model_name,overhead_s\n2,net,7\n";
        std::fs::write(folder.join("startup_overhead.csv"), costs).expect("a table");
        let read = |options: &Options| {
            let trace = read(&traces.join("t.csv"), options, &mut Cluster::uniform(1, 8));
            trace.expect("a trace").jobs().iter().map(|job| job.start_cost).collect::<Vec<_>>()
        };
        assert_eq!(read(&Options::default()), [None, Some(Span::from_secs(7))]);
        let other = folder.join("other.csv");
        std::fs::write(&other, "num_gpu,model_name,overhead_s\n1,other,2.5\n").expect("a table");
        let options = Options { startup: Some(other), ..Options::default() };
        assert_eq!(read(&options), [Some(Span::from_micros(2_500_000)), None]);
        std::fs::remove_dir_all(folder).expect("a folder");
    }

    #[test]
    fn stages_and_what_was_declared_are_read() {
        let text = "job_id,num_gpu,submit_time,iterations,model_name,duration,iteration_time,\
                    resource_time_0,resource_time_1,resource_time_2\n\
                    0,2,0,1000,net,41000,40,30,0.5,10\n";
        let jobs = jobs(text);
        let stages = jobs[0].spec.stages().expect("stages");
        assert_eq!(stages.stage_s, [0.03, 0.0005, 0.01]);
        assert_eq!(stages.iteration_s, 0.0406);
        assert_eq!(jobs[0].spec.declared, Some(Span::from_secs(41)));
        assert_eq!(jobs[0].duration(), Span::from_micros(40_600_000));
    }

    #[test]
    fn who_is_not_guaranteed_gpus_has_a_priority_below_zero() {
        let text = "job_id,num_gpu,submit_time,iterations,model_name,iteration_time,priority\n\
                    0,2,0,1000,net,40,0\n1,1,1,10,other,40,1\n";
        let priorities: Vec<i32> = jobs(text).iter().map(|job| job.spec.priority).collect();
        assert_eq!(priorities, [0, -1]);
    }

    #[test]
    fn iterations_are_whole_numbers() {
        let (error, _) = wrong(&TRACE.replace("1000", "many"));
        assert_eq!(error, "t.csv:2: column 4 (`iterations`): expected a number, found `many`");
    }
}
