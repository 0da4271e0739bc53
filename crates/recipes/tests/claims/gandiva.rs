//! Gandiva: turns, packing with undo, moves and growth.

use super::scene::{Row, Run, Scene, job, measured};
use heeler_model::{JobId, Time};

const NO_PACKING: (&str, &str) = ("packing", "false");
const NO_MIGRATION: (&str, &str) = ("migration", "false");
const NO_GROWTH: (&str, &str) = ("grow", "false");

/// So many jobs of an hour on one GPU each, all at once.
fn at_once(jobs: usize) -> Vec<Row> {
    (0..jobs).map(|index| job(&index.to_string(), 0, 1, 3600)).collect()
}

/// Work done by each job at a time, in seconds.
fn done(scene: &Scene, knobs: &[(&str, &str)], at_s: u64) -> Vec<f64> {
    let mut simulation = scene.simulation("gandiva", knobs);
    simulation.run_until(Time::from_secs(at_s));
    let records = simulation.records().all();
    records.iter().map(|record| record.done_at(simulation.now()) / 1e6).collect()
}

#[test]
fn gandiva_gives_equal_parts_of_the_time() {
    for jobs in [2, 3] {
        let scene = Scene::new("1x1", at_once(jobs));
        for at_s in [600, 1234, 3000] {
            let done = done(&scene, &[NO_PACKING], at_s);
            let equal = at_s as f64 / jobs as f64;
            for part in &done {
                assert!((part - equal).abs() <= 60.0, "{jobs} jobs after {at_s} s: {done:?}");
            }
            assert_eq!(done.iter().sum::<f64>(), at_s as f64, "the GPU is never idle");
        }
    }
    // Three jobs on the two GPUs of a node: two thirds each, and not a half, a half and all.
    let done = done(&Scene::new("1x2", at_once(3)), &[NO_PACKING], 3600);
    assert!(done.iter().all(|part| (part - 2400.0).abs() <= 60.0), "{done:?}");
}

#[test]
fn gandiva_gives_early_feedback() {
    let scene = Scene::new("1x1", at_once(20));
    let turns = done(&scene, &[NO_PACKING], 20 * 60);
    assert!(turns.iter().all(|part| *part >= 60.0), "everybody had a turn: {turns:?}");
    let mut fifo = scene.simulation("fifo", &[]);
    fifo.run_until(Time::from_secs(20 * 60));
    let begun = fifo.records().all().iter().filter(|record| record.started.is_some()).count();
    assert_eq!(begun, 1);
}

/// Thousandths of GPUs that jobs have at some moment, largest first.
fn shares(run: &Run, scene: &Scene, knobs: &[(&str, &str)], at_s: u64) -> Vec<u32> {
    assert!(run.ends().iter().all(Option::is_some));
    let mut simulation = scene.simulation("gandiva", knobs);
    simulation.run_until(Time::from_secs(at_s));
    let state = simulation.engine().state();
    let on = state.jobs().iter().filter_map(|job| job.assignment.as_ref());
    on.map(|on| on.share.0).collect()
}

#[test]
fn gandiva_packs_a_good_pair() {
    let scene = Scene::new("1x1", at_once(2));
    let scene = measured(scene, &[0, 1], &[(0, 1, 0.9), (1, 0, 0.7)]);
    let (packed, turns) = (scene.run("gandiva", &[]), scene.run("gandiva", &[NO_PACKING]));
    assert_eq!(turns.end("1"), 7200.0);
    assert!(packed.end("0") < 4200.0, "{}", packed.end("0"));
    assert!(packed.end("1") < 4900.0, "{}", packed.end("1"));
    // Each had a turn by itself to be measured in, and then they run together.
    assert_eq!(shares(&packed, &scene, &[], 30), [1000]);
    assert_eq!(shares(&packed, &scene, &[], 1000), [500, 500]);
    assert_eq!(shares(&packed, &scene, &[], 4500), [1000], "the other is gone");
    assert!(packed.mean_s() < turns.mean_s() / 1.5);
}

#[test]
fn gandiva_undoes_a_bad_pair() {
    let scene = Scene::new("1x1", at_once(2));
    let scene = measured(scene, &[0, 1], &[(0, 1, 0.3), (1, 0, 0.5)]);
    let mut together = Vec::new();
    let seen = scene.watch("gandiva", &[], |simulation| {
        let jobs = simulation.engine().state().jobs().iter();
        if jobs.filter(|job| job.is_placed()).count() == 2 {
            together.push(simulation.now().secs_f64());
        }
    });
    assert!(!together.is_empty(), "it was tried");
    let (first, last) = (together[0], *together.last().expect("not empty"));
    assert!(last - first <= 60.0, "one trial, of a turn: {together:?}");
    // A turn at eight tenths of what turns would have brought.
    assert!((seen.end("0").max(seen.end("1")) - 7212.0).abs() < 1.0);

    // With two that get on and one that does not, only those two are packed in the end.
    let scene = Scene::new("1x1", at_once(3));
    let bad = [(0, 2, 0.4), (2, 0, 0.4), (1, 2, 0.4), (2, 1, 0.4)];
    let good = [(0, 1, 0.8), (1, 0, 0.8)];
    let scene = measured(scene, &[0, 1, 2], &[&bad[..], &good[..]].concat());
    let mut pairs = Vec::new();
    scene.watch("gandiva", &[], |simulation| {
        let jobs = simulation.engine().state().jobs().iter();
        let placed: Vec<JobId> = jobs.filter(|job| job.is_placed()).map(|job| job.id).collect();
        if placed.len() == 2 && simulation.now() > Time::from_secs(900) {
            pairs.push(placed);
        }
    });
    assert!(!pairs.is_empty());
    assert!(pairs.iter().all(|pair| pair == &[JobId(0), JobId(1)]), "{pairs:?}");
}

