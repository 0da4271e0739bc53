//! Hydra's cases (Yang et al., TPDS 2022): `job_name, norm_job_submit_time [s], ddl [s after
//! submission, or inf]`, and a column for each kind of GPU with the run time on it in seconds.
//! Every job uses one GPU; it counts microseconds of the kind that suits it best.

use super::super::error::TraceError;
use super::super::table::Table;
use super::reading::{Reading, stepped_job};
use heeler_model::{Deadline, Demand, KindSet};

const OTHER: &[&str] = &["", "job_name", "norm_job_submit_time", "ddl"];

pub(super) fn read(reading: &mut Reading<'_>, table: Table) -> Result<(), TraceError> {
    let columns = table.header().columns.clone();
    let kinds: Vec<&str> =
        columns.iter().map(String::as_str).filter(|name| !OTHER.contains(name)).collect();
    table.each(|row| {
        let mut times = Vec::new();
        for kind in &kinds {
            let span = row.span(kind, 1.0)?;
            if span.is_zero() {
                return Err(row.wrong(kind, "expected a time above 0"));
            }
            times.push((*kind, span.micros() as f64));
        }
        let Some(best) = times.iter().map(|(_, micros)| *micros).min_by(f64::total_cmp) else {
            return Err(row.broken("there is no column with run times on a kind of GPU"));
        };
        let rates: Vec<(&str, f64)> =
            times.iter().map(|(kind, micros)| (*kind, best / micros * 1e6)).collect();
        let (rates, rate) = reading.rates(&rates, KindSet::ANY, &|message| row.broken(message))?;
        let submit = row.time("norm_job_submit_time", 1.0)?;
        let mut job = stepped_job(submit, best, rate, Demand::gpus(1));
        job.name = row.get("job_name").map(Into::into);
        if !rates.is_empty() {
            job.spec.extras_mut().rates = rates;
        }
        if row.text("ddl")? != "inf" {
            let at = submit + row.span("ddl", 1.0)?;
            job.spec.extras_mut().deadlines = vec![Deadline { at, value: 1 }];
        }
        reading.push(job);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{read_text, wrong};
    use crate::workload::Options;
    use heeler_model::{Span, Time};

    const TRACE: &str = ",job_name,norm_job_submit_time,ddl,A100,V100\n\
                         0,x,5,inf,100,150\n1,y,5,300,40,50\n";

    #[test]
    fn kinds_have_their_own_run_times() {
        let mut cluster = crate::cluster::parse("1x1:v100+1x1:a100").expect("a cluster");
        let trace = read_text("t.csv", TRACE, &Options::default(), &mut cluster).expect("a trace");
        let [first, second] = trace.jobs() else { panic!("two jobs") };
        assert_eq!(first.duration(), Span::from_secs(100));
        assert_eq!(first.work() / first.spec.rates()[0], 150.0);
        assert_eq!(second.spec.deadlines()[0].at, Time::from_secs(305));
        let mut slow = crate::cluster::parse("1x1:v100").expect("a cluster");
        let trace = read_text("t.csv", TRACE, &Options::default(), &mut slow).expect("a trace");
        assert_eq!(trace.jobs()[0].duration(), Span::from_secs(150), "the best there is");
    }

    #[test]
    fn a_kind_must_be_there() {
        let (error, hint) = wrong(TRACE);
        assert_eq!(error, "t.csv:2: runs on A100, V100, and the cluster has: gpu");
        assert_eq!(
            hint,
            "describe a cluster that has it, or let jobs run on any kind with --any-kind"
        );
    }
}
