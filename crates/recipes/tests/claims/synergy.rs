//! Synergy: CPUs and memory by what jobs can make use of.

use super::scene::{Row, Run, Scene, job, rows};
use heeler_engine::{Shares, Spill};
use heeler_model::{Appetite, Portion};
use proptest::prelude::*;

/// Faster with more CPUs than the three of a GPU's share.
const HUNGRY: [(u32, f64); 4] = [(1, 0.3), (3, 1.0), (4, 1.5), (5, 2.0)];
/// As fast with one as with any number.
const FRUGAL: [(u32, f64); 1] = [(1, 1.0)];

const ORDERS: [&str; 6] = ["fifo", "srtf", "las", "finish-time", "dominant-share", "tetris"];

#[test]
fn synergy_gives_cpus_to_those_who_use_them() {
    let jobs =
        [job("frugal", 0, 1, 600).appetite(&FRUGAL), job("hungry", 0, 1, 600).appetite(&HUNGRY)];
    let scene = Scene::new("1x2", jobs).cpus(6);
    // One CPU is enough for the first, so five are left, with which the other is twice as fast.
    let seen = scene.run("synergy", &[]);
    assert_eq!((seen.end("frugal"), seen.end("hungry")), (600.0, 300.0));
    let seen = scene.run("synergy", &[("give", "proportional")]);
    assert_eq!((seen.end("frugal"), seen.end("hungry")), (600.0, 600.0));
}

#[test]
fn synergy_takes_back_no_more_than_what_is_beyond_a_share() {
    let jobs =
        [job("first", 0, 1, 1200).appetite(&HUNGRY), job("second", 10, 1, 600).appetite(&HUNGRY)];
    let scene = Scene::new("1x2", jobs).cpus(6);
    // Alone, the first does two seconds' work in each of 300. Then the other comes, for whom five
    // CPUs are not there and three only if the first keeps three: both run at the pace of a share.
    let seen = scene.run("synergy", &[]);
    assert_eq!((seen.start("second"), seen.end("second")), (300.0, 900.0));
    assert_eq!(seen.end("first"), 900.0);
    // It would rather wait than have less than is enough.
    let seen = scene.run("synergy", &[("give", "enough")]);
    assert_eq!((seen.end("first"), seen.start("second")), (600.0, 600.0));
}

/// Some of them hungry, some frugal, some of whom nothing is known.
fn mixed(rows: &[Row]) -> Vec<Row> {
    let with = |(index, row): (usize, &Row)| match index % 3 {
        0 => row.clone().appetite(&HUNGRY),
        1 => row.clone().appetite(&FRUGAL),
        _ => row.clone(),
    };
    rows.iter().enumerate().map(with).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]
    #[test]
    fn synergy_with_plenty_of_cpus_is_proportional(rows in rows(8, 1, 30)) {
        let scene = Scene::new("2x4", mixed(&rows)).cpus(20);
        for order in ORDERS {
            let knobs = |give| [("order", order), ("give", give), ("round", "20 s")];
            let tuned = scene.run("synergy", &knobs("tune")).ends();
            let equal = scene.run("synergy", &knobs("proportional")).ends();
            prop_assert_eq!(tuned, equal, "{}", order);
        }
    }

    #[test]
    fn synergy_without_profiles_is_proportional(rows in rows(8, 1, 30)) {
        let scene = Scene::new("2x4", rows).cpus(12);
        for order in ORDERS {
            let knobs = |give| [("order", order), ("give", give), ("round", "20 s")];
            let tuned = scene.run("synergy", &knobs("tune")).ends();
            let equal = scene.run("synergy", &knobs("proportional")).ends();
            prop_assert_eq!(tuned, equal, "{}", order);
        }
    }
}

