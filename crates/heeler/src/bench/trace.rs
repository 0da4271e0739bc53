//! A whole trace of somebody's cluster under each recipe, beside the speed at which the authors of
//! the scheduler simulated theirs. The cluster has as many nodes of eight GPUs as make it busy for
//! nine tenths of the time.

use super::clock::timed;
use super::muri::MODELS;
use super::report::Figure;
use super::{Scope, setup, step};
use anyhow::{Context, Result};
use heeler_model::{Cluster, Stages};
use heeler_sim::workload::{Options, TraceJob, Workload, read};
use std::sync::Arc;

const LOAD: f64 = 0.9;
/// At least so many times as fast as the authors.
const TIMES: f64 = 100.0;

/// Jobs per CPU second of published simulators on jobs of Philly, as recorded for that scheduler;
/// of others the fastest of all, which is FIFO in Tiresias' simulator. Of Lucid's and Synergy's the
/// most that was recorded, by the wall.
fn published(recipe: &str) -> (&'static str, f64) {
    match recipe {
        "muri-s" | "muri-l" => ("Muri's simulator with matching, 28/s", 28.0),
        "lucid" => ("Lucid's simulator, 20/s", 20.0),
        "qssf" => ("Lucid's simulator, QSSF, 20/s", 20.0),
        "synergy" => ("Synergy's simulator, 3/s", 3.0),
        "ali-mlaas" => ("PAI's simulator, 350/s", 350.0),
        "srtf" | "fifo-skip" => ("Blox, 10/s", 10.0),
        "fifo" => ("Tiresias' simulator, FIFO, 1,300/s", 1_300.0),
        "srsf" => ("Tiresias' simulator, SRSF, 1,000/s", 1_000.0),
        "tiresias" => ("Tiresias' simulator, 2D-LAS, 800/s", 800.0),
        _ => ("fastest published, 1,300/s", 1_300.0),
    }
}

/// Jobs per CPU second under every recipe that needs no more than a trace.
pub(super) fn measure(scope: &Scope) -> Result<Vec<Figure>> {
    let Some(path) = &scope.trace else {
        step("trace: left out; name a file with --trace FILE");
        return Ok(Vec::new());
    };
    let mut cluster = Cluster::uniform(1, setup::GPUS_PER_NODE);
    let trace = read(path, &Options::default(), &mut cluster)?;
    let jobs = &trace.jobs()[..scope.of(trace.jobs().len())];
    let cluster = Arc::new(busy(cluster, jobs)?);
    let mut figures = Vec::new();
    for card in setup::of_traces(scope)? {
        step(&format!(
            "trace: {} jobs on {} nodes, {}",
            jobs.len(),
            cluster.nodes.len(),
            card.name
        ));
        let jobs = if card.groups.is_some() { with_stages(jobs) } else { jobs.to_vec() };
        let count = jobs.len() as f64;
        let workload = Box::new(Workload::new(jobs));
        let mut simulation = setup::simulation(&card, &cluster, workload);
        let ((), seconds) = timed(|| simulation.run());
        step(&format!("trace: {seconds:.1} s of CPU time"));
        let (peer, theirs) = published(&card.name);
        let rate = count / seconds;
        let figure = Figure::new(format!("trace {}", card.name), rate, "jobs/s");
        let figure = figure.against(peer, rate / theirs);
        // Where a peer ran this scheduler itself.
        let own = !peer.starts_with("fastest");
        figures.push(if own { figure.at_least(TIMES * theirs) } else { figure });
    }
    Ok(figures)
}

/// The cluster with so many nodes, and an equal quota for everybody.
fn busy(cluster: Cluster, jobs: &[TraceJob]) -> Result<Cluster> {
    let last = jobs.iter().map(|job| job.submit).max().context("the trace has no jobs")?;
    let work: f64 = jobs.iter().map(TraceJob::gpu_seconds).sum();
    let largest = jobs.iter().map(|job| job.spec.demand.asked()).max().unwrap_or(1);
    let gpus = (work / last.secs_f64().max(1.0) / LOAD).max(f64::from(largest));
    let nodes = (gpus / f64::from(setup::GPUS_PER_NODE)).ceil() as u32;
    let tenants = cluster.tenants;
    let mut cluster = Cluster::uniform(nodes, setup::GPUS_PER_NODE);
    cluster.tenants = tenants;
    let quota = cluster.gpus() / cluster.tenants.len().max(1) as u32;
    for tenant in &mut cluster.tenants {
        tenant.quota = Some(quota);
    }
    Ok(cluster)
}

/// The jobs with stages, as if they trained models that were measured, one after another.
fn with_stages(jobs: &[TraceJob]) -> Vec<TraceJob> {
    let mut jobs = jobs.to_vec();
    for (place, job) in jobs.iter_mut().enumerate() {
        let (iteration, stages) = MODELS[place * 7 % MODELS.len()];
        let stage_s = stages.iter().map(|stage| stage / 1e3).collect();
        let stages = Stages { iteration_s: iteration / 1e3, stage_s };
        job.spec.extras_mut().stages = Some(stages);
    }
    jobs
}
