//! Backfill: who may pass, and promises that are kept.

use super::scene::{Knobs, Row, Run, Scene, job, rows};
use heeler_model::{JobId, Time};
use heeler_sim::workload::{GeneratorOptions, Shape};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// On four GPUs `wide` has to wait until 100 for `first`. `short` would be done at 52 and passes;
/// `long` would be there until 203, which is in the way, so it waits until `wide` is done at 110.
#[test]
fn easy_lets_short_jobs_pass() {
    let table = [
        job("first", 0, 3, 100),
        job("wide", 1, 4, 10),
        job("short", 2, 1, 50),
        job("long", 3, 1, 200),
    ];
    let scene = Scene::new("1x4", table);
    let easy = scene.run("fifo-easy", &[]);
    let starts = ["first", "wide", "short", "long"].map(|name| easy.start(name));
    assert_eq!(starts, [0.0, 100.0, 2.0, 110.0]);
    // With skipping alone, `long` starts at 52 and holds `wide` up until 252.
    assert_eq!(scene.run("fifo-skip", &[]).start("wide"), 252.0);
}

/// `wide` leaves one of the four GPUs alone, so there even a long job is in nobody's way.
#[test]
fn long_jobs_pass_beside_a_reservation() {
    let table = [job("first", 0, 3, 100), job("wide", 1, 3, 10), job("long", 2, 1, 500)];
    let easy = Scene::new("1x4", table).run("fifo-easy", &[]);
    assert_eq!([easy.start("wide"), easy.start("long")], [100.0, 2.0]);
}

/// EASY looks after the first job alone, conservative backfill after all. On four GPUs, `first` and
/// `second` wait for 100 and 110. `late` would not be in the way of `first`, whose two GPUs leave
/// it one, but it is in that of `second`, which needs all four.
#[test]
fn conservative_backfill_protects_all_who_wait() {
    let table = [
        job("now", 0, 3, 100),
        job("first", 1, 2, 10),
        job("second", 2, 4, 10),
        job("late", 3, 1, 200),
    ];
    let scene = Scene::new("1x4", table);
    let easy = scene.run("fifo-easy", &[]);
    assert_eq!(["first", "second", "late"].map(|name| easy.start(name)), [100.0, 203.0, 3.0]);
    let all = scene.run("fifo-conservative", &[]);
    assert_eq!(["first", "second", "late"].map(|name| all.start(name)), [100.0, 110.0, 120.0]);
}

#[test]
fn conservative_with_depth_one_is_easy() {
    let mut differ = 0;
    for seed in 1..=3 {
        let shape = Shape::Helios;
        let options = GeneratorOptions { shape, jobs: 300, load: 1.2, seed, ..Default::default() };
        let scene = Scene::generated("4x8", &options);
        let easy = scene.run("fifo-easy", &[]).ends();
        assert_eq!(easy, scene.run("fifo-conservative", &[("depth", "1")]).ends(), "seed {seed}");
        differ += usize::from(easy != scene.run("fifo-conservative", &[]).ends());
    }
    assert!(differ > 0, "more depth makes a difference");
}

/// Run a recipe; note for each job what it was promised first.
fn promises(scene: &Scene, recipe: &str, knobs: Knobs) -> (Run, BTreeMap<JobId, Time>) {
    let mut promised = BTreeMap::new();
    let run = scene.watch(recipe, knobs, |simulation| {
        for reservation in simulation.engine().state().reservations() {
            promised.entry(reservation.job).or_insert(reservation.from);
        }
    });
    (run, promised)
}

/// Who started later than promised.
fn broken(cluster: &str, rows: &[Row], recipe: &str, knobs: Knobs) -> Vec<(JobId, Time, Time)> {
    let scene = Scene::new(cluster, rows.iter().cloned());
    let (run, promised) = promises(&scene, recipe, knobs);
    let starts = run.starts();
    let start = |job: JobId| starts[job.index()].expect("every job runs");
    let late = promised.into_iter().map(|(job, promise)| (job, promise, start(job)));
    late.filter(|(_, promise, start)| start > promise).collect()
}

proptest! {
    #[test]
    fn easy_keeps_its_promise_to_the_first(rows in rows(8, 3, 30)) {
        for cluster in ["1x8", "2x4", "3x4"] {
            let broken = broken(cluster, &rows, "fifo-easy", &[]);
            prop_assert!(broken.is_empty(), "{cluster}: {broken:?}");
        }
    }

    #[test]
    fn conservative_keeps_all_promises(rows in rows(8, 1, 30)) {
        for cluster in ["1x8", "2x4", "3x4"] {
            let broken = broken(cluster, &rows, "fifo-conservative", &[]);
            prop_assert!(broken.is_empty(), "{cluster}: {broken:?}");
        }
    }
}