#[test]
fn synergy_gains_where_cpus_are_scarce() {
    let row = |index: u64| {
        let row = job(&index.to_string(), index * 20, 1, 600 + index * 97 % 1800);
        if index.is_multiple_of(3) { row.appetite(&FRUGAL) } else { row.appetite(&HUNGRY) }
    };
    let jobs: Vec<Row> = (0..60).map(row).collect();
    let mean = |cpus, order, give| {
        let scene = Scene::new("2x8", jobs.clone()).cpus(cpus);
        scene.run("synergy", &[("order", order), ("give", give)]).mean_s()
    };
    for order in &ORDERS[..4] {
        let (tuned, equal) = (mean(24, order, "tune"), mean(24, order, "proportional"));
        assert!(tuned < equal, "{order}: {tuned} s, and {equal} s with proportional shares");
        let (tuned, equal) = (mean(48, order, "tune"), mean(48, order, "proportional"));
        assert_eq!(tuned, equal, "{order}: with six CPUs for each GPU nobody wants more");
    }
}

/// Free are one GPU, two and four. Five are a node and one more, or else one, two and two.
#[test]
fn synergy_fills_the_fullest_servers_first_where_its_program_does() {
    let jobs = [job("three", 0, 3, 300), job("two", 0, 2, 300), job("gang", 0, 5, 300)];
    let mut scene = Scene::new("3x4", jobs).cpus(12);
    assert_eq!(scene.run("synergy", &[]).stays("gang"), [(0.0, 300.0, 5, 2)]);
    scene.world.rules.spill = Spill::Fullest;
    assert_eq!(scene.run("synergy", &[]).stays("gang"), [(0.0, 300.0, 5, 3)]);
}

/// A share is six CPUs, and with five the job is twice as fast. In the published program a share
/// never makes anybody faster, and what is enough does.
#[test]
fn synergy_may_take_shares_for_the_unit_of_speed() {
    let job = job("job", 0, 1, 600).appetite(&[(1, 1.0), (5, 2.0)]);
    let mut scene = Scene::new("1x2", [job]).cpus(12);
    let end = |scene: &Scene, give| scene.run("synergy", &[("give", give)]).end("job");
    assert_eq!([end(&scene, "proportional"), end(&scene, "tune")], [300.0, 300.0]);
    scene.world.rules.shares = Shares::Nominal;
    assert_eq!([end(&scene, "proportional"), end(&scene, "tune")], [600.0, 300.0]);
}

/// A share is four CPUs and 4 GB. The third job wants 4 GB, of which two are left, so the others
/// are asked, who has most CPUs first: the first has no more than its share of anything, and the
/// second gives back five. In the published program whoever was asked is no faster than with its
/// share for that round: of 1200 s of work the first does 300 in it, and the rest twice as fast.
#[test]
fn synergy_may_slow_down_who_was_asked_in_vain() {
    let jobs = [job("first", 0, 1, 1200), job("second", 0, 1, 1200), job("third", 0, 1, 300)];
    let mut scene = Scene::new("1x3", jobs).cpus(12);
    scene.cluster.nodes[0].memory_mb = 12_000;
    let wants = [(4000, 1000, 2.0), (1000, 9000, 2.0), (1000, 4000, 1.0)];
    for (job, (cpu_milli, memory_mb, best)) in scene.jobs.iter_mut().zip(wants) {
        let enough = Portion { cpu_milli, memory_mb };
        let measured = vec![(Portion::default(), 1.0)];
        job.spec.extras_mut().appetite = Some(Appetite { enough, best, measured });
    }
    let ends = |run: Run| [run.end("first"), run.end("second"), run.end("third")];
    assert_eq!(ends(scene.run("synergy", &[])), [600.0, 750.0, 300.0]);
    scene.world.rules.shares = Shares::Nominal;
    assert_eq!(ends(scene.run("synergy", &[])), [750.0, 750.0, 300.0]);
}

/// The first two count for the two GPUs. Of their ten CPUs there are six, so the second waits, and
/// with it the third, for whom there would be room.
#[test]
fn synergy_may_count_gpus_for_the_least_served() {
    let jobs = [
        job("first", 0, 1, 600).appetite(&HUNGRY),
        job("second", 0, 1, 600).appetite(&HUNGRY),
        job("third", 0, 1, 600).appetite(&FRUGAL),
    ];
    let mut scene = Scene::new("1x2", jobs).cpus(6);
    let knobs = [("order", "las"), ("give", "enough")];
    assert_eq!(scene.run("synergy", &knobs).start("third"), 0.0);
    scene.world.rules.least_served_by_count = true;
    assert_eq!(scene.run("synergy", &knobs).start("third"), 300.0);
}
