//! Jobs that change their batch on the way, in a plain world: they change at the end of an epoch,
//! say so, and go on at another pace.

use heeler_model::{Cluster, Demand, JobId, JobSpec, Span, Time, Truth};
use heeler_recipes::Card;
use heeler_sim::Simulation;
use heeler_sim::workload::{Change, Phases, Stage, TraceJob, Workload};
use heeler_sim::world::WorldCard;
use std::sync::Arc;

/// Ten epochs of 100 steps at 1 a second; from the fifth on half as many steps at the same rate.
fn job(submit_s: u64) -> TraceJob {
    let mut spec = JobSpec::new(Demand::gpus(1)).with_truth(Truth { work: 1000.0 });
    spec.nominal_pace = 1.0 / 1e6;
    let stage = |batch, steps| Stage { batch, steps, rates: vec![1.0] };
    let phases = Phases {
        epochs: 10,
        stages: vec![stage(8, 100.0), stage(16, 50.0)],
        due: vec![(0, 0), (4, 1)],
        change: Change::AtOnce,
        alone_s: 700.0,
    };
    TraceJob { phases: Some(Box::new(phases)), ..TraceJob::new(Time::from_secs(submit_s), spec) }
}

fn simulation(recipe: &str, jobs: Vec<TraceJob>) -> Simulation {
    let recipe = heeler_recipes::find(recipe).expect("a recipe");
    let card = Card::read(recipe.text, recipe.name).expect("a sound card");
    let world = WorldCard::find("plain").expect("a world").world();
    let cluster = Arc::new(Cluster::uniform(1, 1));
    Simulation::of_recipe(&card, world, cluster, Box::new(Workload::new(jobs)), 0)
}

#[test]
fn epochs_are_shorter_after_the_change() {
    let mut simulation = simulation("fifo", vec![job(0), job(0)]);
    simulation.run_until(Time::from_secs(450));
    let known = simulation.engine().state().job(JobId(0));
    assert_eq!(known.tempo.pace, 2.0, "it said so");
    assert!((known.progress.done_at(Time::from_secs(450)) - 500.0).abs() < 1e-6);
    simulation.run();
    let end = |job| simulation.records()[JobId(job)].ended.expect("it ends");
    assert_eq!([end(0), end(1)], [700, 1400].map(Time::from_secs));
    assert_eq!(simulation.records()[JobId(0)].alone, Span::from_secs(700));
}

#[test]
fn who_is_stopped_goes_on_with_the_batch_it_had() {
    // A shorter job comes after the change and runs first.
    let mut spec = JobSpec::new(Demand::gpus(1)).with_truth(Truth { work: 60e6 });
    spec.declared = Some(Span::from_secs(60));
    let short = TraceJob::new(Time::from_secs(500), spec);
    let mut simulation = simulation("srtf", vec![job(0), short]);
    simulation.run();
    let end = |job| simulation.records()[JobId(job)].ended.expect("it ends");
    assert_eq!([end(0), end(1)], [760, 560].map(Time::from_secs));
}
