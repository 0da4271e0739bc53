//! Alibaba's PAI: shortest first by what repeated jobs took, parts of GPUs packed, and the best
//! GPUs left to those who need them.

use super::scene::{Row, Scene, job, rows};
use heeler_model::{KindSet, Milli};
use proptest::prelude::*;

/// Two nodes of four slow GPUs and one of four fast ones.
fn mixed(rows: impl IntoIterator<Item = Row>) -> Scene {
    let mut scene = Scene::new("1x4:v100+2x4:t4", rows);
    let slow = scene.cluster.kind_named("t4");
    scene.cluster.kinds[slow.index()].speed = Milli(400);
    scene
}

/// Twelve jobs of one GPU fill the slow nodes and, of the four fast GPUs, three: one is kept. Then
/// comes a job that runs on fast ones only. First fit gives it nothing before somebody ends.
#[test]
fn ali_mlaas_leaves_the_best_gpus_to_those_who_need_them() {
    let mut table: Vec<Row> =
        (0..12).map(|index| job(&format!("any{index}"), 0, 1, 1000)).collect();
    table.push(job("picky", 10, 1, 100));
    let mut scene = mixed(table);
    let fast = scene.cluster.kind_named("v100");
    scene.jobs[12].spec.demand.kinds = KindSet::only(fast);
    let run = scene.run("ali-mlaas", &[]);
    assert_eq!(run.start("picky"), 10.0);
    let on_fast = |nodes: &[u32]| nodes == [0];
    let first = |stay: &&super::scene::Stay| stay.from.micros() == 0 && on_fast(&stay.nodes);
    assert_eq!(run.stays.iter().filter(first).count(), 3, "the slow ones were filled first");
    let greedy = scene.run("ali-mlaas", &[("place", "first-fit")]);
    assert!(greedy.start("picky") >= 1000.0, "{}", greedy.start("picky"));
    let wholly = scene.run("ali-mlaas", &[("place", "{ spare-best = { keep = 1.0 } }")]);
    let early = wholly.stays.iter().filter(first).count();
    assert_eq!((early, wholly.start("picky")), (0, 10.0), "all of them are kept");
}

/// Four jobs of a quarter of a GPU are on one, so that three are left for a job of three.
#[test]
fn ali_mlaas_packs_parts_onto_one_gpu() {
    let mut scene = Scene::new(
        "1x4",
        (0..4).map(|index| job(&format!("part{index}"), 0, 1, 100)).chain([job("three", 1, 3, 10)]),
    );
    scene.jobs.iter_mut().take(4).for_each(|job| job.spec.demand.share = Milli(250));
    let run = scene.run("ali-mlaas", &[]);
    assert_eq!(run.start("three"), 1.0);
    assert_eq!(run.end("part3"), 100.0);
}

/// Eleven jobs fill the slow nodes and three fast GPUs; the fourth is kept. A quarter of a GPU that
/// could be had elsewhere does not open it, but once somebody who needs it has a part of it,
/// another quarter beside that takes nothing from anybody.
#[test]
fn ali_mlaas_lets_parts_join_a_fast_gpu_that_is_shared() {
    let mut table: Vec<Row> =
        (0..11).map(|index| job(&format!("any{index}"), 0, 1, 1000)).collect();
    table.push(job("early", 5, 1, 100));
    table.push(job("picky", 10, 1, 500));
    table.push(job("late", 20, 1, 100));
    let mut scene = mixed(table);
    let fast = scene.cluster.kind_named("v100");
    scene.jobs.iter_mut().skip(11).for_each(|job| job.spec.demand.share = Milli(250));
    scene.jobs[12].spec.demand.kinds = KindSet::only(fast);
    let run = scene.run("ali-mlaas", &[]);
    assert!(run.start("early") > 5.0, "the last fast GPU is kept");
    assert_eq!([run.start("picky"), run.start("late")], [10.0, 20.0]);
}

#[test]
fn ali_mlaas_learns_from_repeated_jobs() {
    let lengths = [20u64, 2000, 200, 60, 600];
    let rows = (0..800u64).map(|index| {
        let length = lengths[(index * 3 % 5) as usize] + index * 13 % 17;
        let name = format!("group {}", index * 3 % 5);
        job(&index.to_string(), index * 33, 1, length).named(&name).declares(1)
    });
    let scene = Scene::new("2x8", rows.collect::<Vec<_>>());
    let exact = scene.run("ali-mlaas", &[("predict", "oracle")]).mean_s();
    let learnt = scene.run("ali-mlaas", &[]).mean_s();
    let fifo = scene.run("fifo-skip", &[]).mean_s();
    assert!(learnt < 1.05 * exact, "{learnt} against {exact}");
    assert!(fifo > 1.5 * learnt, "{fifo} against {learnt}");
}

proptest! {
    #[test]
    fn ali_mlaas_with_exact_lengths_is_sjf(rows in rows(8, 1, 20)) {
        let scene = Scene::new("2x8", rows);
        let own = scene.run("ali-mlaas", &[("predict", "oracle")]).starts();
        prop_assert_eq!(own, scene.run("sjf", &[]).starts());
    }
}
