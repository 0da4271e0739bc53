//! Synergy: CPUs and memory by what jobs can make use of.

use super::scene::{Row, Scene, job, rows};
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
        // The other two go by what jobs want, which differs even where there is plenty.
        for order in &ORDERS[..4] {
            let knobs = |give| [("order", *order), ("give", give), ("round", "20 s")];
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
