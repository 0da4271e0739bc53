//! ANDREAS: energy and being late.

use super::scene::{Row, Run, Scene, job};
use heeler_sim::world::{Cost, WorldCard};

/// A frugal kind of GPU, and one that is twice as fast and takes four times as many watts.
fn scene(rows: impl IntoIterator<Item = Row>) -> Scene {
    let mut scene = Scene::new("1x4:frugal+1x4:fast", rows);
    (scene.cluster.kinds[0].watts, scene.cluster.kinds[1].watts) = (100, 400);
    scene.cluster.kinds[1].speed = heeler_model::Milli(2000);
    scene
}

/// On which node a job was, of the frugal kind or the fast one.
fn node(seen: &Run, name: &str) -> u32 {
    let id = seen.simulation.find(name).expect("a job");
    seen.stays.iter().find(|stay| stay.job == id).expect("it ran").nodes[0]
}

/// An hour on four frugal GPUs takes 0.4 kWh, and half an hour on fast ones 0.8 kWh.
#[test]
fn andreas_takes_the_frugal_kind_where_there_is_time() {
    let calm = scene([job("a", 0, 4, 3600).due(&[(9000, 1)])]).run("andreas", &[]);
    assert_eq!(node(&calm, "a"), 0);
    let hurried = scene([job("a", 0, 4, 3600).due(&[(2400, 1)])]).run("andreas", &[]);
    assert_eq!(node(&hurried, "a"), 1);
    assert!(hurried.end("a") <= 2400.0);
}

/// On frugal GPUs it would be half a minute late, which costs less than to be in time. It begins on
/// the fast ones all the same, and goes on on the frugal ones as soon as it is in time there.
#[test]
fn andreas_takes_the_cheapest_that_is_in_time() {
    let scene = scene([job("a", 0, 4, 3600).due(&[(3630, 1)])]);
    let seen = scene.run("andreas", &[]);
    let nodes: Vec<u32> = seen.stays.iter().map(|stay| stay.nodes[0]).collect();
    assert_eq!(nodes, [1, 0], "{:?}", seen.stays("a"));
    assert!(seen.end("a") <= 3630.0);
    let late = scene.run("fifo", &[("place", "first-fit")]).end("a");
    assert!(late < 3630.0, "where starting is free, the frugal ones alone would do: {late}");
}

/// A frugal GPU, which `long` has for hours, and a fast one. `short` waits for the frugal one as
/// long as it would be in time there; then it takes the fast one and stays, though with what it has
/// done by then there would be time to wait once more.
#[test]
fn andreas_stops_nobody_to_wait_for_cheaper_gpus() {
    let rows = [
        job("long", 0, 1, 20_000).due(&[(20_100, 1)]),
        job("short", 60, 1, 3600).due(&[(8000, 1)]),
    ];
    let mut scene = Scene::new("1x1:fast+1x1:frugal", rows);
    (scene.cluster.kinds[0].watts, scene.cluster.kinds[1].watts) = (300, 70);
    scene.cluster.kinds[0].speed = heeler_model::Milli(2000);
    for world in ["plain", "everyday"] {
        scene.world = WorldCard::find(world).expect("a world").world();
        scene.world.failures = None;
        let seen = scene.run("andreas", &[]);
        assert_eq!(seen.stays("short").len(), 1, "{world}: {:?}", seen.stays("short"));
        assert!(seen.end("short") <= 8000.0, "{world}");
    }
}

/// Alone, with as much time as it takes on fast GPUs up to more than on frugal ones, where starting
/// takes most of a minute and stopping a third of one: it does not go to and fro.
#[test]
fn andreas_moves_a_lone_job_at_most_once() {
    for gpus in [1u32, 4, 8] {
        for due in (2000..4600).step_by(130) {
            let row = job("a", 0, gpus, 3600).due(&[(due, 1)]);
            let mut scene = Scene::new("1x8:frugal+1x8:fast", [row]);
            (scene.cluster.kinds[0].watts, scene.cluster.kinds[1].watts) = (100, 400);
            scene.cluster.kinds[1].speed = heeler_model::Milli(2000);
            scene.world = WorldCard::find("everyday").expect("a world").world();
            scene.world.failures = None;
            let seen = scene.run("andreas", &[]);
            let nodes: Vec<u32> = seen.stays.iter().map(|stay| stay.nodes[0]).collect();
            assert!(nodes.len() <= 2, "{gpus} GPUs, due at {due}: {nodes:?}");
            assert!(seen.end("a") <= due as f64, "{gpus} GPUs, due at {due}: {}", seen.end("a"));
        }
    }
}

