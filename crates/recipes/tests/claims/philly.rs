//! Philly, delay scheduling and FfDL: locality that is waited for, and what is lent.

use super::scene::{Row, Scene, job, rows};
use heeler_model::{NodeId, Reach, Span, Time};
use proptest::prelude::*;

/// Two nodes of four. Two GPUs of each are taken until 1000 s and 2000 s, so that a job of four
/// finds its GPUs on two nodes only.
fn split(patient: Row, others: Vec<Row>) -> Scene {
    let mut jobs = vec![job("left", 0, 3, 1000), job("right", 0, 3, 2000)];
    jobs.push(patient);
    jobs.extend(others);
    Scene::new("2x4", jobs)
}

#[test]
fn philly_relaxes_locality_with_time() {
    let seen = split(job("patient", 10, 2, 100), vec![]).run("philly", &[]);
    // One GPU is free on each node. After five minutes any two will do: there is one rack only.
    assert_eq!(seen.stays("patient"), [(310.0, 410.0, 2, 2)]);
    let knobs = &[("node", "30 min")];
    let seen = split(job("patient", 10, 2, 100), vec![]).run("philly", knobs);
    assert_eq!(seen.stays("patient"), [(1000.0, 1100.0, 2, 1)], "somebody left before that");
}

/// Two racks of two nodes, of which one GPU each is free on two nodes, either in one rack or not.
#[test]
fn philly_tries_one_rack_before_any_nodes() {
    let starts = |sizes: [u32; 4]| {
        let names = ["0", "1", "2", "3"];
        let mut jobs: Vec<Row> =
            names.iter().zip(sizes).map(|(name, gpus)| job(name, 0, gpus, 2000)).collect();
        jobs.push(job("patient", 10, 2, 100));
        Scene::new("4x4/2", jobs).run("philly", &[]).stays("patient")
    };
    assert_eq!(starts([3, 3, 4, 4]), [(310.0, 410.0, 2, 2)], "in one rack after five minutes");
    assert_eq!(starts([3, 4, 3, 4]), [(910.0, 1010.0, 2, 2)], "in two after a quarter of an hour");
}

/// Two racks of two nodes of four; one node of each rack comes free at 300 s, the others stay.
#[test]
fn philly_begins_with_a_rack_where_no_node_is_large_enough() {
    let lengths = [10_000, 300, 300, 10_000];
    let names = ["0", "1", "2", "3"];
    let mut jobs: Vec<Row> =
        names.iter().zip(lengths).map(|(name, length)| job(name, 0, 4, length)).collect();
    jobs.push(job("large", 10, 8, 100));
    let seen = Scene::new("4x4/2", jobs).run("philly", &[]);
    assert_eq!(seen.stays("large"), [(610.0, 710.0, 8, 2)], "ten minutes for a rack");
}

/// A job that was stopped is patient anew, and nobody who has been patient for long waits for it.
#[test]
fn philly_lets_the_patient_pass_equals_who_are_not() {
    let urgent = job("urgent", 200, 2, 100).priority(1);
    let seen = split(job("patient", 10, 2, 100), vec![urgent]).run("philly", &[]);
    assert_eq!(seen.stays("patient"), [(310.0, 410.0, 2, 2)]);
    assert_eq!(seen.stays("urgent"), [(500.0, 600.0, 2, 2)]);
}

#[test]
fn philly_lets_others_pass() {
    let seen = split(job("patient", 10, 2, 100), vec![job("small", 20, 1, 50)]).run("philly", &[]);
    assert_eq!(seen.start("small"), 20.0);
    assert_eq!(seen.start("patient"), 310.0);
}

/// A tenant with a quota of four comes to a cluster of eight that another uses beyond its own.
fn lent(gpus: u32) -> Scene {
    let jobs = [job("lent", 0, gpus, 2000).of("other"), job("own", 100, 4, 100).of("own")];
    Scene::new("1x8", jobs).quota("own", 4).quota("other", 2)
}

