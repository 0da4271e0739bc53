//! Jobs of Microsoft's Philly cluster (Jeon et al., ATC 2019) as a table: `timestamp [local date],
//! duration [s], num_gpus, gpu_time, cluster`. A virtual cluster is a tenant.

use super::super::error::TraceError;
use super::super::table::Table;
use super::reading::{Reading, timed_job};
use heeler_model::Demand;

pub(super) fn read(reading: &mut Reading<'_>, table: Table) -> Result<(), TraceError> {
    reading.dated = true;
    table.each(|row| {
        let demand = Demand::gpus(row.count("num_gpus")?);
        let mut job = timed_job(row.date("timestamp")?, row.span("duration", 1.0)?, demand);
        reading.owner(row.get("cluster"), None, &mut job.spec)?;
        reading.push(job);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{read_text, wrong};
    use crate::workload::Options;
    use heeler_model::{Cluster, Span, TenantId, Time};

    const TRACE: &str = "timestamp,duration,num_gpus,gpu_time,cluster\n\
                         2020-01-02 00:00:05,60.0,8,480,b\n2020-01-01 23:59:55,30,1,30,a\n";

    #[test]
    fn time_begins_with_the_first_submission() {
        let mut cluster = Cluster::uniform(1, 8);
        let trace = read_text("t.csv", TRACE, &Options::default(), &mut cluster).expect("a trace");
        let [first, second] = trace.jobs() else { panic!("two jobs") };
        assert_eq!((first.submit, second.submit), (Time::ZERO, Time::from_secs(10)));
        assert_eq!(trace.origin.as_deref(), Some("2020-01-01 23:59:55"));
        assert_eq!(second.duration(), Span::from_secs(60));
        assert_eq!((second.spec.tenant, first.spec.tenant), (TenantId(1), TenantId(2)));
        assert_eq!(cluster.tenants[1].name, "b");
    }

    #[test]
    fn dates_are_checked() {
        let (error, _) = wrong(&TRACE.replace("2020-01-02", "2020-14-02"));
        assert_eq!(
            error,
            "t.csv:2: column 1 (`timestamp`): expected a date such as 2024-05-31 09:30:00, found \
             `2020-14-02 00:00:05`"
        );
    }
}
