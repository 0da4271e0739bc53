//! AntMan: jobs with a guarantee, and jobs that take what is left over on the same GPUs.

use super::scene::{Row, Scene, job};
use heeler_engine::Verdict;
use heeler_model::{JobId, Placement, Reason, Time};
use heeler_sim::Simulation;
use heeler_sim::workload::{GeneratorOptions, Shape};

/// An iteration of a second.
const PLAIN: [f64; 3] = [0.5, 0.3, 0.2];
/// One whose input needs two of the gaps that the other leaves for it.
const LONG_INPUT: [f64; 3] = [0.6, 0.1, 0.1];

/// A scene in which jobs of a priority below zero give way to others.
fn scene(cluster: &str, rows: impl IntoIterator<Item = Row>) -> Scene {
    let mut scene = Scene::new(cluster, rows);
    scene.world.sharing.guarantee = true;
    scene
}

/// A job with a guarantee.
fn sure(name: &str, submit_s: u64, gpus: u32, length_s: u64) -> Row {
    job(name, submit_s, gpus, length_s).stages(&PLAIN)
}

/// A job that takes what is left over.
fn spare(name: &str, submit_s: u64, gpus: u32, length_s: u64) -> Row {
    job(name, submit_s, gpus, length_s).stages(&LONG_INPUT).priority(-1)
}

/// The GPUs of a job at present.
fn place(simulation: &Simulation, name: &str) -> Option<Placement> {
    let id = simulation.find(name).expect("it was submitted");
    let on = simulation.engine().state().job(id).assignment.as_ref();
    on.map(|on| on.placement.clone())
}

/// `spare` has done 50 s when `sure` comes, does 50 s more in the 100 s beside it, and the last 20
/// s alone again.
#[test]
fn antman_guarantees_are_kept() {
    let run =
        scene("1x2", [spare("spare", 0, 2, 120), sure("sure", 50, 2, 100)]).run("antman", &[]);
    assert_eq!((run.start("sure"), run.end("sure")), (50.0, 150.0));
    assert_eq!(run.stays("spare"), [(0.0, 170.0, 2, 1)]);
}

#[test]
fn antman_takes_the_least_busy_gpus() {
    let mut jobs = vec![sure("sure", 0, 1, 1000)];
    jobs.extend((1..=4).map(|number| spare(&format!("spare {number}"), number, 1, 100)));
    let scene = scene("1x3", jobs);
    let mut simulation = scene.simulation("antman", &[]);
    simulation.run_until(Time::from_secs(5));
    let place = |name: &str| place(&simulation, name);
    let beside: Vec<bool> =
        ["spare 1", "spare 2", "spare 3"].map(|name| place(name) == place("sure")).into();
    assert_eq!(beside, [false, false, true]);
    assert_ne!(place("spare 1"), place("spare 2"));
    assert_eq!(place("spare 4"), None);
    // The first is over at 101, and leaves its GPU.
    assert_eq!(scene.run("antman", &[]).start("spare 4"), 101.0);
    // Where GPUs are taken to be less busy with them, two may be on one.
    let two = scene.run("antman", &[("opportunistic", "0.5"), ("below", "0.6")]);
    assert_eq!(two.start("spare 4"), 4.0);
}

#[test]
fn antman_keeps_gpus_for_who_needs_more() {
    // The one GPU that is free on the node, and the one free node.
    for (cluster, large, kept) in [("1x4", 3, 1), ("2x2", 2, 2)] {
        let scene = scene(
            cluster,
            [
                sure("first", 0, large, 100),
                sure("large", 1, 4, 100),
                sure("small", 2, 1, 100),
                spare("spare", 3, 1, 10),
            ],
        );
        let mut simulation = scene.simulation("antman", &[]);
        simulation.run_until(Time::from_secs(4));
        let reason = match simulation.engine().why(JobId(1)) {
            Verdict::Waits { reason, .. } => reason,
            other => panic!("it waits: {other:?}"),
        };
        assert_eq!(reason, Reason::Gathers { has: kept, need: 4 }, "{cluster}");
        let run = scene.run("antman", &[]);
        assert_eq!(["large", "small"].map(|name| run.start(name)), [100.0, 200.0], "{cluster}");
        // What is kept is not idle.
        assert_eq!(run.stays("spare"), [(3.0, 13.0, 1, 1)], "{cluster}");
    }
}

#[test]
fn antman_looks_at_memory() {
    let with_memory = |rows: [Row; 2]| {
        let mut scene = scene("1x1", rows);
        scene.cluster.kinds[0].memory_mb = 16_000;
        scene.jobs.iter_mut().for_each(|job| job.spec.demand.gpu_memory_mb = 9_000);
        scene.run("antman", &[])
    };
    let run = with_memory([spare("spare", 0, 1, 100), sure("sure", 50, 1, 100)]);
    assert_eq!((run.start("sure"), run.end("sure")), (50.0, 150.0));
    assert_eq!(run.stays("spare"), [(0.0, 50.0, 1, 1), (150.0, 200.0, 1, 1)]);
    let run = with_memory([sure("sure", 0, 1, 100), spare("spare", 50, 1, 100)]);
    assert_eq!(run.start("spare"), 100.0);
}

/// Every other job of a busy day gives up its guarantee, which nobody regrets on the whole.
#[test]
fn antman_uses_what_is_left_over() {
    let shape = Shape::Philly;
    let options = GeneratorOptions { shape, jobs: 600, load: 1.2, seed: 3, ..Default::default() };
    let mut scene = Scene::generated("4x8", &options);
    scene.world.sharing.guarantee = true;
    let all_sure = scene.run("antman", &[]);
    for job in scene.jobs.iter_mut().step_by(2) {
        job.spec.priority = -1;
    }
    let half = scene.run("antman", &[]);
    assert!(half.mean_s() < 0.8 * all_sure.mean_s(), "{} {}", half.mean_s(), all_sure.mean_s());
    let sure = |run: &super::scene::Run| {
        let records = run.simulation.records().all().iter().skip(1).step_by(2);
        records.map(|record| record.completion().expect("it ends").secs_f64()).sum::<f64>()
    };
    assert!(sure(&half) < sure(&all_sure));
}