#[test]
fn philly_takes_back_only_when_busy() {
    let seen = lent(8).run("philly", &[]);
    assert_eq!((seen.start("own"), seen.preemptions()), (100.0, 1));
    // Six of eight GPUs are less than nine tenths; at once, they would be taken back.
    let seen = lent(6).run("philly", &[]);
    assert_eq!((seen.start("own"), seen.preemptions()), (2000.0, 0));
    let seen = lent(6).run("philly", &[("preempt", "reclaim")]);
    assert_eq!((seen.start("own"), seen.preemptions()), (100.0, 1));
}

/// Both jobs of another tenant run beyond its quota. The first is the less important one, though
/// the second began later.
#[test]
fn philly_takes_back_from_the_least_important() {
    let stopped = |low: i32, high: i32| {
        let first = job("first", 0, 4, 2000).of("other").priority(low);
        let second = job("second", 10, 4, 2000).of("other").priority(high);
        let jobs = [first, second, job("own", 100, 4, 100).of("own")];
        let scene = Scene::new("1x8", jobs).quota("own", 4).quota("other", 2);
        let seen = scene.run("philly", &[]);
        assert_eq!((seen.start("own"), seen.preemptions()), (100.0, 1));
        ["first", "second"].map(|name| seen.stays(name)[0].1 == 100.0)
    };
    assert_eq!(stopped(0, 1), [true, false]);
    assert_eq!(stopped(0, 0), [false, true], "of equals the last that started");
    assert_eq!(stopped(1, 0), [false, true]);
}

#[test]
fn delay_pays_for_locality() {
    let jobs = || vec![job("left", 0, 3, 40), job("right", 0, 3, 2000), job("next", 10, 2, 100)];
    let seen = Scene::new("2x4", jobs()).run("delay", &[]);
    assert_eq!(seen.stays("next"), [(40.0, 140.0, 2, 1)], "on one node half a minute later");
    let seen = Scene::new("2x4", jobs()).run("delay", &[("node", "0 s"), ("rack", "0 s")]);
    assert_eq!(seen.stays("next"), [(10.0, 110.0, 2, 2)]);
}

#[test]
fn delay_waits_no_longer_than_told() {
    let seen = split(job("patient", 10, 2, 100), vec![]).run("delay", &[]);
    assert_eq!(seen.stays("patient"), [(70.0, 170.0, 2, 2)]);
}

/// Two GPUs of each node are taken until 200 s and two for longer, so that a job of four finds all
/// GPUs taken at first and then two on each node.
fn full(left: u64, rows: Vec<Row>) -> Scene {
    let lengths = [200, left, 200, 5000];
    let names = ["0", "1", "2", "3"];
    let mut jobs: Vec<Row> =
        names.iter().zip(lengths).map(|(name, length)| job(name, 0, 2, length)).collect();
    jobs.extend(rows);
    Scene::new("2x4", jobs)
}

/// Who finds no GPUs at all waits for GPUs and not for locality.
#[test]
fn delay_counts_from_when_locality_is_all_that_is_missing() {
    let seen = full(5000, vec![job("next", 10, 4, 100)]).run("delay", &[]);
    assert_eq!(seen.stays("next"), [(260.0, 360.0, 4, 2)]);
    let seen = full(230, vec![job("next", 10, 4, 100)]).run("delay", &[]);
    assert_eq!(seen.stays("next"), [(230.0, 330.0, 4, 1)], "somebody left in time");
    // Since it came, it would have waited for long enough.
    let seen = full(230, vec![job("next", 10, 4, 100)]).run("delay", &[("since", "queued")]);
    assert_eq!(seen.stays("next"), [(200.0, 300.0, 4, 2)]);
    // What others take meanwhile does not make it wait anew.
    let rows = vec![job("next", 10, 4, 100), job("passes", 210, 2, 20)];
    let seen = full(5000, rows).run("delay", &[]);
    assert_eq!((seen.start("passes"), seen.start("next")), (210.0, 260.0));
}

