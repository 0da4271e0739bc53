//! Shockwave's traces (Zheng et al., NSDI 2023): Gavel's columns and `adaptation_mode`, which says
//! how a job changes its batch on the way. The rules are those of its published simulator; a table
//! has the steps per second of each model, batch and number of GPUs.

mod batches;

use super::super::error::TraceError;
use super::super::phases::{Phases, Stage};
use super::super::row::Row;
use super::super::table::Table;
use super::gavel::{Throughputs, throughputs};
use super::reading::{Reading, stepped_job};
use batches::{Adapts, Model, Plan};
use heeler_model::{Demand, KindSet, Regimes};
use std::path::{Path, PathBuf};

/// More epochs than any job has are a slip.
const EPOCHS_MAX: f64 = 1e6;

pub(super) fn read(reading: &mut Reading<'_>, table: Table) -> Result<(), TraceError> {
    let path = throughputs_path(reading)?;
    let throughputs = throughputs(&path)?;
    table.each(|row| {
        let (plan, stages) = plan(reading, row, &throughputs, &path)?;
        let best = stages[0].rates.iter().copied().fold(0.0, f64::max);
        let due = plan.due();
        let profile = plan.profile();
        let seconds = |batch: u32| {
            let stage = stages.iter().find(|stage| stage.batch == batch).unwrap_or(&stages[0]);
            let rate = stage.rates.iter().copied().fold(0.0, f64::max);
            // Profiles count parts of steps.
            plan.model.examples() / f64::from(stage.batch) / rate
        };
        let alone_s: f64 = profile.iter().map(|batch| seconds(*batch)).sum();
        let largest = profile.iter().copied().max().unwrap_or(0);
        let in_time = due.iter().filter(|(from, _)| *from < plan.epochs);
        let last = in_time.map(|(_, stage)| *stage).max().unwrap_or(0);
        let used = stages.iter().enumerate();
        let used = used.filter(|(index, stage)| *index <= last || stage.batch <= largest);
        let epoch_s = used.map(|(_, stage)| seconds(stage.batch)).collect();
        let total = row.positive("total_steps")?;
        let submit = row.time("arrival_s", 1.0)?;
        let mut job = stepped_job(submit, total, best, Demand::gpus(plan.gpus));
        job.name = row.get("job_id").map(Into::into);
        job.spec.model = reading.model(row.text("job_type")?)?;
        if row.get("priority_weight").is_some() {
            job.spec.priority = row.positive("priority_weight")?.round() as i32;
        }
        job.spec.declared = Some(row.span_of("total_steps", alone_s)?);
        let (epochs, change) = (plan.epochs, plan.adapts.change());
        let extras = job.spec.extras_mut();
        extras.rates.clone_from(&stages[0].rates);
        extras.regimes = Some(Regimes { epochs, epoch_s });
        job.phases = Some(Box::new(Phases { epochs, stages, due, change, alone_s }));
        reading.push(job);
        Ok(())
    })
}

/// How the job of a row changes its batch, and how it counts and runs with each.
fn plan(
    reading: &mut Reading<'_>,
    row: &Row<'_>,
    throughputs: &Throughputs,
    path: &Path,
) -> Result<(Plan, Vec<Stage>), TraceError> {
    let (job_type, gpus) = (row.text("job_type")?, row.count("num_gpus")?);
    let (model, batch) = Model::of(job_type).ok_or_else(|| {
        row.wrong("job_type", format!("expected a model and its batch, found `{job_type}`"))
            .hint("such as `LM (batch size 10)`")
    })?;
    let mode = row.text("adaptation_mode")?;
    let adapts = Adapts::of(mode).ok_or_else(|| {
        let message = format!("expected static, accordion or gns, found `{mode}`");
        row.wrong("adaptation_mode", message)
    })?;
    let steps = |batch: u32| (model.examples() / f64::from(batch)).ceil();
    let epochs = (row.positive("total_steps")? / steps(batch)).ceil();
    if epochs > EPOCHS_MAX {
        return Err(row.wrong("total_steps", format!("makes {epochs:e} epochs, which is too many")));
    }
    let epochs = epochs.max(1.0) as u32;
    let mut batches = adapts.batches(model, batch, gpus);
    let mut stages = Vec::new();
    for batch in &batches {
        match rates(reading, row, throughputs, (model, *batch, gpus), path) {
            Ok(rates) => stages.push(Stage { batch: *batch, steps: steps(*batch), rates }),
            // Nobody changes to what was not measured.
            Err(_) if !stages.is_empty() => break,
            Err(error) => return Err(error),
        }
    }
    batches.truncate(stages.len());
    Ok((Plan { adapts, model, batch, gpus, epochs, batches }, stages))
}

