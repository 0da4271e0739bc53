//! Worlds in which the free GPUs of the first nodes must add up to what a job asks for, as in
//! Blox' published simulator.

use super::scene::{Row, Scene, job};
use heeler_engine::Starts;
use heeler_sim::workload::{GeneratorOptions, Shape};
use heeler_sim::world::WorldCard;

const ANYWHERE: (&str, &str) = ("place", "anywhere");

fn scene(cluster: &str, table: impl IntoIterator<Item = Row>) -> Scene {
    let mut scene = Scene::new(cluster, table);
    scene.world.rules.starts = Starts::AddingUp;
    scene
}

/// `one` leaves three GPUs on the first node and four on the second, which come to three and to
/// seven, but never to four. So `gang` waits until `one` has ended, and `next` behind it.
#[test]
fn a_gang_waits_until_free_gpus_add_up() {
    let table = [job("one", 0, 1, 100), job("gang", 0, 4, 50), job("next", 0, 1, 10)];
    let run = scene("2x4", table).run("fifo", &[ANYWHERE]);
    assert_eq!([run.start("gang"), run.start("next")], [100.0, 100.0]);
}

/// Two and four are six, on two nodes; with nobody there four and four would be too many.
#[test]
fn a_gang_starts_where_free_gpus_add_up() {
    let table = [job("two", 0, 2, 100), job("six", 0, 6, 50)];
    let run = scene("2x4", table).run("fifo", &[ANYWHERE]);
    assert_eq!(run.stays("six"), [(0.0, 50.0, 6, 2)]);
}

/// At 30 one GPU is free beside `a`, and `long` has the second node. `gang` comes after `a` and
/// before `long`, which is stopped for it; one and two are not two, so `gang` waits all the same
/// until `a` ends at 100, and so does `long`, with 270 of its 300 s to go.
#[test]
fn who_was_stopped_in_vain_stays_stopped() {
    let table =
        [job("x", 0, 1, 20), job("a", 0, 1, 100), job("long", 0, 2, 300), job("gang", 30, 2, 150)];
    let run = scene("2x2", table).run("srtf", &[ANYWHERE]);
    assert_eq!([run.start("gang"), run.end("long")], [100.0, 370.0]);
    assert_eq!(run.preemptions(), 1);
}

/// At 50 `x` and `y` are on the first node, `c` is on the second. For `gang` first `y` is stopped
/// (one GPU), then `c` (one and two are three), and then `x` (two). `x` goes on at once on the
/// second node, where one GPU is left, which is too few for `c`; the others wait until 150.
#[test]
fn who_was_stopped_may_go_on_elsewhere() {
    let table = [
        job("z", 0, 1, 40),
        job("x", 0, 1, 300),
        job("c", 0, 2, 400),
        job("y", 40, 1, 900),
        job("gang", 50, 2, 100),
    ];
    let run = scene("2x2", table).run("srtf", &[ANYWHERE]);
    assert_eq!([run.start("gang"), run.end("gang")], [50.0, 150.0]);
    assert_eq!([run.end("x"), run.end("c"), run.end("y")], [300.0, 500.0, 1040.0]);
}

/// In the world of that simulator time passes in rounds of five minutes, also for recipes with
/// rounds, leases, ladders, trials or limits of their own.
#[test]
fn nobody_decides_within_a_round() {
    let options = GeneratorOptions { shape: Shape::Philly, jobs: 60, ..Default::default() };
    for recipe in ["las", "tiresias", "e-las", "philly", "lucid", "jpas", "muri-l", "slaq"] {
        let mut scene = Scene::generated("2x4", &options);
        scene.world = WorldCard::find("blox").expect("a world").world();
        let seen = scene.run(recipe, &[]);
        assert!(seen.stays.len() >= 50, "{recipe}: somebody ran");
        for stay in &seen.stays {
            let within = stay.from.micros() % 300_000_000;
            assert_eq!(within, 0, "{recipe}: {} starts at {}", stay.job, stay.from);
        }
    }
}