/// Four nodes with two free GPUs each: of two equal jobs the second does not begin to be patient
/// when the first has been.
#[test]
fn delay_passes_over_equals_at_the_same_time() {
    let mut jobs: Vec<Row> =
        (0..8).map(|at| job(&at.to_string(), 0, 2, 200 + at % 2 * 5000)).collect();
    jobs.extend([job("next", 10, 4, 100), job("last", 20, 4, 100)]);
    let seen = Scene::new("4x4", jobs).run("delay", &[]);
    assert_eq!(["next", "last"].map(|name| seen.start(name)), [260.0, 260.0]);
}

/// Small jobs on both nodes, and one that needs all GPUs of a node.
fn crowded() -> Scene {
    let mut jobs: Vec<Row> = (0..4).map(|index| job(&index.to_string(), index, 1, 500)).collect();
    jobs.push(job("large", 10, 4, 100));
    let mut scene = Scene::new("2x4", jobs);
    scene.jobs.last_mut().expect("there are five").spec.demand.reach = Reach::Node;
    scene
}

#[test]
fn ffdl_packs_so_that_large_jobs_start() {
    assert_eq!(crowded().run("ffdl", &[]).start("large"), 10.0);
    let spread = crowded().run("ffdl", &[("place", "spread")]);
    assert_eq!(spread.start("large"), 502.0, "when those are done that came to its node");
}

#[test]
fn ffdl_starts_gangs_whole() {
    let jobs = [job("small", 0, 3, 100), job("gang", 1, 8, 50), job("late", 2, 1, 10)];
    let seen = Scene::new("2x4", jobs).run("ffdl", &[]);
    assert_eq!(seen.stays("gang"), [(100.0, 150.0, 8, 2)]);
    assert_eq!(seen.start("late"), 2.0, "others pass");
}

/// Of a tenant with a quota of four, the second job waits for the first beside idle GPUs.
#[test]
fn ffdl_keeps_tenants_within_their_quota() {
    let jobs = [job("first", 0, 3, 100).of("own"), job("second", 1, 2, 50).of("own")];
    let scene = Scene::new("1x8", jobs).quota("own", 4);
    assert_eq!(scene.run("ffdl", &[]).start("second"), 100.0);
    assert_eq!(scene.run("ffdl", &[("gate", "none")]).start("second"), 1.0);
}

#[test]
fn ffdl_starts_again_after_a_failure() {
    let mut simulation = Scene::new("2x4", [job("a", 0, 4, 100)]).simulation("ffdl", &[]);
    simulation.lose_node(NodeId(0), Time::from_secs(60), Some(Time::from_secs(600)));
    simulation.run();
    let record = &simulation.records().all()[0];
    assert_eq!(record.losses, 1);
    assert_eq!(record.completion(), Some(Span::from_secs(160)), "from the start, on the other");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn philly_without_patience_is_fifo_skip(rows in rows(8, 3, 12)) {
        let scene = Scene::new("2x4", rows);
        let (node, rack) = (("node", "0 s"), ("rack", "0 s"));
        let philly = scene.run("philly", &[node, rack]);
        let fifo = scene.run("fifo-skip", &[("place", "consolidate-or-spread")]);
        prop_assert_eq!(philly.ends(), fifo.ends());
    }

    #[test]
    fn delay_with_endless_patience_never_spreads(rows in rows(8, 3, 12)) {
        let scene = Scene::new("2x4", rows);
        let seen = scene.run("delay", &[("node", "1000 hours")]);
        for stay in &seen.stays {
            prop_assert!(stay.gpus > 4 || stay.nodes.len() == 1, "{stay:?}");
        }
    }

    #[test]
    fn ffdl_without_quotas_is_fifo_skip(rows in rows(8, 3, 12)) {
        let scene = Scene::new("2x4", rows);
        let ffdl = scene.run("ffdl", &[]);
        let fifo = scene.run("fifo-skip", &[("place", "consolidate-or-spread")]);
        prop_assert_eq!(ffdl.ends(), fifo.ends());
    }
}