/// The rates of a model with a batch on so many GPUs, by kind.
fn rates(
    reading: &mut Reading<'_>,
    row: &Row<'_>,
    throughputs: &Throughputs,
    (model, batch, gpus): (Model, u32, u32),
    path: &Path,
) -> Result<Vec<f64>, TraceError> {
    let job_type = format!("{} (batch size {batch})", model.name());
    let Some(rates) = throughputs.get(&(job_type.clone(), gpus)) else {
        let message = format!("`{job_type}` on {gpus} GPUs is not in {}", path.display());
        return Err(row.wrong("job_type", message).hint("give another table of throughputs"));
    };
    let rates: Vec<(&str, f64)> = rates.iter().map(|(kind, rate)| (kind.as_str(), *rate)).collect();
    let (known, best) =
        reading.rates(&rates, KindSet::ANY, &|message| row.wrong("job_type", message))?;
    // On other kinds than those that were measured, a job is as fast as on the best of them.
    Ok(if known.is_empty() { vec![best; reading.cluster.kinds.len()] } else { known })
}

/// The table an option names, or the one near the trace.
fn throughputs_path(reading: &Reading<'_>) -> Result<PathBuf, TraceError> {
    let table = "throughput_isolated_tacc.csv";
    reading.companion(reading.options.throughputs.as_ref(), table).ok_or_else(|| {
        let message = "counts steps, and a table must say how many a second a kind of GPU does";
        TraceError::file(reading.path, message)
            .hint(format!("give option `throughputs`, or put `{table}` above the trace"))
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::folder;
    use crate::workload::{Options, Trace, TraceError, read};
    use heeler_model::Regimes;

    const HEADER: &str = "job_id,arrival_s,job_type,num_gpus,total_steps,adaptation_mode\n";
    const TABLE: &str = "gpu_type,job_type,num_gpus,steps_per_s\n\
                         v100,ResNet-18 (batch size 32),1,10\nv100,ResNet-18 (batch size 256),1,5\n\
                         v100,LM (batch size 10),1,100\nv100,LM (batch size 20),1,80\n";

    fn read_rows(rows: &str) -> Result<Trace, TraceError> {
        let folder = folder();
        std::fs::write(folder.join("trace.csv"), format!("{HEADER}{rows}")).expect("a trace");
        let table = folder.join("throughput_isolated_tacc.csv");
        std::fs::write(table, TABLE).expect("a table");
        let mut cluster = crate::cluster::parse("v100=4").expect("a cluster");
        let trace = read(&folder.join("trace.csv"), &Options::default(), &mut cluster);
        std::fs::remove_dir_all(folder).expect("a folder");
        trace
    }

    #[test]
    fn jobs_know_their_epochs_and_what_they_go_through() {
        // An epoch has 1563 steps of 32 examples and 196 of 256.
        let trace = read_rows("0,5,ResNet-18 (batch size 32),1,31260,accordion\n");
        let trace = trace.expect("a sound trace");
        let job = &trace.jobs()[0];
        let phases = job.phases.as_ref().expect("it goes through phases");
        assert_eq!((phases.epochs, phases.stages.len()), (20, 2));
        assert_eq!(phases.due, [(0, 0), (10, 1)]);
        let (small, large) = (50_000.0 / 32.0 / 10.0, 50_000.0 / 256.0 / 5.0);
        let regimes = Regimes { epochs: 20, epoch_s: vec![small, large] };
        assert_eq!(job.spec.regimes(), Some(&regimes));
        let alone = 10.0 * small + 10.0 * large;
        assert!((job.duration().secs_f64() - alone).abs() < 1e-3, "{}", job.duration());
    }

    #[test]
    fn nobody_changes_to_what_was_not_measured() {
        let trace = read_rows("0,0,LM (batch size 10),1,200000,gns\n").expect("a sound trace");
        let phases = trace.jobs()[0].phases.as_ref().expect("phases");
        assert_eq!(phases.stages.iter().map(|stage| stage.batch).collect::<Vec<_>>(), [10, 20]);
    }

    #[test]
    fn mistakes_are_named() {
        let error = read_rows("0,0,LM (batch size 10),1,9,sometimes\n").expect_err("no such mode");
        assert_eq!(error.message, "expected static, accordion or gns, found `sometimes`");
        let error = read_rows("0,0,LM,1,9,static\n").expect_err("no batch");
        assert_eq!(error.message, "expected a model and its batch, found `LM`");
        let error = read_rows("0,0,LM (batch size 10),1,1e15,static\n").expect_err("too many");
        assert!(error.message.ends_with("which is too many"), "{}", error.message);
    }
}
