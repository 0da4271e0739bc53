//! Chronus' simulator (Gao et al., SoCC 2021): `job_id, user, num_gpu, submit_time [min],
//! iterations, model_name, duration [min], interval, expect_time_list [min after submission],
//! expect_value_list, best_effort, job_type`. Lists are joined by `-`.

use super::super::error::TraceError;
use super::super::row::Row;
use super::super::table::Table;
use super::reading::{Reading, timed_job};
use heeler_model::{Deadline, Demand, Time};

const MINUTE_S: f64 = 60.0;

pub(super) fn read(reading: &mut Reading<'_>, table: Table) -> Result<(), TraceError> {
    table.each(|row| {
        let demand = Demand::gpus(row.count("num_gpu")?);
        let submit = row.time("submit_time", MINUTE_S)?;
        let mut job = timed_job(submit, row.span("duration", MINUTE_S)?, demand);
        job.name = row.get("job_id").map(Into::into);
        reading.owner(None, row.get("user"), &mut job.spec)?;
        if let Some(model) = row.get("model_name") {
            job.spec.model = reading.model(model)?;
        }
        // A best-effort job has lists too, but nobody looks at them.
        if row.get("best_effort") != Some("1") {
            job.spec.extras_mut().deadlines = deadlines(row, submit)?;
        }
        reading.push(job);
        Ok(())
    })
}

fn deadlines(row: &Row<'_>, submit: Time) -> Result<Vec<Deadline>, TraceError> {
    let numbers = |name| -> Result<Vec<f64>, TraceError> {
        let number = |part: &str| part.parse::<f64>().ok().filter(|number| number.is_finite());
        let numbers: Option<Vec<f64>> = row.text(name)?.split('-').map(number).collect();
        numbers.ok_or_else(|| row.wrong(name, "expected numbers joined by `-`"))
    };
    let (times, values) = (numbers("expect_time_list")?, numbers("expect_value_list")?);
    if times.len() != values.len() {
        let message = format!("has {} values for {} times", values.len(), times.len());
        return Err(row.wrong("expect_value_list", message));
    }
    let deadline = |(time, value): (&f64, &f64)| {
        let after = row.span_of("expect_time_list", time * MINUTE_S)?;
        Ok(Deadline { at: submit + after, value: *value as i64 })
    };
    times.iter().zip(&values).map(deadline).collect()
}

#[cfg(test)]
mod tests {
    use super::super::reading::NO_GPU;
    use super::super::testing::{read_text, wrong};
    use crate::workload::Options;
    use heeler_model::{Cluster, Deadline, Time};

    const TRACE: &str = "job_id,user,num_gpu,submit_time,duration,model_name,expect_time_list,\
                         expect_value_list,best_effort,job_type\n\
                         0,ann,1,5,10,net,20-40,10-5,0,soft\n\
                         1,bob,2,6,10,net,20,10,1,best\n2,bob,0,7,10,net,20,10,0,strict\n";

    #[test]
    fn times_are_minutes_and_deadlines_have_values() {
        let mut cluster = Cluster::uniform(1, 8);
        let trace = read_text("t.csv", TRACE, &Options::default(), &mut cluster).expect("a trace");
        let [soft, best] = trace.jobs() else { panic!("two jobs") };
        assert_eq!(soft.submit, Time::from_secs(300));
        let deadline = |minute: u64, value| Deadline { at: Time::from_secs(minute * 60), value };
        assert_eq!(soft.spec.deadlines(), [deadline(25, 10), deadline(45, 5)]);
        assert_eq!(best.spec.deadlines(), []);
        assert_eq!(trace.skipped.count(NO_GPU), 1);
    }

    #[test]
    fn every_time_has_a_value() {
        let (error, _) = wrong(&TRACE.replace("10-5", "10"));
        assert_eq!(error, "t.csv:2: column 8 (`expect_value_list`): has 1 values for 2 times");
        let (error, _) = wrong(&TRACE.replace("20-40", "20-x"));
        assert!(error.ends_with("expected numbers joined by `-`"), "{error}");
    }
}
