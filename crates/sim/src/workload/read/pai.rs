//! Alibaba's simulator of PAI (Weng et al., NSDI 2022): `job_id, user, num_gpu, num_cpu, num_inst,
//! submit_time [s], duration [s], user_dur, group_dur, group_gpu_dur [s], gpu_type`. It can draw a
//! sample as that program does, and it breaks ties by number of job.

use super::super::TraceJob;
use super::super::error::TraceError;
use super::super::row::Row;
use super::super::table::Table;
use super::Sample;
use super::reading::{Reading, timed_job};
use heeler_engine::PythonRandom;
use heeler_model::{Demand, Milli, Time};

pub(super) fn read(reading: &mut Reading<'_>, table: Table) -> Result<(), TraceError> {
    let declared = reading.options.declared.as_deref();
    if let Some(column) = declared.filter(|column| table.header().find(column).is_none()) {
        let message = format!("there is no column `{column}` of declared run times");
        return Err(TraceError::line(reading.path, 1, message)
            .hint("such are duration, user_dur, group_dur and group_gpu_dur"));
    }
    let sample = reading.options.sample;
    let rows_max = sample.map_or(usize::MAX, |sample| sample.count as usize * 10 + 1);
    let mut jobs: Vec<(u32, TraceJob)> = Vec::new();
    table.each(|row| {
        if jobs.len() < rows_max {
            jobs.push((row.count("job_id")?, job(reading, row)?));
        }
        Ok(())
    })?;
    if let Some(Sample { count, seed, .. }) = sample
        && (count as usize) <= jobs.len()
    {
        PythonRandom::new(seed).shuffle(&mut jobs);
        jobs.truncate(count as usize);
    }
    jobs.sort_by_key(|(number, job)| (job.submit, *number));
    for (index, (_, mut job)) in jobs.into_iter().enumerate() {
        if let Some(sample) = sample {
            let minute = index as u64 / u64::from(sample.per_minute.max(1));
            job.submit = Time::from_secs(minute * 60);
        }
        reading.push(job);
    }
    Ok(())
}

fn job(reading: &mut Reading<'_>, row: &Row<'_>) -> Result<TraceJob, TraceError> {
    // The program counts whole seconds, and one at least.
    let duration = row.number("duration")?.trunc().max(1.0);
    let duration = row.span_of("duration", duration)?;
    let mut demand = demand(row)?;
    let kinds = row.get("gpu_type").filter(|kind| *kind != "MISC").into_iter();
    demand.kinds = reading.kinds(kinds, &|message| row.wrong("gpu_type", message))?;
    let mut job = timed_job(row.time("submit_time", 1.0)?, duration, demand);
    job.name = row.get("job_id").map(Into::into);
    reading.owner(None, row.get("user"), &mut job.spec)?;
    if let Some(column) = reading.options.declared.as_deref() {
        let seconds = row.number(column)?;
        let declared = if column == "duration" { duration } else { row.span_of(column, seconds)? };
        job.spec.declared = Some(declared);
    }
    Ok(job)
}

/// Each instance asks for a number of GPUs, which need not be whole, and of CPUs.
fn demand(row: &Row<'_>) -> Result<Demand, TraceError> {
    let percent = (row.positive("num_gpu")? * 100.0).round_ties_even();
    let instances = if row.get("num_inst").is_some() { row.count("num_inst")? } else { 1 };
    // One and a half GPUs are two, of each of which the job takes three quarters.
    let each = (percent / 100.0).ceil();
    let gpus = each * f64::from(instances);
    if gpus > f64::from(u32::MAX) {
        return Err(row.wrong("num_gpu", "has too many GPUs to count"));
    }
    let mut demand = Demand::gpus(gpus as u32);
    if each > 0.0 {
        demand.share = Milli((percent * 10.0 / each).round() as u32);
    }
    if row.get("num_cpu").is_some() {
        let beside = if each > 0.0 { each } else { 1.0 / f64::from(instances) };
        demand.cpu_milli = (row.positive("num_cpu")? * 1000.0 / beside).round() as u32;
    }
    Ok(demand)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{jobs, read_text, wrong};
    use super::*;
    use crate::workload::Options;
    use heeler_model::{Cluster, Span};

    const HEADER: &str = "job_id,user,num_gpu,num_cpu,num_inst,submit_time,duration,user_dur,\
                          group_dur,group_gpu_dur,gpu_type\n";

    #[test]
    fn ties_are_broken_by_number() {
        let rows = "10,a,1,4,1,5,30,1,2,3,MISC\n9,a,0.5,4,1,5,0,1,2,3,MISC\n\
                    8,a,1.5,6,2,9,5.7,1,2,3,\n";
        let jobs = jobs(&format!("{HEADER}{rows}"));
        let names: Vec<_> = jobs.iter().map(|job| job.name.as_deref().expect("named")).collect();
        assert_eq!(names, ["9", "10", "8"]);
        assert_eq!(jobs[0].duration(), Span::from_secs(1), "the shortest there is");
        assert_eq!(jobs[0].spec.demand.share, Milli(500));
        let half = jobs[2].spec.demand;
        assert_eq!((half.asked(), half.share, half.cpu_milli), (4, Milli(750), 3000));
        assert_eq!(jobs[2].duration(), Span::from_secs(5));
    }

    #[test]
    fn samples_are_drawn_as_the_simulator_does() {
        let mut text = HEADER.to_string();
        for number in 0..50 {
            text.push_str(&format!("{number},a,1,4,1,{},30,7,8,9,MISC\n", 1000 - number));
        }
        let sample = Some(Sample { count: 4, per_minute: 3, seed: 42 });
        let declared = Some("user_dur".to_string());
        let options = Options { sample, declared, ..Options::default() };
        let trace = read_text("t.csv", &text, &options, &mut Cluster::uniform(1, 8));
        let trace = trace.expect("a trace");
        // random.Random(42).shuffle(list(range(41)))[:4], latest submission last.
        let drawn: Vec<_> = trace.jobs().iter().map(|job| job.name.as_deref()).collect();
        assert_eq!(drawn, [Some("36"), Some("10"), Some("9"), Some("3")]);
        let submits: Vec<_> = trace.jobs().iter().map(|job| job.submit.secs_f64()).collect();
        assert_eq!(submits, [0.0, 0.0, 0.0, 60.0]);
        assert_eq!(trace.jobs()[0].spec.declared, Some(Span::from_secs(7)));
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let (error, _) = wrong(&format!("{HEADER}1,a,-1,4,1,5,30,1,2,3,MISC\n"));
        assert_eq!(error, "t.csv:2: column 3 (`num_gpu`): expected a number from 0 on, found `-1`");
        let options = Options { declared: Some("guess".into()), ..Options::default() };
        let error = read_text("t.csv", HEADER, &options, &mut Cluster::uniform(1, 8));
        let error = error.expect_err("no such column").to_string();
        assert_eq!(error, "t.csv:1: there is no column `guess` of declared run times");
    }
}
