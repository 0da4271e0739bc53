//! What runs are reckoned by: from when there are jobs, by all kinds of GPU, at the size they asked
//! for.

use heeler_model::{Cluster, Demand, JobSpec, Sizes, Span, Time, Truth};
use heeler_recipes::Card;
use heeler_sim::metrics::Summary;
use heeler_sim::workload::{TraceJob, Workload};
use heeler_sim::world::World;
use heeler_sim::{Simulation, cluster};
use std::sync::Arc;

fn job(submit_s: u64, gpus: u32, length_s: u64) -> TraceJob {
    let length = Span::from_secs(length_s);
    let mut spec =
        JobSpec::new(Demand::gpus(gpus)).with_truth(Truth { work: length.micros() as f64 });
    spec.declared = Some(length);
    TraceJob::new(Time::from_secs(submit_s), spec)
}

fn run(recipe: &str, cluster: Cluster, jobs: Vec<TraceJob>) -> Summary {
    let recipe = heeler_recipes::find(recipe).expect("built in");
    let card = Card::read(recipe.text, recipe.name).expect("sound");
    let jobs = Box::new(Workload::new(jobs));
    let mut simulation = Simulation::of_recipe(&card, World::default(), Arc::new(cluster), jobs, 0);
    simulation.run();
    Summary::of(&simulation)
}

/// Jobs of a trace may be submitted on any date.
#[test]
fn nothing_is_reckoned_before_the_first_job() {
    let date = 1_700_000_000;
    let summary = run("fifo", Cluster::uniform(1, 8), vec![job(date, 8, 3600), job(date, 8, 3600)]);
    assert!((summary.utilisation - 1.0).abs() < 1e-9, "{}", summary.utilisation);
    assert_eq!((summary.makespan_s, summary.gpu_hours.idle), (7200.0, 0.0));
}

/// An elastic job that asks for more than there is takes as much longer.
#[test]
fn who_asks_for_more_than_there_is_gets_on_more_slowly() {
    for (gpus, end_s) in [(1, 28_800.0), (2, 14_400.0), (4, 7200.0), (8, 3600.0)] {
        let mut asks = job(0, 8, 3600);
        asks.spec.demand.sizes = Sizes::range(1, 8, 8);
        let summary = run("fifo", Cluster::uniform(1, gpus), vec![asks]);
        assert_eq!(summary.makespan_s, end_s);
    }
}

/// Two jobs with equal parts of two kinds have what they would have with equal parts.
#[test]
fn equal_parts_of_every_kind_are_fair() {
    let both = (0..2).map(|_| {
        let mut job = job(0, 1, 90_000);
        job.spec = job.spec.with_truth(Truth { work: 3_600_000.0 });
        job.spec.nominal_pace = 40.0 / 1e6;
        job.spec.extras_mut().rates = vec![40.0, 10.0];
        job
    });
    let cluster = cluster::parse("1x1:v100+1x1:k80").expect("a cluster");
    let rho = run("gavel-isolated", cluster, both.collect()).fairness.isolated.ratio;
    assert!((rho.mean - 1.0).abs() < 0.02 && rho.max < 1.05, "{rho:?}");
}
