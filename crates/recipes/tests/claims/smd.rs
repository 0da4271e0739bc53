//! SMD: the numbers of workers with which the sum of utilities is largest.

use super::scene::{Knobs, Scene, job};
use heeler_sim::workload::{GeneratorOptions, Shape};

const PLAIN: Knobs<'static> = &[("round", "10 s"), ("restart", "0 s")];

/// Four GPUs and two jobs for which four GPUs are enough to be in time and no fewer: the more
/// valuable one has them, although it came second. With time enough, both run on two each.
#[test]
fn smd_chooses_workers_by_utility() {
    let scene = |due: u64| {
        let table = [
            job("cheap", 0, 4, 100).sizes(2, 4).due(&[(due, 1)]),
            job("dear", 0, 4, 100).sizes(2, 4).due(&[(due, 9)]),
        ];
        Scene::new("1x4", table)
    };
    let steep: Vec<_> = PLAIN.iter().copied().chain([("steepness", "50.0")]).collect();
    let tight = scene(110).run("smd", &steep);
    assert_eq!(tight.stays("dear"), [(0.0, 100.0, 4, 1)]);
    assert!(tight.start("cheap") >= 100.0);
    let loose = scene(300).run("smd", &steep);
    assert_eq!([loose.start("dear"), loose.start("cheap")], [0.0, 0.0]);
    assert_eq!(loose.stays("dear")[0].2 + loose.stays("cheap")[0].2, 4);
}

#[test]
fn smd_alone_has_the_best_size() {
    let run = Scene::new("2x4", [job("only", 0, 2, 100).sizes(1, 8)]).run("smd", PLAIN);
    assert_eq!(run.stays("only"), [(0.0, 25.0, 8, 2)]);
}

#[test]
fn smd_gets_more_utility_than_fifo() {
    let options = GeneratorOptions {
        shape: Shape::Philly,
        jobs: 200,
        load: 2.0,
        elastic: 0.6,
        deadlines: 1.0,
        slack: (2.0, 5.0),
        seed: 5,
        ..GeneratorOptions::default()
    };
    let scene = Scene::generated("2x8", &options);
    let utility = |recipe: &str| -> f64 {
        let run = scene.run(recipe, &[]);
        let jobs = run.simulation.records().all().iter().zip(&scene.jobs);
        let worth = jobs.map(|(record, job)| {
            let had = job.spec.deadlines()[0].at.since(record.submitted).secs_f64();
            let taken = record.completion().expect("it ended").secs_f64();
            1.0 / (1.0 + (4.0 * (taken / had.max(1.0) - 1.0)).exp())
        });
        worth.sum()
    };
    let [smd, fifo] = ["smd", "fifo-skip"].map(utility);
    assert!(smd > 1.2 * fifo, "{smd} of {fifo}");
}