/// A packed job's neighbour decides its pace, and a gang goes by its slowest GPU.
#[test]
fn neighbours_that_come_and_go_change_the_pace() {
    let scene = Scene::new("1x1", [job("long", 0, 1, 1000), job("short", 0, 1, 100)]);
    let scene = measured(scene, &[0, 1], &[(0, 1, 0.5), (1, 0, 0.8)]);
    let run = scene.run("gandiva", &[]);
    // Turns until 120 s, so that 60 s of each are done; 40 s at 0.8 take 50 s, in which the other
    // does 25 s; the rest alone.
    assert_eq!(run.end("short"), 170.0);
    assert_eq!(run.end("long"), 170.0 + (1000.0 - 60.0 - 25.0));
}

#[test]
fn gandiva_moves_jobs_out_of_the_way() {
    let rows = [
        job("a", 0, 4, 1000),
        job("b", 0, 4, 100),
        job("c", 0, 4, 1000),
        job("large", 200, 8, 1000),
    ];
    let scene = Scene::new("2x8", rows);
    let moved = scene.run("gandiva", &[]);
    assert_eq!(moved.start("large"), 200.0);
    assert_eq!(moved.end("large"), 1200.0, "nobody takes turns");
    assert_eq!(moved.end("c"), 1000.0);
    assert_eq!(moved.preemptions(), 0);
    // A gang over two nodes moves to two that have come free.
    let rows = [job("a", 0, 16, 4000), job("b", 0, 16, 300), job("c", 0, 16, 4000)];
    let gangs = Scene::new("4x8", rows).run("gandiva", &[NO_PACKING]);
    assert!(gangs.end("a").max(gangs.end("c")) < 4700.0, "{}", gangs.end("c"));
    let stays = scene.run("gandiva", &[NO_MIGRATION]);
    assert!(stays.end("large") > 1300.0, "{}", stays.end("large"));
    assert!(stays.preemptions() > 0);
}

#[test]
fn gandiva_grows_and_shrinks_on_the_own_node() {
    let rows = [job("elastic", 0, 2, 1000).sizes(1, 16), job("late", 100, 4, 100)];
    let mut scene = Scene::new("2x8", rows);
    // The other node is full: growth and arrival meet on the first.
    scene.jobs.push(job_of(8, 2000));
    scene.jobs.sort_by_key(|job| job.submit);
    let run = scene.run("gandiva", &[]);
    let sizes: Vec<(f64, u32, usize)> =
        run.stays("elastic").iter().map(|(from, _, gpus, nodes)| (*from, *gpus, *nodes)).collect();
    assert_eq!(sizes[..3], [(0.0, 2, 1), (60.0, 8, 1), (100.0, 4, 1)], "{sizes:?}");
    assert_eq!(run.start("late"), 100.0);
    let without = scene.run("gandiva", &[NO_GROWTH]);
    assert!(without.stays("elastic").iter().all(|(_, _, gpus, _)| *gpus == 2));

    // A job that is no faster on more GPUs gives them back for good.
    scene.world.pace.scaling = 0.0;
    let run = scene.run("gandiva", &[]);
    let sizes: Vec<u32> = run.stays("elastic").iter().map(|(_, _, gpus, _)| *gpus).collect();
    assert_eq!(sizes.last(), Some(&2), "{sizes:?}");
    assert!(sizes.len() < 12, "it is tried a few times, and then no more: {sizes:?}");
}

fn job_of(gpus: u32, length_s: u64) -> heeler_sim::workload::TraceJob {
    Scene::new("1x8", [job("full", 0, gpus, length_s)]).jobs.remove(0)
}

#[test]
fn gandiva_with_room_is_fifo() {
    let rows: Vec<Row> =
        (0..12).map(|i| job(&i.to_string(), i * 30, 1 + (i % 2) as u32, 200 + i * 10)).collect();
    let scene = Scene::new("4x8", rows);
    let (ours, fifo) = (scene.run("gandiva", &[NO_GROWTH]), scene.run("fifo", &[]));
    assert_eq!(ours.starts(), fifo.starts());
    assert_eq!(ours.ends(), fifo.ends());
    assert_eq!(ours.preemptions(), 0);
}
