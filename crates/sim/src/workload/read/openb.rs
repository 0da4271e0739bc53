//! Alibaba's openb lists of pods (Weng et al., ATC 2023): `name, cpu_milli, memory_mib, num_gpu,
//! gpu_milli, gpu_spec, …, creation_time, deletion_time, scheduled_time [s]`. A pod runs on one
//! node; pods without GPUs are jobs here.

use super::super::error::TraceError;
use super::super::row::Row;
use super::super::table::Table;
use super::reading::{Reading, timed_job};
use heeler_model::{Demand, Milli, Reach, Span, Time};

const NEVER_SCHEDULED: &str = "were never scheduled: they run from creation to deletion";
const NO_TIMES: &str = "have no times: all come at once and run equally long";

pub(super) fn read(reading: &mut Reading<'_>, table: Table) -> Result<(), TraceError> {
    reading.cpu_jobs = true;
    table.each(|row| {
        let gpus = row.count("num_gpu")?;
        let beside = gpus.max(1);
        let mut demand = Demand::gpus(gpus);
        demand.cpu_milli = row.count("cpu_milli")?.div_ceil(beside);
        demand.memory_mb = row.count("memory_mib")?.div_ceil(beside);
        demand.reach = Reach::Node;
        demand.kinds =
            reading.kinds(row.list("gpu_spec"), &|message| row.wrong("gpu_spec", message))?;
        if gpus == 1 {
            let milli = row.count("gpu_milli")?;
            if !(1..=1000).contains(&milli) {
                return Err(row.wrong("gpu_milli", "expected 1 to 1000 thousandths of a GPU"));
            }
            demand.share = Milli(milli);
        }
        let (submit, duration) = times(reading, row)?;
        let mut job = timed_job(submit, duration, demand);
        job.name = row.get("name").map(Into::into);
        reading.push(job);
        Ok(())
    })
}

/// When a pod comes and how long it runs.
fn times(reading: &mut Reading<'_>, row: &Row<'_>) -> Result<(Time, Span), TraceError> {
    if !row.header().has(&["creation_time", "deletion_time"]) {
        let Some(run_time) = reading.options.run_time else {
            return Err(TraceError::file(reading.path, "has no times")
                .hint("give option `run-time`: how long every pod runs"));
        };
        reading.assumed.add(NO_TIMES);
        return Ok((Time::ZERO, run_time));
    }
    let (created, deleted) = (row.time("creation_time", 1.0)?, row.time("deletion_time", 1.0)?);
    let started = match row.get("scheduled_time") {
        Some(_) => row.time("scheduled_time", 1.0)?,
        None => {
            reading.assumed.add(NEVER_SCHEDULED);
            created
        }
    };
    if deleted < started {
        return Err(row.wrong("deletion_time", "is before the pod was scheduled"));
    }
    Ok((created, deleted.since(started)))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{jobs, read_text, wrong};
    use crate::workload::Options;
    use heeler_model::{Cluster, KindId, KindSet, Milli, Reach, Span, Time};

    const HEADER: &str = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,\
                          creation_time,deletion_time,scheduled_time\n";

    #[test]
    fn pods_share_gpus_and_name_kinds() {
        let mut cluster = crate::cluster::parse("1x2:T4+1x8:G2").expect("a cluster");
        let text = format!(
            "{HEADER}a,6000,1000,1,460,T4,LS,Running,10,110,20\n\
             b,8000,999,2,1000,G2|T4,LS,Running,10,110,20\nc,500,64,0,0,,BE,Pending,30,40,\n"
        );
        let trace = read_text("t.csv", &text, &Options::default(), &mut cluster).expect("a trace");
        let [a, b, c] = trace.jobs() else { panic!("three jobs") };
        assert_eq!((a.submit, a.duration()), (Time::from_secs(10), Span::from_secs(90)));
        assert_eq!((a.spec.demand.share, a.spec.demand.reach), (Milli(460), Reach::Node));
        assert_eq!(a.spec.demand.kinds, KindSet::only(KindId(0)));
        assert_eq!((b.spec.demand.cpu_milli, b.spec.demand.memory_mb), (4000, 500));
        assert_eq!((c.spec.demand.asked(), c.spec.demand.cpu_milli), (0, 500));
        assert_eq!(c.duration(), Span::from_secs(10), "until it was deleted");
        assert_eq!(trace.assumed.total(), 1);
    }

    #[test]
    fn lists_without_times_need_a_run_time() {
        let text = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,6000,1000,1,460\n";
        let (error, hint) = wrong(text);
        assert!(error.ends_with("has no times"), "{error}");
        assert_eq!(hint, "give option `run-time`: how long every pod runs");
        let options = Options { run_time: Some(Span::from_secs(60)), ..Options::default() };
        let trace = read_text("t.csv", text, &options, &mut Cluster::uniform(1, 8));
        assert_eq!(trace.expect("a trace").jobs()[0].duration(), Span::from_secs(60));
    }

    #[test]
    fn shares_and_times_are_checked() {
        assert_eq!(jobs(&format!("{HEADER}a,1,1,1,1000,,LS,x,5,5,5\n")).len(), 1);
        for (row, error) in [
            (
                "a,1,1,1,0,,LS,x,0,5,0",
                "column 5 (`gpu_milli`): expected 1 to 1000 thousandths of a GPU",
            ),
            (
                "a,1,1,1,9,,LS,x,0,5,6",
                "column 10 (`deletion_time`): is before the pod was scheduled",
            ),
        ] {
            assert_eq!(wrong(&format!("{HEADER}{row}\n")).0, format!("t.csv:2: {error}"));
        }
    }
}
