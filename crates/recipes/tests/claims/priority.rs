//! Larger priorities first, with backfill.

use super::scene::{Scene, job};
use heeler_sim::workload::{GeneratorOptions, Shape};

/// One GPU: `first` runs until 100, then `urgent` though it came last, then those of priority 0 in
/// the order they came.
#[test]
fn priority_goes_before_submission() {
    let rows = [
        job("first", 0, 1, 100),
        job("plain", 1, 1, 100),
        job("late", 2, 1, 100),
        job("urgent", 3, 1, 100).priority(5),
        job("idle", 4, 1, 100).priority(-1),
    ];
    let run = Scene::new("1x1", rows).run("priority", &[]);
    let starts = ["first", "urgent", "plain", "late", "idle"].map(|name| run.start(name));
    assert_eq!(starts, [0.0, 100.0, 200.0, 300.0, 400.0]);
}

/// Four GPUs: `wide` has the larger priority and is promised all of them at 100; `short` is done by
/// then and passes, `long` is not and waits.
#[test]
fn whoever_is_promised_gpus_is_not_delayed() {
    let rows = [
        job("first", 0, 2, 100),
        job("wide", 1, 4, 50).priority(1),
        job("long", 2, 1, 200),
        job("short", 3, 1, 50),
    ];
    let run = Scene::new("1x4", rows).run("priority", &[]);
    assert_eq!(["wide", "long", "short"].map(|name| run.start(name)), [100.0, 150.0, 3.0]);
}

/// Two GPUs for each of two tenants. `v1` and `v2` of vision have its two until 100; `urgent` is
/// more important but waits for them, though speech uses one of its own only.
#[test]
fn partitions_are_walls() {
    let rows = || {
        [
            job("v1", 0, 1, 100).of("vision"),
            job("v2", 0, 1, 100).of("vision"),
            job("s", 0, 1, 100).of("speech"),
            job("urgent", 1, 1, 100).of("vision").priority(9),
        ]
    };
    let scene = Scene::new("1x4", rows()).quota("vision", 2).quota("speech", 2);
    assert_eq!(scene.run("priority", &[("gate", "within-quota")]).start("urgent"), 100.0);
    assert_eq!(scene.run("priority", &[]).start("urgent"), 1.0);
}

#[test]
fn equal_priorities_are_fifo_easy() {
    let options = GeneratorOptions {
        shape: Shape::Helios,
        jobs: 300,
        load: 1.2,
        gpus: 16,
        ..GeneratorOptions::default()
    };
    let scene = Scene::generated("2x8", &options);
    assert_eq!(scene.run("priority", &[]).ends(), scene.run("fifo-easy", &[]).ends());
}
