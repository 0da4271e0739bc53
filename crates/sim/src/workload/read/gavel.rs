//! Gavel's traces (Narayanan et al., OSDI 2020): `job_id, arrival_s, job_type, num_gpus,
//! total_steps, priority_weight, slo`, with a table of steps per second by kind of GPU, job type
//! and number of GPUs.

use super::super::error::TraceError;
use super::super::table::Table;
use super::reading::{Reading, stepped_job};
use heeler_model::{Deadline, Demand, KindSet};
use std::collections::BTreeMap;
use std::path::Path;

/// Steps per second by job type and number of GPUs: a rate for each kind.
pub(super) type Throughputs = BTreeMap<(String, u32), Vec<(String, f64)>>;

pub(super) fn read(reading: &mut Reading<'_>, table: Table) -> Result<(), TraceError> {
    let path = throughputs_path(reading)?;
    let throughputs = throughputs(&path)?;
    table.each(|row| {
        let (job_type, gpus) = (row.text("job_type")?, row.count("num_gpus")?);
        let Some(rates) = throughputs.get(&(job_type.to_string(), gpus)) else {
            let message = format!("`{job_type}` on {gpus} GPUs is not in {}", path.display());
            return Err(row.wrong("job_type", message).hint("give another table of throughputs"));
        };
        let rates: Vec<(&str, f64)> =
            rates.iter().map(|(kind, rate)| (kind.as_str(), *rate)).collect();
        let (rates, best) =
            reading.rates(&rates, KindSet::ANY, &|message| row.wrong("job_type", message))?;
        let submit = row.time("arrival_s", 1.0)?;
        let mut job = stepped_job(submit, row.positive("total_steps")?, best, Demand::gpus(gpus));
        job.name = row.get("job_id").map(Into::into);
        job.spec.model = reading.model(job_type)?;
        if row.get("priority_weight").is_some() {
            job.spec.priority = row.positive("priority_weight")?.round() as i32;
        }
        if !rates.is_empty() {
            job.spec.extras_mut().rates = rates;
        }
        // The objective is a multiple of the run time; below zero there is none.
        if row.get("slo").is_some() && row.number("slo")? >= 0.0 {
            let after = row.span_of("slo", row.number("slo")? * job.duration().secs_f64())?;
            job.spec.extras_mut().deadlines = vec![Deadline { at: submit + after, value: 1 }];
        }
        reading.push(job);
        Ok(())
    })
}

/// The table an option names, or the one near the trace that was measured for its kind of run.
fn throughputs_path(reading: &Reading<'_>) -> Result<std::path::PathBuf, TraceError> {
    let name = reading.path.file_name().unwrap_or_default().to_string_lossy();
    let table = match name.starts_with("physical") {
        true => "throughput_isolated_physical.csv",
        false => "throughput_isolated_simulation.csv",
    };
    reading.companion(reading.options.throughputs.as_ref(), table).ok_or_else(|| {
        let message = "counts steps, and a table must say how many a second a kind of GPU does";
        TraceError::file(reading.path, message)
            .hint(format!("give option `throughputs`, or put `{table}` above the trace"))
    })
}

/// `gpu_type, consolidated, job_type, num_gpus, steps_per_s`; only rows of GPUs on one server
/// count.
pub(super) fn throughputs(path: &Path) -> Result<Throughputs, TraceError> {
    let mut throughputs = Throughputs::new();
    Table::open(path, ',')?.each(|row| {
        if row.get("consolidated").is_none_or(|text| text == "1") {
            let key = (row.text("job_type")?.to_string(), row.count("num_gpus")?);
            let rate = (row.text("gpu_type")?.to_string(), row.positive("steps_per_s")?);
            throughputs.entry(key).or_default().push(rate);
        }
        Ok(())
    })?;
    Ok(throughputs)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{folder, wrong};
    use crate::workload::{Options, Trace, TraceError, read};
    use heeler_model::{Cluster, KindId, KindSet, Span, Time};

    const TRACE: &str = "job_id,arrival_s,job_type,num_gpus,total_steps,priority_weight,slo\n\
                         0,0,net (batch size 8),1,1000,1,-1.0\n1,7.5,big,2,90,2,1.5\n";
    const TABLE: &str = "gpu_type,consolidated,job_type,num_gpus,steps_per_s\n\
                         v100,1,net (batch size 8),1,20\nv100,0,net (batch size 8),1,2\n\
                         k80,1,net (batch size 8),1,5\nv100,1,big,2,3\nk80,1,big,2,0\n";

    fn read_on(cluster: &mut Cluster, any_kind: bool) -> Result<Trace, TraceError> {
        let folder = folder();
        std::fs::write(folder.join("trace.csv"), TRACE).expect("a trace");
        let table = folder.join("throughput_isolated_simulation.csv");
        std::fs::write(table, TABLE).expect("a table");
        let options = Options { any_kind, ..Options::default() };
        let trace = read(&folder.join("trace.csv"), &options, cluster);
        std::fs::remove_dir_all(folder).expect("a folder");
        trace
    }

    #[test]
    fn rates_are_by_kind() {
        let mut cluster = crate::cluster::parse("k80=2,v100=4").expect("a cluster");
        let trace = read_on(&mut cluster, false).expect("a trace");
        let [net, big] = trace.jobs() else { panic!("two jobs") };
        assert_eq!(net.spec.rates(), [5.0, 20.0]);
        assert_eq!((net.work(), net.duration()), (1000.0, Span::from_secs(50)));
        assert_eq!(big.spec.rates(), [0.0, 3.0]);
        assert_eq!(big.spec.demand.kinds, KindSet::only(KindId(1)), "it does not run on k80");
        assert_eq!(big.spec.deadlines()[0].at, Time::from_micros(7_500_000 + 45_000_000));
        assert_eq!(big.spec.priority, 2);
        assert_eq!(trace.models.name(net.spec.model.index()), "net (batch size 8)");
    }

    #[test]
    fn clusters_without_those_kinds_are_refused_or_run_at_the_best_rate() {
        let error = read_on(&mut Cluster::uniform(1, 8), false).expect_err("no such kinds");
        assert_eq!(error.message, "runs on v100, k80, and the cluster has: gpu");
        let trace = read_on(&mut Cluster::uniform(1, 8), true).expect("a trace");
        assert_eq!(trace.jobs()[0].spec.rates(), [0.0; 0]);
        assert_eq!(trace.jobs()[0].duration(), Span::from_secs(50));
    }

    #[test]
    fn a_missing_table_is_asked_for() {
        let (_, hint) = wrong(TRACE);
        assert!(hint.starts_with("give option `throughputs`"), "{hint}");
    }
}
