//! Tiresias' Gittins index.

use super::scene::{Knobs, Scene, job};
use heeler_sim::workload::{GeneratorOptions, Shape};

/// Half of the past jobs took 10 GPU seconds, half 1000; nobody leaves the first queue.
const SHORT_OR_LONG: Knobs = &[
    ("sample", "[\"10 gpu-s\", \"10 gpu-s\", \"1000 gpu-s\", \"1000 gpu-s\"]"),
    ("limits", "[\"1000000 gpu-s\"]"),
];

/// A fresh job finishes within 10 GPU seconds with chance ½, so its index is ½ ÷ 10 = 1/20. One
/// that has had 10 is a long one for sure, and its index is 1 ÷ 990. So `long` runs until 10, both
/// short jobs run, and then it goes on.
#[test]
fn gittins_prefers_the_job_likely_to_finish() {
    let table = [job("long", 0, 1, 1000), job("short", 5, 1, 10), job("other", 8, 1, 10)];
    let scene = Scene::new("1x1", table);
    let run = scene.run("tiresias-gittins", SHORT_OR_LONG);
    assert_eq!(["short", "other", "long"].map(|name| run.end(name)), [20.0, 30.0, 1020.0]);
    assert_eq!(run.stays("long"), [(0.0, 10.0, 1, 1), (30.0, 1020.0, 1, 1)]);
    // Without the history all are equal, and `long` runs to its end.
    let without = scene.run("tiresias-gittins", &SHORT_OR_LONG[1..]);
    assert_eq!(["long", "short", "other"].map(|name| without.end(name)), [1000.0, 1010.0, 1020.0]);
}

/// On two GPUs a job has had 10 GPU seconds after 5 seconds.
#[test]
fn gittins_counts_gpus() {
    let table = [job("wide", 0, 2, 500), job("short", 1, 1, 10), job("other", 1, 1, 10)];
    let run = Scene::new("1x2", table).run("tiresias-gittins", SHORT_OR_LONG);
    assert_eq!(["short", "other", "wide"].map(|name| run.end(name)), [15.0, 15.0, 510.0]);
}

/// With a fixed horizon of 1 GPU second nobody is seen to finish: a fresh job's index is 0, as is
/// that of one that has outlived the short ones. Nobody gives way.
#[test]
fn gittins_sees_no_further_than_its_horizon() {
    let scene = Scene::new("1x1", [job("long", 0, 1, 1000), job("short", 5, 1, 10)]);
    let knobs = [SHORT_OR_LONG[0], SHORT_OR_LONG[1], ("horizon", "1 gpu-s")];
    assert_eq!(scene.run("tiresias-gittins", &knobs).end("short"), 1010.0);
    let knobs = [SHORT_OR_LONG[0], SHORT_OR_LONG[1], ("horizon", "10 gpu-s")];
    assert_eq!(scene.run("tiresias-gittins", &knobs).end("short"), 20.0);
}

/// Half of the past jobs took 10, half 1000, and after 5 a job is in the last queue. There `young`
/// runs on to its end at 27, as nobody is stopped for an equal. By index it gives way when it has
/// had 10, at 17, to `old`, which has had 7; from 20 on they are equal again.
#[test]
fn gittins_goes_by_the_index_in_the_last_queue_if_told() {
    let scene = Scene::new("1x1", [job("old", 0, 1, 1000), job("young", 7, 1, 20)]);
    let ends = |last| {
        let knobs = [SHORT_OR_LONG[0], ("limits", "[\"5 gpu-s\"]"), ("last", last)];
        let run = scene.run("tiresias-gittins", &knobs);
        [run.end("old"), run.end("young")]
    };
    assert_eq!(ends("first-come"), [1020.0, 27.0]);
    assert_eq!(ends("by-index"), [1010.0, 1020.0]);
}

/// Two GPUs, and all are equal. `late` runs beside `first` while `wide` waits for both. When
/// `first` ends, `late` is stopped for `wide` only if those go first who were submitted first.
#[test]
fn gittins_stops_nobody_for_an_equal_unless_told() {
    let table = [job("first", 0, 1, 100), job("wide", 1, 2, 10), job("late", 2, 1, 200)];
    let scene = Scene::new("1x2", table);
    let ends = |within| {
        let run = scene.run("tiresias-gittins", &[SHORT_OR_LONG[1], ("within", within)]);
        [run.end("wide"), run.end("late")]
    };
    assert_eq!(ends("running-first"), [212.0, 202.0]);
    assert_eq!(ends("as-submitted"), [110.0, 212.0]);
}

/// A thousand jobs take one GPU second each. Who has learnt from them takes `long` for one that
/// will not end soon, and `short` goes first.
#[test]
fn gittins_learns_unless_told() {
    let past = (0..1000).map(|number| job(&format!("past {number}"), 0, 1, 1));
    let table = past.chain([job("long", 100, 64, 50), job("short", 110, 1, 10)]);
    let scene = Scene::new("1x64", table);
    let ends = |learn| {
        let run = scene.run("tiresias-gittins", &[SHORT_OR_LONG[1], ("learn", learn)]);
        [run.end("long"), run.end("short")]
    };
    assert_eq!(ends("true"), [160.0, 120.0]);
    assert_eq!(ends("false"), [150.0, 160.0]);
}

/// One GPU, limits of 100 and 300 GPU seconds. `a` leaves the first queue at 100 and waits for `b`,
/// which leaves it at 200 and then is the equal of `a`: who runs goes on. At 400 `b` leaves the
/// second queue, where `a` still is, and `a` goes on; it leaves it at 600 and again nobody gives
/// way to an equal. And with one endless queue, all is first come, first served.
#[test]
fn gittins_without_history_goes_by_queues() {
    let scene = Scene::new("1x1", [job("a", 0, 1, 1000), job("b", 0, 1, 400)]);
    let run = scene.run("tiresias-gittins", &[("limits", "[\"100 gpu-s\", \"300 gpu-s\"]")]);
    let stays = |name| run.stays(name).iter().map(|stay| (stay.0, stay.1)).collect::<Vec<_>>();
    assert_eq!(stays("a"), [(0.0, 100.0), (400.0, 1300.0)]);
    assert_eq!(stays("b"), [(100.0, 400.0), (1300.0, 1400.0)]);

    let shape = Shape::Helios;
    let options = GeneratorOptions { shape, jobs: 300, load: 1.2, seed: 1, ..Default::default() };
    let scene = Scene::generated("4x8", &options);
    let fifo = scene.run("fifo-skip", &[("place", "skew-aware")]).ends();
    let endless = scene.run("tiresias-gittins", &[("limits", "[\"1000000000 gpu-s\"]")]).ends();
    assert_eq!(endless, fifo);
    assert_ne!(scene.run("tiresias-gittins", &[]).ends(), fifo, "queues make a difference");
}
