//! SPIN: a linear programme says who should end when; whoever is to end first starts first.

use super::scene::{Knobs, Scene, job};
use heeler_sim::workload::{GeneratorOptions, Shape};

const PLAIN: Knobs<'static> = &[("round", "10 s")];

/// One GPU, a job of 1000 s and one of 10 s that was submitted after it.
#[test]
fn spin_lets_the_short_job_first() {
    let scene = Scene::new("1x1", [job("long", 0, 1, 1000), job("short", 0, 1, 10)]);
    let run = scene.run("spin", PLAIN);
    assert_eq!([run.end("short"), run.end("long")], [10.0, 1010.0]);
    assert_eq!(scene.run("fifo", &[]).end("short"), 1010.0);
}

#[test]
fn spin_bears_wrong_estimates() {
    let options = GeneratorOptions {
        shape: Shape::Philly,
        jobs: 200,
        load: 1.3,
        seed: 7,
        ..GeneratorOptions::default()
    };
    let scene = Scene::generated("2x8", &options);
    let exact = scene.run("spin", &[]).mean_s();
    let noisy = scene.run("spin", &[("predict", "{ noisy = { sigma = 0.4 } }")]).mean_s();
    let fifo = scene.run("fifo-skip", &[]).mean_s();
    assert!(exact < 0.95 * fifo, "{exact} of {fifo}");
    assert!(noisy < 1.1 * exact, "{noisy} of {exact}");
}

#[test]
fn spin_with_room_for_all_is_fifo() {
    let row = |index: u64| job(&index.to_string(), 7 * index, 1 + index as u32 % 4, 100);
    let run = Scene::new("4x8", (0..8).map(row)).run("spin", PLAIN);
    for (index, record) in run.simulation.records().all().iter().enumerate() {
        let round = (7 * index as u64).div_ceil(10) * 10;
        assert_eq!(record.started.map(heeler_model::Time::secs_f64), Some(round as f64));
        assert_eq!(record.preemptions, 0);
    }
}
