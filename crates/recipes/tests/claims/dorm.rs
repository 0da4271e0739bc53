//! Partitions that are resized: much in use, nobody far from its part, few disturbed.

use super::scene::{Row, Scene, job};
use heeler_model::Time;

/// An elastic job that runs on one to eight GPUs.
fn elastic(name: &str, submit_s: u64) -> Row {
    job(name, submit_s, 2, 1_000_000).sizes(1, 8)
}

/// GPUs of all jobs at a time, in order of submission.
fn sizes(scene: &Scene, knobs: &[(&str, &str)], at_s: u64) -> Vec<u32> {
    let mut simulation = scene.simulation("dorm", knobs);
    simulation.run_until(Time::from_secs(at_s));
    let jobs = simulation.engine().state().jobs().iter();
    jobs.map(|job| job.assignment.as_ref().map_or(0, |on| on.gpus())).collect()
}

#[test]
fn dorm_uses_everything_in_fair_parts() {
    let scene = Scene::new("1x8", [elastic("a", 0), elastic("b", 0)]);
    assert_eq!(sizes(&scene, &[], 30), [4, 4]);
    let four = ["a", "b", "c", "d"].map(|name| elastic(name, 0));
    assert_eq!(sizes(&Scene::new("1x8", four), &[], 30), [2, 2, 2, 2]);
}

/// `a` and `b` have four of eight GPUs each when `c` comes at 100. If nobody may be disturbed, it
/// waits; if half of them may, one is halved at the next round, at 120.
#[test]
fn dorm_disturbs_few() {
    let scene = Scene::new("1x8", [elastic("a", 0), elastic("b", 0), elastic("c", 100)]);
    let knobs = |disturbed| [("disturbed", disturbed), ("unfairness", "1.0")];
    assert_eq!(sizes(&scene, &knobs("0.0"), 1000), [4, 4, 0]);
    let mut found = sizes(&scene, &knobs("0.5"), 130);
    found.sort_unstable();
    assert_eq!(found, [2, 2, 4]);
}

/// Three jobs of one, two or four GPUs each, with a fair part of 2⅔ of eight. All eight are used with
/// parts of 4, 2 and 2, which are 2⅔ GPUs or a third of the cluster away; parts of 2 are two GPUs
/// or a quarter away. The most that could be is twice the cluster.
#[test]
fn dorm_trades_use_for_fairness() {
    let three = ["a", "b", "c"].map(|name| job(name, 0, 2, 1_000_000).sizes(1, 4));
    let scene = Scene::new("1x8", three);
    assert_eq!(sizes(&scene, &[("unfairness", "0.17")], 30).iter().sum::<u32>(), 8);
    assert_eq!(sizes(&scene, &[("unfairness", "0.15")], 30), [2, 2, 2]);
}

#[test]
fn dorm_gives_one_job_everything() {
    assert_eq!(sizes(&Scene::new("1x8", [elastic("a", 0)]), &[], 30), [8]);
    let scene = Scene::new("1x8", [job("a", 0, 2, 1_000_000)]);
    assert_eq!(sizes(&scene, &[], 30), [2], "but no more than that");
}
