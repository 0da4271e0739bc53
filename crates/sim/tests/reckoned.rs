//! What runs are reckoned by: from when there are jobs, by all kinds of GPU, at the size they asked
//! for.

use heeler_model::{
    Cluster, Demand, JobSpec, Milli, Price, Sizes, Span, Tenant, TenantId, Time, Truth,
};
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

fn simulate(recipe: &str, world: World, cluster: Cluster, jobs: Vec<TraceJob>) -> Simulation {
    let recipe = heeler_recipes::find(recipe).expect("built in");
    let card = Card::read(recipe.text, recipe.name).expect("sound");
    let jobs = Box::new(Workload::new(jobs));
    Simulation::of_recipe(&card, world, Arc::new(cluster), jobs, 0)
}

fn run(recipe: &str, cluster: Cluster, jobs: Vec<TraceJob>) -> Summary {
    let mut simulation = simulate(recipe, World::default(), cluster, jobs);
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

/// Whatever `antman` gives a job of its GPUs on the books: alone it has all of them, and two on a
/// GPU have it once, each a half.
#[test]
fn gpus_that_jobs_share_are_held_once() {
    let mut cluster = Cluster::uniform(1, 4);
    cluster.tenants = vec![Tenant::named("sure"), Tenant::named("spare")];
    cluster.kinds[0].prices = vec![Price { from: Time::ZERO, micro: 2_000_000 }];
    let mut spare = job(3600, 4, 3600);
    (spare.spec.priority, spare.spec.tenant) = (-1, TenantId(1));
    let mut world = World::default();
    world.sharing.guarantee = true;
    let mut simulation = simulate("antman", world, cluster, vec![job(0, 4, 7200), spare]);
    simulation.keep_segments();
    simulation.run();
    let (summary, total) = (Summary::of(&simulation), simulation.timeline().total());
    let beside_h = summary.makespan_s / 3600.0 - 1.0;
    assert!((1.0..2.0).contains(&beside_h), "the two were there together: {summary:?}");
    let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
    assert!(near(summary.utilisation, 1.0), "{}", summary.utilisation);
    assert!(near(total.busy_milli_us, total.there_milli_us), "{total:?}");
    let hours = summary.gpu_hours;
    assert!(near(hours.useful, summary.makespan_s / 900.0), "{hours:?}");
    assert!(near(hours.lost, 0.0) && near(hours.idle, 0.0), "{hours:?}");
    assert!(near(summary.cost.expect("GPUs have a price"), hours.useful * 2.0), "{summary:?}");
    let had: Vec<f64> = summary.tenants.iter().map(|tenant| tenant.gpu_hours).collect();
    assert!(near(had[0] + had[1], hours.useful) && had[0] > 4.0, "{had:?}");
    let shares: Vec<f64> = summary.shares.iter().map(|share| share.had_gpu_hours).collect();
    assert!(near(shares[0], had[0]) && near(shares[1], had[1]), "{shares:?} {had:?}");
    let occupancy = simulation.occupancy().expect("it was kept");
    for row in 0..4 {
        for column in 0..occupancy.columns() - 1 {
            let look = occupancy.look(row, column).expect("somebody is there");
            assert!(look.held > 0.999, "{look:?}");
        }
    }
}

/// A job that asked for a part of a GPU holds no more than that of it.
#[test]
fn parts_that_nobody_asked_for_are_idle() {
    let part = |submit_s: u64| {
        let mut job = job(submit_s, 1, 3600);
        job.spec.demand.share = Milli(400);
        job
    };
    let summary = run("fifo", Cluster::uniform(1, 1), vec![part(0), part(0)]);
    assert!((summary.utilisation - 0.8).abs() < 1e-6, "{}", summary.utilisation);
}
