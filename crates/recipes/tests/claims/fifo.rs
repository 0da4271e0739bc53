//! First come, first served, strictly and with skipping.

use super::scene::{Knobs, Scene, job, rows};
use heeler_engine::Phase;
use heeler_model::NodeId;
use heeler_sim::Simulation;
use heeler_sim::workload::{GeneratorOptions, Shape};
use proptest::prelude::*;

fn crowded(seed: u64) -> Scene {
    let (shape, max_gpus) = (Shape::Helios, Some(16));
    let options =
        GeneratorOptions { shape, jobs: 300, load: 1.2, seed, max_gpus, ..Default::default() };
    Scene::generated("4x8", &options)
}

#[test]
fn fifo_starts_jobs_in_order() {
    for seed in 1..=3 {
        let scene = crowded(seed);
        assert!(scene.run("fifo", &[]).starts().is_sorted(), "seed {seed}");
        assert!(!scene.run("fifo-skip", &[]).starts().is_sorted(), "skipping does not");
    }
}

/// On four GPUs: `wide` needs all of them and so waits for `first`, and `small`, which would fit
/// beside `first`, waits behind `wide`. Skipping lets it run at once.
#[test]
fn a_job_that_does_not_fit_blocks_the_queue() {
    let table = [job("first", 0, 3, 100), job("wide", 1, 4, 10), job("small", 2, 1, 50)];
    let scene = Scene::new("1x4", table);
    let strict = scene.run("fifo", &[]);
    assert_eq!([strict.start("wide"), strict.start("small")], [100.0, 110.0]);
    let skip = scene.run("fifo-skip", &[]);
    assert_eq!([skip.start("wide"), skip.start("small")], [100.0, 2.0]);
}

/// Four nodes of two GPUs, two in a rack. From 10 on the second and the third are idle, but in two
/// racks, so `gang` waits until 100 for the first two. `huge` is larger than a rack and takes three
/// nodes wherever they are. Without racks `gang` starts at 10.
#[test]
fn first_fit_in_one_rack_spans_no_two() {
    let table = [
        job("a", 0, 2, 100),
        job("b", 0, 2, 10),
        job("c", 0, 2, 10),
        job("d", 0, 2, 200),
        job("gang", 5, 4, 10),
        job("huge", 6, 6, 10),
    ];
    let scene = Scene::new("4x2:a100/2", table);
    let starts = |place| {
        let run = scene.run("fifo", &[("place", place)]);
        [run.start("gang"), run.start("huge")]
    };
    assert_eq!(starts("first-fit-one-rack"), [100.0, 110.0]);
    assert_eq!(starts("first-fit"), [10.0, 100.0]);
}

/// Three nodes in a rack. From 10 on all of the first rack are idle and two of the second. In the
/// first rack `pair` leaves too little for `three`; in the fullest it does not.
#[test]
fn first_fit_takes_the_first_rack_with_room() {
    let short = ["a", "b", "c"].map(|name| job(name, 0, 2, 10));
    let others = [job("d", 0, 2, 200), job("pair", 11, 4, 50), job("three", 12, 6, 10)];
    let scene = Scene::new("6x2:a100/3", short.into_iter().chain(others));
    let start = |place| scene.run("fifo", &[("place", place)]).start("three");
    assert_eq!(start("first-fit-one-rack"), 61.0);
    assert_eq!(start("consolidate"), 12.0);
}

/// GPUs without a job, node by node.
fn free(simulation: &Simulation) -> Vec<u32> {
    let state = simulation.engine().state();
    let nodes = simulation.cluster().nodes.iter().enumerate();
    let used = |node: NodeId| {
        let placed = state.jobs().iter().filter_map(|job| job.assignment.as_ref());
        let slices = placed.flat_map(|on| on.placement.slices());
        slices.filter(|slice| slice.node == node).map(|slice| slice.slots.count()).sum::<u32>()
    };
    nodes.map(|(index, node)| node.gpus - used(NodeId(index as u32))).collect()
}

/// Whether a gang fits on one node of eight, or on idle nodes and one for the rest.
fn fits(gpus: u32, free: &[u32]) -> bool {
    let idle = free.iter().filter(|free| **free == 8).count() as u32;
    match (gpus / 8, gpus % 8) {
        (0, rest) => free.iter().any(|free| *free >= rest),
        (whole, 0) => idle >= whole,
        (whole, rest) => {
            let partly = free.iter().any(|free| *free < 8 && *free >= rest);
            idle > whole || (idle == whole && partly)
        }
    }
}

/// Moments at which somebody waits who would fit.
fn missed(scene: &Scene, recipe: &str) -> usize {
    let mut missed = 0;
    scene.watch(recipe, &[], |simulation| {
        let free = free(simulation);
        let jobs = simulation.engine().state().jobs();
        let mut waiting = jobs.iter().filter(|job| job.phase == Phase::Waiting);
        missed += usize::from(waiting.any(|job| fits(job.spec.demand.asked(), &free)));
    });
    missed
}

#[test]
fn skipping_leaves_no_gpu_idle() {
    for seed in 1..=3 {
        let scene = crowded(seed);
        assert_eq!(missed(&scene, "fifo-skip"), 0, "seed {seed}");
        assert!(missed(&scene, "fifo") > 0, "a strict queue does leave GPUs idle");
    }
}

const BY_COUNT: Knobs = &[("place", "anywhere")];

proptest! {
    /// By induction over the queue: at the time a job started before, everybody ahead of it has
    /// started no later, so no more of them are still there, and it fits.
    #[test]
    fn more_gpus_never_make_fifo_later(rows in rows(8, 1, 30)) {
        let starts = |cluster| Scene::new(cluster, rows.clone()).run("fifo", BY_COUNT).starts();
        let clusters = ["2x4", "3x4", "4x4", "8x4"].map(starts);
        for (fewer, more) in clusters.iter().zip(&clusters[1..]) {
            let later = fewer.iter().zip(more).position(|(fewer, more)| more > fewer);
            prop_assert!(later.is_none(), "job {later:?}: {fewer:?}, then {more:?}");
        }
    }
}

/// On nodes that jobs must fit on, it is not so: a node more lets `five` and `pair` start earlier,
/// and then they stand where `four` would have fitted.
#[test]
fn a_node_more_can_make_a_job_later_that_must_fit_on_one() {
    let table = [
        job("0", 0, 2, 50),
        job("1", 0, 3, 33),
        job("2", 15, 2, 18),
        job("3", 15, 1, 1),
        job("4", 31, 2, 19),
        job("5", 32, 1, 33),
        job("five", 32, 5, 19),
        job("pair", 33, 2, 18),
        job("four", 33, 4, 1),
    ];
    let start = |cluster| Scene::new(cluster, table.clone()).run("fifo", &[]).start("four");
    assert_eq!([start("3x4"), start("4x4")], [50.0, 51.0]);
}
