//! What the cards of `clipper` and `mixed` promise.

use crate::scene::{Knobs, Scene, job};
use heeler_model::{Span, Time};
use heeler_recipes::{Card, find};
use heeler_sim::Simulation;
use heeler_sim::metrics::Summary;
use heeler_sim::services::{self, ServiceSpec};
use heeler_sim::workload::{GeneratorOptions, Workload};
use std::sync::Arc;

/// A model that takes 8 ms for any batch and 1.2 ms for each request in it, to answer within 100
/// ms. Singly it answers 109 requests a second at most, 32 at a time 689.
fn service(rate_per_s: u32, rest: &str) -> String {
    format!(
        "name = \"web\"\ntenant = \"web\"\npriority = 10\nload-s = 5\n{rest}\n\
         [traffic]\nrate-per-s = {rate_per_s}\nSHAPE\n\
         [model.batch]\ntarget-ms = 100\nrouter = \"shortest-queue\"\nbatcher = {{ fixed = 64 }}\n\
         latency = {{ linear = {{ fixed-ms = 8, per-request-ms = 1.2 }} }}\nnoise-cv = 0.1\n"
    )
}

/// Run a recipe on a scene with a service.
fn serve(recipe: &str, scene: &Scene, text: &str, knobs: Knobs) -> Simulation {
    let mut cluster = scene.cluster.clone();
    let spec = services::parse(text, "web.toml", &mut cluster).expect("a service");
    let own = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
    let settings: Vec<(String, String)> = knobs.iter().map(own).collect();
    let card = find(recipe).expect("the recipe is built in").text;
    let card = Card::read_with(card, recipe, &settings).expect("a card");
    let jobs = Box::new(Workload::new(scene.jobs.clone()));
    let specs: [ServiceSpec; 1] = [spec.under(&card)];
    Simulation::of_recipe(&card, scene.world.clone(), Arc::new(cluster), jobs, 1)
        .with_services(&specs)
}

#[test]
fn clipper_batches_as_much_as_the_target_allows() {
    let scene = Scene::new("1x1", []);
    let text = service(400, "replicas = 1\nuntil = \"10 min\"").replace("SHAPE", "");
    let figures = |knobs: Knobs| {
        let mut simulation = serve("clipper", &scene, &text, knobs);
        simulation.run();
        Summary::of(&simulation).services[0].clone()
    };
    let singly = figures(&[("batching", "{ fixed = 1 }")]);
    let batched = figures(&[]);
    assert!(singly.attainment < 0.3, "{singly:?}");
    assert!(batched.attainment > 0.98, "{batched:?}");
    // 400 requests a second fill a batch of about seven: 8 + 1.2 b milliseconds for b of them.
    assert!((4.0..16.0).contains(&batched.batch), "{batched:?}");
    assert!(batched.latency_ms.p99 < 100.0, "{batched:?}");
}

#[test]
fn clipper_lends_the_night_and_takes_back_the_day() {
    // An hour with hardly anybody, then an hour with all, and so on; four GPUs, and four long jobs
    // of low priority.
    let rows = (0..4).map(|index| job(&index.to_string(), 0, 1, 20_000));
    let scene = Scene::new("1x4", rows);
    let shape = "shape = { step-s = 3600, factors = [0.02, 1.0] }";
    let text = service(1500, "replicas = 4\nuntil = \"4 h\"").replace("SHAPE", shape);
    let mut simulation = serve("clipper", &scene, &text, &[]);
    let training_at = |simulation: &mut Simulation, minutes: u64| {
        simulation.run_until(Time::ZERO + Span::from_secs(minutes * 60));
        let jobs = simulation.engine().state().jobs();
        jobs.iter().filter(|job| job.is_running() && job.spec.replica().is_none()).count()
    };
    assert_eq!(training_at(&mut simulation, 30), 3, "at night one replica is enough");
    assert!(training_at(&mut simulation, 90) <= 1, "by day replicas come first");
    assert_eq!(training_at(&mut simulation, 150), 3, "and the next night they are lent again");
    simulation.run();
    let summary = Summary::of(&simulation);
    assert!(summary.services[0].attainment > 0.97, "{:?}", summary.services[0]);
    assert_eq!(summary.jobs.finished, 4, "what was lent was used, and jobs end after the service");
}

#[test]
fn clipper_without_services_is_priority() {
    is_priority("clipper");
}

#[test]
fn mixed_without_either_is_priority() {
    is_priority("mixed");
}

fn is_priority(recipe: &str) {
    const PLAIN: &str = "name = \"plain\"\nsummary = \"By priority.\"\n[policy]\n\
                         order = \"priority\"\npreempt = \"strictly-by-order\"\nfit = \"skip\"\n";
    let options = GeneratorOptions { jobs: 400, load: 1.2, ..GeneratorOptions::default() };
    let mut scene = Scene::generated("4x8", &options);
    for (index, job) in scene.jobs.iter_mut().enumerate() {
        job.spec.priority = index as i32 * 7 % 5;
    }
    let run = scene.run(recipe, &[]);
    let card = Card::read(PLAIN, "plain").expect("a card");
    let jobs = Box::new(Workload::new(scene.jobs.clone()));
    let cluster = Arc::new(scene.cluster.clone());
    let mut plain = Simulation::of_recipe(&card, scene.world.clone(), cluster, jobs, 1);
    plain.run();
    let ends: Vec<Option<Time>> = plain.records().all().iter().map(|r| r.ended).collect();
    assert_eq!(run.ends(), ends);
}

#[test]
fn mixed_serves_searches_and_trains() {
    // Eight GPUs. At its busiest the service wants five of them; sixty trials and the jobs would
    // fill the rest many times over.
    let options =
        GeneratorOptions { jobs: 60, trials: 60, load: 0.6, ..GeneratorOptions::default() };
    let scene = Scene::generated("1x8", &options);
    let shape = "shape = { step-s = 1800, factors = [0.02, 1.0] }";
    let text = service(1500, "replicas = 5\nuntil = \"2 h\"").replace("SHAPE", shape);
    let mut simulation = serve("mixed", &scene, &text, &[]);
    simulation.run();
    let summary = Summary::of(&simulation);
    let (service, study) = (&summary.services[0], &summary.studies[0]);
    assert!(service.attainment > 0.97, "{service:?}");
    assert!(service.replicas < 4.0, "what is not needed is lent: {service:?}");
    assert!(study.best.is_some_and(|best| best > 0.75), "{study:?}");
    assert!(study.stopped_early > 40, "most trials are never finished: {study:?}");
    let ended = summary.jobs.finished + summary.jobs.stopped_early;
    assert_eq!(ended, summary.jobs.submitted, "{:?}", summary.jobs);
}
