//! A million jobs: what a job costs in all, as a multiple of a bare loop over as many events, and
//! whether twice the jobs cost twice as much.

use super::clock::{median, timed};
use super::report::Figure;
use super::{Scope, bare, setup, step};
use anyhow::Result;
use heeler_model::Cluster;
use heeler_recipes::Card;
use heeler_sim::workload::Workload;
use std::sync::Arc;

const JOBS: usize = 1_000_000;
const LOAD: f64 = 0.8;
const ROUNDS: usize = 3;

/// What a job may cost under each recipe, in bare loops.
const TARGETS: [(&str, f64); 3] = [("fifo", 30.0), ("srtf", 60.0), ("tiresias", 100.0)];

/// Twice the jobs may cost so many times as much.
const DOUBLING_TARGET: f64 = 2.2;

/// Cost per job, in microseconds and in bare loops.
pub(super) fn measure(scope: &Scope) -> Result<Vec<Figure>> {
    let jobs = scope.of(JOBS);
    step(&format!("million: making {jobs} jobs"));
    let (cluster, workload) = setup::philly(setup::PHILLY_NODES, jobs, LOAD, None)?.in_memory();
    let mut figures = Vec::new();
    for (name, target) in TARGETS.into_iter().filter(|(name, _)| scope.has(name)) {
        let card = setup::recipe(name)?;
        let (mut costs, mut ratios) = (Vec::new(), Vec::new());
        // How many events are pending is not known before the first run.
        let (_, mut pending) = run(&card, &cluster, &workload);
        for round in 1..=ROUNDS {
            step(&format!("million: {name}, run {round} of {ROUNDS}"));
            // The peer before and after: what else the machine does then tells on both.
            let before = bare::seconds(jobs, pending as usize);
            let cost;
            (cost, pending) = run(&card, &cluster, &workload);
            let after = bare::seconds(jobs, pending as usize);
            ratios.push(cost / ((before + after) / 2.0));
            costs.push(cost * 1e6 / jobs as f64);
        }
        let figure = Figure::new(format!("million {name}"), median(costs), "µs/job");
        figures.push(figure.against("bare event loop", median(ratios)).at_most(target));
    }
    Ok(figures)
}

/// Cost of so many jobs against that of half as many.
pub(super) fn measure_doubling(scope: &Scope) -> Result<Vec<Figure>> {
    let jobs = scope.of(JOBS);
    step(&format!("doubling: making {} and {jobs} jobs", jobs / 2));
    let (cluster, half) = setup::philly(setup::PHILLY_NODES, jobs / 2, LOAD, None)?.in_memory();
    let (_, whole) = setup::philly(setup::PHILLY_NODES, jobs, LOAD, None)?.in_memory();
    let mut figures = Vec::new();
    for (name, _) in TARGETS.into_iter().filter(|(name, _)| scope.has(name)) {
        let card = setup::recipe(name)?;
        let (mut costs, mut ratios) = (Vec::new(), Vec::new());
        for round in 1..=ROUNDS {
            step(&format!("doubling: {name}, run {round} of {ROUNDS}"));
            let before = run(&card, &cluster, &half).0;
            let cost = run(&card, &cluster, &whole).0;
            let after = run(&card, &cluster, &half).0;
            ratios.push(cost / ((before + after) / 2.0));
            costs.push(cost);
        }
        let figure = Figure::new(format!("doubling {name}"), median(costs), "s");
        figures.push(figure.against("half the jobs", median(ratios)).at_most(DOUBLING_TARGET));
    }
    Ok(figures)
}

/// CPU seconds of a simulation, and how many jobs ran at a time on average, each of which has one
/// event pending.
fn run(card: &Card, cluster: &Arc<Cluster>, workload: &Workload) -> (f64, f64) {
    let mut simulation = setup::simulation(card, cluster, Box::new(workload.clone()));
    let ((), seconds) = timed(|| simulation.run());
    let total = simulation.timeline().total();
    (seconds, total.running_us / simulation.now().micros() as f64)
}
