//! Decisions of `sia` on 1,024 GPUs of three kinds, while jobs learn and grow: models are fitted to
//! what jobs reported, goodput is reckoned for every shape, and one programme is solved for all.

use super::clock::{median, timed};
use super::report::Figure;
use super::{Scope, setup, step};
use anyhow::Result;
use heeler_engine::{Engine, Rules};
use heeler_model::{
    Action, Batch, Demand, Event, Exit, Generation, JobId, JobSpec, Report, Sizes, Time,
};
use std::sync::Arc;

const CLUSTER: &str = "96x4:small+32x8:fast+48x8:slow";
/// As many as were there at most when the authors' program decided in 161 ms of CPU time.
const JOBS: u32 = 190;
const ROUNDS: u64 = 30;
/// By then most jobs have grown and know two kinds of GPU.
const WARM_UP: usize = 10;
const RECORDED_MS: f64 = 161.0;
const TARGET_MS: f64 = 20.0;

/// How fast one GPU of each kind is, and how long an exchange takes within a node and across.
const SPEEDS: [(f64, f64, f64); 3] = [(1.0, 0.02, 0.3), (4.0, 0.005, 0.05), (1.6, 0.02, 0.2)];

/// CPU time of a decision.
pub(super) fn measure(_scope: &Scope) -> Result<Vec<Figure>> {
    step(&format!("sia: {ROUNDS} rounds with {JOBS} jobs"));
    let cluster = Arc::new(heeler_sim::cluster::read(CLUSTER)?);
    let policy = setup::recipe("sia")?.build();
    let mut engine = Engine::new(cluster, policy, Rules::default(), 1);
    for number in 0..JOBS {
        let spec = Box::new(job(number));
        engine.observe(Time::ZERO, Event::Submitted { job: JobId(number), spec });
    }
    let mut times = Vec::new();
    for round in 1..=ROUNDS {
        let now = Time::from_secs(60 * round);
        for number in 0..JOBS {
            report(&mut engine, now, JobId(number), round);
        }
        let (decided, seconds) = timed(|| engine.decide(now));
        times.push(seconds * 1e3);
        let mut actions = decided.actions;
        // Jobs that are told to stop do so at once, and those who are to follow start.
        while !actions.is_empty() {
            for action in &actions {
                if let Action::Stop { job, generation, .. } = *action {
                    let exit = Exit::Saved { done: 0.0 };
                    engine.observe(now, Event::Stopped { job, generation, exit });
                }
            }
            actions = engine.decide(now).actions;
        }
    }
    let time = median(times.split_off(WARM_UP));
    let figure = Figure::new("sia, 1,024 GPUs, 190 jobs".into(), time, "ms/decision");
    let authors = Figure::new("sia, beside the authors' program".into(), time, "ms/decision");
    Ok(vec![
        figure.at_most(TARGET_MS),
        authors.against("161 ms of CPU time, as recorded", time / RECORDED_MS),
    ])
}

/// A job that can use up to 64 GPUs, and a batch of up to 32 times the one it began with.
fn job(number: u32) -> JobSpec {
    let mut spec = JobSpec::new(Demand { sizes: Sizes::range(1, 8, 64), ..Demand::gpus(8) });
    let batch = Batch {
        asked: 4096,
        adapts: true,
        initial: 128,
        most: 1024 << (number % 3),
        on_gpu: vec![(32, 512), (32, 2048), (32, 1024)],
        alone: SPEEDS.map(|(speed, ..)| 1000.0 * speed).to_vec(),
    };
    let extras = spec.extras_mut();
    extras.batch = Some(batch);
    extras.restart_s = Some(30.0);
    spec
}

/// What a running job has to say: how long its steps took, and how noisy gradients are by now.
fn report(engine: &mut Engine, now: Time, job: JobId, round: u64) {
    let state = engine.state().job(job);
    let Some(on) = state.assignment.as_ref().filter(|_| state.is_running()) else { return };
    let (generation, replicas) = (state.generation, on.gpus());
    let nodes = on.placement.nodes() as u32;
    let kind = engine.state().fleet().kind_of(on.placement.slices()[0].node);
    let (speed, within_s, across_s) = SPEEDS[kind.index()];
    let batch = 32 + 16 * (round as u32 % 4 + job.0 % 7);
    let gradient_s = (0.02 + f64::from(batch) * 1e-3) / speed;
    let fixed = if nodes > 1 { across_s } else { within_s };
    let exchange_s = if replicas > 1 { fixed * (1.0 + 0.01 * f64::from(replicas)) } else { 0.0 };
    let step_s = gradient_s + exchange_s;
    let steps = Report::Step { nodes, replicas, batch, accumulation: 0, step_s, exchange_s };
    let variance = 1.0 + f64::from(job.0 % 11) + round as f64 / 4.0;
    for report in [steps, Report::Noise { square: 1.0, variance }] {
        engine.observe(now, reported(job, generation, report));
    }
}

fn reported(job: JobId, generation: Generation, report: Report) -> Event {
    Event::Reported { job, generation, report }
}