/// What energy and lateness cost together: 0.2 for a kilowatt hour, 1 for an hour and GPU.
fn cost(scene: &Scene, seen: &Run) -> f64 {
    let watts = |node: u32| f64::from(scene.cluster.kinds[node as usize].watts);
    let energy = seen.stays.iter().map(|stay| {
        let hours = stay.until.since(stay.from).secs_f64() / 3600.0;
        watts(stay.nodes[0]) / 1000.0 * f64::from(stay.gpus) * hours * 0.2
    });
    let late = scene.jobs.iter().zip(seen.ends()).map(|(job, end)| {
        let due = job.spec.deadlines()[0].at;
        let hours = end.expect("it ended").since(due).secs_f64() / 3600.0;
        hours * f64::from(job.spec.demand.asked())
    });
    energy.sum::<f64>() + late.sum::<f64>()
}

#[test]
fn andreas_costs_less_than_fifo() {
    let rows = (0..16u64).map(|index| {
        let (gpus, length) = ([1, 2, 4][index as usize % 3], 600 + 400 * (index % 5));
        let submit = 500 * index;
        let due = submit + length * [1, 2, 6][index as usize % 3] + 120;
        job(&index.to_string(), submit, gpus, length).due(&[(due, 1)])
    });
    let scene = scene(rows);
    let knobs = &[("restart", "0 s")];
    let ours = cost(&scene, &scene.run("andreas", knobs));
    let fifo = cost(&scene, &scene.run("fifo-skip", &[]));
    assert!(ours < fifo, "{ours} {fifo}");
}

#[test]
fn andreas_with_room_for_all_leaves_jobs_alone() {
    let rows = [job("a", 0, 2, 500), job("b", 30, 4, 100), job("c", 61, 1, 50)];
    let seen = Scene::new("1x8", rows).run("andreas", &[]);
    let starts = ["a", "b", "c"].map(|name| (seen.start(name), seen.stays(name).len()));
    assert_eq!(starts, [(0.0, 1), (60.0, 1), (120.0, 1)]);
}

/// Both want all GPUs and are late from some time on. To take turns would only cost more.
#[test]
fn andreas_stops_nobody_for_an_equal() {
    let rows = [
        job("a", 0, 4, 1800).due(&[(900, 1)]),
        job("b", 0, 4, 1800).due(&[(900, 1)]),
        job("c", 60, 4, 1800).due(&[(900, 1)]),
    ];
    let seen = Scene::new("1x4", rows).run("andreas", &[]);
    let stays = ["a", "b", "c"].map(|name| seen.stays(name).len());
    assert_eq!((stays, seen.preemptions()), ([1, 1, 1], 0));
}

/// A job every so many seconds, where starting again takes half a minute.
fn every(gap: u64) -> Scene {
    let rows = (0..60u64).map(|index| {
        let (gpus, length) = ([1, 2, 4][index as usize % 3], 600 + 400 * (index % 5));
        let submit = gap * index;
        let due = submit + length * [1, 2, 6][index as usize % 3] + 120;
        job(&index.to_string(), submit, gpus, length).due(&[(due, 1)])
    });
    let mut scene = scene(rows);
    let costs = &mut scene.world.costs;
    (costs.restore, costs.relocate) = (Cost::fixed(30.0), Cost::fixed(30.0));
    scene
}

/// Up to twice as much as there is room for, at times. What is found is partly luck, so several
/// crowds are taken together.
#[test]
fn andreas_restarts_less_where_restarts_cost() {
    let told = |restart: &str| {
        let one = |gap: u64| {
            let scene = every(gap);
            let seen = scene.run("andreas", &[("restart", restart)]);
            let records = seen.simulation.records().all();
            let moved: u32 = records.iter().map(|record| record.moves).sum();
            (seen.preemptions() + moved, cost(&scene, &seen))
        };
        let all = [150, 200, 300].map(one);
        let restarts: u32 = all.iter().map(|(restarts, _)| restarts).sum();
        (restarts, all.iter().map(|(_, cost)| cost).sum::<f64>())
    };
    let (with, without) = (told("30 s"), told("0 s"));
    assert!(5 * with.0 < 3 * without.0, "{with:?} {without:?}");
    assert!(4.0 * with.1 < 3.0 * without.1, "{with:?} {without:?}");
}
