//! Lucid's simulator (Hu et al., ASPLOS 2023): `job_id, user, vc, gpu_num, cpu_num, submit_time
//! [date], duration [s], jobname, dataset, model, batchsize, amp, gpu_util [%], gmem [MB]` and
//! others. Estimated run times can come from a table of their own: `job_id, priority [s]`.

use super::super::error::TraceError;
use super::super::row::Row;
use super::super::table::Table;
use super::native::busy_milli;
use super::reading::{Reading, timed_job};
use heeler_model::{Demand, Span};
use std::collections::BTreeMap;
use std::path::Path;

pub(super) fn read(reading: &mut Reading<'_>, table: Table) -> Result<(), TraceError> {
    let estimates = match &reading.options.estimates {
        Some(path) => Some(estimates(path)?),
        None => None,
    };
    reading.dated = true;
    table.each(|row| {
        let gpus = row.count("gpu_num")?;
        let mut demand = Demand::gpus(gpus);
        if row.get("cpu_num").is_some() {
            let cpus = row.positive("cpu_num")? / f64::from(gpus.max(1));
            demand.cpu_milli = (cpus * 1000.0).round() as u32;
        }
        if row.get("gmem").is_some() {
            demand.gpu_memory_mb = row.positive("gmem")?.ceil() as u32;
        }
        let submit = row.date("submit_time")?;
        let mut job = timed_job(submit, row.span("duration", 1.0)?, demand);
        job.name = row.get("job_id").map(Into::into);
        reading.owner(row.get("vc"), row.get("user"), &mut job.spec)?;
        if let Some(model) = model(row) {
            job.spec.model = reading.model(&model)?;
        }
        if let Some(name) = row.get("jobname") {
            job.spec.extras_mut().name = Some(name.into());
        }
        if row.get("gpu_util").is_some() {
            job.spec.extras_mut().busy_milli = Some(busy_milli(row, "gpu_util", 100.0)?);
        }
        if let Some(estimates) = &estimates {
            let id = row.text("job_id")?;
            let Some(estimate) = estimates.get(id) else {
                return Err(row.wrong("job_id", format!("there is no estimate for `{id}`")));
            };
            job.spec.declared = Some(*estimate);
        }
        reading.push(job);
        Ok(())
    })
}

/// What was profiled: model, data, batch size and number format together.
fn model(row: &Row<'_>) -> Option<String> {
    let mut name = row.get("model")?.to_string();
    for part in ["dataset", "batchsize"].into_iter().filter_map(|part| row.get(part)) {
        name = format!("{name}/{part}");
    }
    let amp = row.get("amp") == Some("1");
    Some(if amp { format!("{name}/amp") } else { name })
}

fn estimates(path: &Path) -> Result<BTreeMap<String, Span>, TraceError> {
    let mut estimates = BTreeMap::new();
    Table::open(path, ',')?.each(|row| {
        estimates.insert(row.text("job_id")?.to_string(), row.span("priority", 1.0)?);
        Ok(())
    })?;
    Ok(estimates)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{folder, read_text, wrong};
    use crate::workload::Options;
    use heeler_model::{Cluster, Span, Time};

    const TRACE: &str = "job_id,user,vc,gpu_num,cpu_num,state,submit_time,duration,jobname,\
                         dataset,model,batchsize,amp,gmem\n\
                         j0,u1,vcA,1,4,Pass,2020-05-01 00:00:00,60,n,CIFAR-10,VGG,64,0,3583.5\n\
                         j1,u1,vcA,2,4,Pass,2020-05-01 00:01:00,30,n,CIFAR-10,VGG,64,1,100\n";

    #[test]
    fn jobs_have_what_was_profiled() {
        let mut cluster = Cluster::uniform(1, 8);
        let trace = read_text("t.csv", TRACE, &Options::default(), &mut cluster).expect("a trace");
        let [first, second] = trace.jobs() else { panic!("two jobs") };
        assert_eq!(second.submit, Time::from_secs(60));
        assert_eq!((first.spec.demand.cpu_milli, second.spec.demand.cpu_milli), (4000, 2000));
        assert_eq!(first.spec.demand.gpu_memory_mb, 3584);
        assert_eq!(trace.models.all()[1..], ["VGG/CIFAR-10/64", "VGG/CIFAR-10/64/amp"]);
        assert_eq!(cluster.tenants[1].name, "vcA");
        assert_eq!((trace.users.name(1), first.spec.user), ("u1", second.spec.user));
    }

    #[test]
    fn estimates_are_what_is_declared() {
        let folder = folder();
        let path = folder.join("estimates.csv");
        std::fs::write(&path, "job_id,priority\nj0,58\nj1,13.5\n").expect("a table");
        let options = Options { estimates: Some(path.clone()), ..Options::default() };
        let read = || read_text("t.csv", TRACE, &options, &mut Cluster::uniform(1, 8));
        let trace = read().expect("a trace");
        assert_eq!(trace.jobs()[1].spec.declared, Some(Span::from_micros(13_500_000)));
        assert_eq!(trace.jobs()[1].duration(), Span::from_secs(30));
        std::fs::write(&path, "job_id,priority\nj0,58\n").expect("a table");
        assert_eq!(read().expect_err("not complete").message, "there is no estimate for `j1`");
        std::fs::remove_dir_all(folder).expect("a folder");
    }

    #[test]
    fn numbers_are_checked() {
        let (error, _) = wrong(&TRACE.replace("j0,u1,vcA,1", "j0,u1,vcA,one"));
        assert_eq!(error, "t.csv:2: column 4 (`gpu_num`): expected a number, found `one`");
    }
}
