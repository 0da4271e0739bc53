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
