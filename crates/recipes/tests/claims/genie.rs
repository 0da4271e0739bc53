//! GENIE: the cheapest shape that keeps a deadline, who may wait the shortest first.

use super::scene::{Knobs, Scene, in_tens, job};
use heeler_sim::metrics::Summary;
use heeler_sim::workload::{GeneratorOptions, Shape};
use proptest::prelude::*;

/// Rounds of ten seconds, exact estimates, and starting costs nothing.
const PLAIN: Knobs<'static> = &[("round", "10 s"), ("margin", "0.0"), ("restart", "0 s")];

/// Four GPUs. `loose` is 100 s long on four and due at 400: one GPU will do. `tight` takes three
/// for 100 s and is due at 110, so it fits beside. First come, first served, at the sizes they
/// asked for, `tight` waits for `loose` and is late.
#[test]
fn genie_takes_the_cheapest_shape_that_is_in_time() {
    let table = [
        job("loose", 0, 4, 100).sizes(1, 4).due(&[(400, 1)]),
        job("tight", 0, 3, 100).due(&[(110, 1)]),
    ];
    let scene = Scene::new("1x4", table);
    let run = scene.run("genie", PLAIN);
    assert_eq!(run.stays("loose"), [(0.0, 400.0, 1, 1)]);
    assert_eq!(run.end("tight"), 100.0);
    assert_eq!(scene.run("fifo", &[]).end("tight"), 200.0, "too late");
}

/// One GPU. `early` is due at 150 and 70 s long, so it may wait for 80 s; `late` is due at 160 and
/// 100 s long, so it may wait for 60 s only, and is first.
#[test]
fn genie_lets_first_who_may_wait_the_shortest() {
    let table = [job("early", 0, 1, 70).due(&[(150, 1)]), job("late", 0, 1, 100).due(&[(160, 1)])];
    let scene = Scene::new("1x1", table);
    let first = |word: &'static str| {
        let knobs: Vec<_> = PLAIN.iter().copied().chain([("first", word)]).collect();
        let run = scene.run("genie", &knobs);
        [run.start("early"), run.start("late")]
    };
    assert_eq!(first("shortest-allowance"), [100.0, 0.0]);
    assert_eq!(first("earliest-deadline"), [0.0, 70.0]);
}

/// A job that expects to be done in 200 s on one GPU of four and is really twice as long: once it
/// would be late, it is given more. It never runs on more than it needs to be in time.
#[test]
fn genie_grows_who_would_be_late() {
    let mut scene = Scene::new("1x4", [job("slow", 0, 1, 200).sizes(1, 4).due(&[(210, 1)])]);
    // The world is slower than the job says.
    scene.world.costs.start = heeler_sim::world::Cost::fixed(60.0);
    let run = scene.run("genie", PLAIN);
    let sizes: Vec<u32> = run.stays("slow").iter().map(|stay| stay.2).collect();
    assert_eq!(sizes[0], 1);
    assert!(sizes.len() > 1 && sizes[1] > 1, "{sizes:?}");
    assert!(run.end("slow") <= 210.0, "{}", run.end("slow"));
}

/// Jobs with deadlines and some that can be smaller, more than the cluster can take for a while.
/// Many are shorter than a minute, so rounds are, too.
#[test]
fn genie_misses_fewer_deadlines_than_fifo() {
    let options = GeneratorOptions {
        shape: Shape::Helios,
        jobs: 300,
        load: 1.5,
        deadlines: 0.6,
        elastic: 0.5,
        slack: (1.5, 5.0),
        seed: 3,
        ..GeneratorOptions::default()
    };
    let scene = Scene::generated("4x8", &options);
    let missed = |recipe: &str, knobs: Knobs| {
        Summary::of(&scene.run(recipe, knobs).simulation).deadlines.missed
    };
    let genie = missed("genie", &[("round", "5 s"), ("restart", "0 s")]);
    let fifo = missed("fifo-skip", &[]);
    assert!(genie * 2 < fifo, "{genie} of {fifo}");
}

proptest! {
    /// Where everything happens at the end of a round, rigid jobs without deadlines start as with
    /// first come, first served, where others may pass who fit.
    #[test]
    fn genie_without_deadlines_is_fifo(rows in in_tens(8)) {
        let scene = Scene::new("1x8", rows);
        prop_assert_eq!(scene.run("genie", PLAIN).ends(), scene.run("fifo-skip", &[]).ends());
    }
}
