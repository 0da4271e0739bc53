//! Decisions of `muri-s` with 500 jobs of one GPU waiting for 128: nearly all of them are
//! considered, matched two and two, and the twos again. Jobs of eight models, and jobs that all
//! differ; of these, also the matching by itself, begun from halves and from nothing.

use super::choose::Numbers;
use super::clock::{median, timed};
use super::report::Figure;
use super::{Scope, setup, step};
use anyhow::Result;
use heeler_engine::{Engine, Rules};
use heeler_model::{Demand, Event, JobId, JobSpec, Stages, Time};
use heeler_solve::interleave::Interleaving;
use heeler_solve::{heaviest_from_halves, heaviest_matching};
use std::sync::Arc;

const CLUSTER: &str = "16x8";
const GPUS: usize = 128;
const JOBS: u32 = 500;
const DECISIONS: u32 = 9;
const TARGET_MS: f64 = 20.0;

/// Milliseconds of an iteration and of its stages (input, GPU, network), as measured by Muri's
/// authors of eight models on one GPU.
pub(super) const MODELS: [(f64, [f64; 3]); 8] = [
    (107.0, [117.0, 68.0, 0.0]),
    (109.0, [114.0, 80.0, 0.0]),
    (779.0, [711.0, 110.0, 0.0]),
    (798.0, [706.0, 59.0, 0.0]),
    (178.0, [0.5, 160.0, 0.0]),
    (426.0, [0.6, 410.0, 0.0]),
    (517.0, [514.0, 14.0, 0.0]),
    (490.0, [446.0, 8.0, 0.0]),
];

/// CPU time of a decision.
pub(super) fn measure(_scope: &Scope) -> Result<Vec<Figure>> {
    let alike = decisions(false)?;
    let different = decisions(true)?;
    let name = |of: &str| format!("muri-s, 500 jobs of {of} waiting");
    let peer = "the same with eight models";
    Ok(vec![
        Figure::new(name("eight models"), alike, "ms/decision").at_most(TARGET_MS),
        Figure::new(name("their own each"), different, "ms/decision")
            .against(peer, different / alike),
        matching(),
    ])
}

/// CPU time of the first matching of jobs that all differ, against the same from nothing.
fn matching() -> Figure {
    step(&format!("the heaviest matching of {JOBS} jobs, {DECISIONS} times from halves"));
    let mut random = Numbers(3);
    let interleaving = Interleaving::default();
    let stages = |number: u32, random: &mut Numbers| {
        let times = random.between(0.8, 1.25) / 1e3;
        MODELS[number as usize % MODELS.len()].1.map(|stage| stage * times)
    };
    let jobs: Vec<[f64; 3]> = (0..JOBS).map(|number| stages(number, &mut random)).collect();
    let busy = |one: usize, other: usize| match one == other {
        true => 0.0,
        false => interleaving.busy(&[&jobs[one.min(other)], &jobs[one.max(other)]]).unwrap_or(0.0),
    };
    let row = |one: usize| (0..jobs.len()).map(|other| busy(one, other)).collect();
    let weights: Vec<Vec<f64>> = (0..jobs.len()).map(row).collect();
    let times = (0..DECISIONS).map(|_| timed(|| heaviest_from_halves(&weights)).1 * 1e3);
    let halves = median(times.collect());
    let (_, nothing) = timed(|| heaviest_matching(&weights, usize::MAX));
    Figure::new("a matching of 500 jobs that all differ".to_owned(), halves, "ms")
        .against("the same from nothing", halves / (nothing * 1e3))
        .below(TARGET_MS)
}

fn decisions(different: bool) -> Result<f64> {
    step(&format!("muri-s: {DECISIONS} decisions on {JOBS} waiting jobs"));
    let mut random = Numbers(3);
    let mut times = Vec::new();
    for decision in 0..DECISIONS {
        let cluster = Arc::new(heeler_sim::cluster::read(CLUSTER)?);
        let mut engine =
            Engine::new(cluster, setup::recipe("muri-s")?.build(), Rules::default(), 1);
        for number in 0..JOBS {
            let (iteration, stages) = MODELS[((number * 7 + decision) % 8) as usize];
            let times = if different { random.between(0.8, 1.25) } else { 1.0 };
            let mut spec = JobSpec::new(Demand::gpus(1));
            spec.declared = Some(heeler_model::Span::from_secs(u64::from(number + 1)));
            let stage_s = stages.iter().map(|stage| stage * times / 1e3).collect();
            let iteration_s = iteration * times / 1e3;
            spec.extras_mut().stages = Some(Stages { iteration_s, stage_s });
            let spec = Box::new(spec);
            engine.observe(Time::ZERO, Event::Submitted { job: JobId(number), spec });
        }
        let (step, seconds) = timed(|| engine.decide(Time::ZERO));
        anyhow::ensure!(step.actions.len() > GPUS, "nobody shares GPUs");
        times.push(seconds * 1e3);
    }
    Ok(median(times))
}
