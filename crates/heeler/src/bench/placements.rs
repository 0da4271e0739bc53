//! Placements in a large cluster, one decision each: what a cluster manager has to keep up with.

use super::clock::{median, timed};
use super::report::Figure;
use super::{Scope, setup, step};
use anyhow::Result;
use heeler_model::{Cluster, Demand, JobSpec, Span, Time, Truth};
use heeler_sim::workload::{TraceJob, Workload};
use std::sync::Arc;

const NODES: u32 = 5_000;
const GPUS_PER_NODE: u32 = 8;
const JOBS: usize = 50_000;
const ROUNDS: usize = 3;

/// Jobs come so long after one another, so that each is decided on alone …
const GAP: Span = Span::from_micros(1_000);
/// … and run so long that 30,000 of the 40,000 GPUs are in use.
const RUN: Span = Span::from_secs(30);

/// What the Kubernetes scheduler's own performance tests ask of it on 5,000 nodes, at most.
const KUBERNETES_PER_S: f64 = 810.0;

/// Placements per CPU second.
pub(super) fn measure(scope: &Scope) -> Result<Vec<Figure>> {
    let jobs = scope.of(JOBS);
    let cluster = Arc::new(Cluster::uniform(NODES, GPUS_PER_NODE));
    let job = |number: usize| {
        let submit = Time::ZERO + Span::from_micros(number as u64 * GAP.micros());
        let truth = Truth { work: RUN.micros() as f64 };
        TraceJob::new(submit, JobSpec::new(Demand::gpus(1)).with_truth(truth))
    };
    let workload = Workload::new((0..jobs).map(job).collect());
    let card = setup::recipe("fifo")?;
    let mut rates = Vec::new();
    for round in 1..=ROUNDS {
        step(&format!("placements: run {round} of {ROUNDS}"));
        let mut simulation = setup::simulation(&card, &cluster, Box::new(workload.clone()));
        let last = job(jobs - 1).submit;
        let ((), seconds) = timed(|| simulation.run_until(last));
        rates.push(jobs as f64 / seconds);
    }
    let rate = median(rates);
    let figure = Figure::new("placements fifo".into(), rate, "/s");
    Ok(vec![figure.against("kube-scheduler's gate of 810/s", rate / KUBERNETES_PER_S)])
}
