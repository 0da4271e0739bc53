//! A simulation that goes on from an engine which decided elsewhere must take the way that the
//! engine's own world would have taken.

use heeler_engine::Engine;
use heeler_model::{
    Cluster, Demand, Event, JobId, JobSpec, Reason, Span, Tenant, TenantId, Time, Truth,
};
use heeler_recipes::{Card, find};
use heeler_sim::workload::{TraceJob, Workload};
use heeler_sim::world::{Cost, Costs, World};
use heeler_sim::{Before, Simulation};
use std::sync::Arc;

fn card(name: &str) -> Card {
    Card::read(find(name).expect("a recipe").text, name).expect("a card")
}

fn cluster() -> Arc<Cluster> {
    let mut cluster = Cluster::uniform(4, 4);
    cluster.tenants = ["a", "b"].map(Tenant::named).to_vec();
    cluster.tenants[0].quota = Some(8);
    cluster.tenants[1].quota = Some(8);
    Arc::new(cluster)
}

fn world() -> World {
    let (start, save, restore) = (Cost::fixed(3.0), Cost::fixed(2.0), Cost::fixed(4.0));
    let costs =
        Costs { start, save, restore, relocate: restore, resize: restore, ..Costs::default() };
    World { costs, ..World::default() }
}

/// Jobs of several sizes and lengths, all of them there by the 400th second.
fn jobs() -> Vec<TraceJob> {
    let sizes = [1, 2, 4, 8, 1, 3];
    let job = |index: u64| {
        let length = Span::from_secs(60 + index * 7919 % 1500);
        let truth = Truth { work: length.micros() as f64 };
        let gpus = sizes[(index * 31 % 6) as usize];
        let mut spec = JobSpec::new(Demand::gpus(gpus)).with_truth(truth);
        spec.declared = Some(length);
        spec.tenant = TenantId((index % 2) as u16);
        spec.priority = (index % 3) as i32;
        TraceJob::new(Time::from_secs(index * 5), spec)
    };
    (0..80).map(job).collect()
}

#[test]
fn the_way_is_the_same_as_without_an_interruption() {
    for name in ["fifo", "fifo-easy", "srtf", "las", "tiresias", "capacity", "priority", "gandiva"]
    {
        let mut whole = Simulation::of_recipe(
            &card(name),
            world(),
            cluster(),
            Box::new(Workload::new(jobs())),
            1,
        );
        whole.run_until(Time::from_secs(901));
        let mut engine = whole.engine().fork();
        engine.observe(whole.now(), Event::Tick);
        let work = |job: &heeler_engine::Job| whole.records()[job.id].work;
        let none = Box::new(Workload::default());
        let mut rest = Simulation::continuing(engine, world(), none, 1, work);
        assert_eq!(rest.now(), whole.now());
        let busy = (whole.level().busy_milli, rest.level().busy_milli);
        // Whoever packs may have given less of a GPU than was asked to one that is being saved.
        assert!(busy.0 == busy.1 || name == "gandiva", "{name}: as many GPUs are in use");
        // What a job was saved for in the past only its world knows, so waiting counts from here.
        let waited = |simulation: &Simulation, job: JobId| {
            simulation.records()[job].waited_by(simulation.now())
        };
        let jobs: Vec<JobId> = rest.records().iter().map(|(job, _)| job).collect();
        let before = jobs.iter().map(|job| (waited(&whole, *job), waited(&rest, *job)));
        let before: Vec<(Span, Span)> = before.collect();
        whole.run();
        rest.run();
        for ((job, record), before) in rest.records().iter().zip(&before) {
            let other = &whole.records()[job];
            assert_eq!(record.ended, other.ended, "{name}: the end of {job}");
            assert_eq!(record.preemptions, other.preemptions, "{name}: stops of {job}");
            let waits = (other.waited - before.0, record.waited - before.1);
            assert_eq!(waits.0, waits.1, "{name}: what {job} waited");
        }
        assert!(jobs.len() > 20, "{name}: {} jobs were not done", jobs.len());
    }
}

/// An engine with four jobs of one GPU, three of them held.
fn held() -> Engine {
    let cluster = Arc::new(Cluster::uniform(1, 1));
    let rules = world().rules;
    let mut engine = Engine::new(cluster, card("fifo").build(), rules, 1);
    for job in (1..=4).map(JobId) {
        let spec = Box::new(JobSpec::new(Demand::gpus(1)));
        engine.observe(Time::from_secs(5), Event::Submitted { job, spec });
        if job > JobId(1) {
            engine.observe(Time::from_secs(5), Event::Held { job, reason: Reason::HeldBack });
        }
    }
    engine
}

#[test]
fn held_jobs_start_when_what_they_wait_for_has_passed() {
    let work = |_: &heeler_engine::Job| 10e6;
    let none = Box::new(Workload::default());
    let mut simulation = Simulation::continuing(held(), World::default(), none, 1, work);
    let ends = |job| Before { ends: vec![JobId(job)], ..Before::default() };
    let until = Some(Time::from_secs(40));
    simulation.let_start(JobId(2), &Before { until, ..ends(1) });
    simulation.let_start(JobId(3), &ends(2));
    simulation.run();
    let started = |job| simulation.records()[JobId(job)].started.map(Time::secs_f64);
    assert_eq!(started(1), Some(5.0));
    assert_eq!(started(2), Some(40.0), "job 1 ended long before");
    assert_eq!(started(3), Some(50.0));
    assert_eq!(started(4), None, "nobody lets it start");
}

#[test]
fn in_a_line_one_starts_when_another_ends() {
    let work = |_: &heeler_engine::Job| 10e6;
    let none = Box::new(Workload::default());
    let mut simulation = Simulation::continuing(held(), World::default(), none, 1, work);
    for job in (1..=4).map(JobId) {
        simulation.stand_in_line(job, 1);
    }
    for job in (2..=4).map(JobId) {
        simulation.let_start(job, &Before { line: Some(1), ..Before::default() });
    }
    simulation.run();
    let started: Vec<Option<f64>> =
        (1..=4).map(|job| simulation.records()[JobId(job)].started.map(Time::secs_f64)).collect();
    assert_eq!(started, [Some(5.0), Some(15.0), Some(25.0), Some(35.0)]);
}
