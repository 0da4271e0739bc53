//! Optimus: GPUs go where they save most time, by what is left and how jobs scale.

use super::scene::{Scene, job};
use super::sia::training;
use heeler_model::Sizes;
use heeler_sim::metrics::Summary;

/// A job of 400 s on one GPU and one of 100 s share four. Each begins with one. The second GPU
/// saves the first job 200 s and would save the second 50 s; the third saves it 67 s. So three and
/// one.
#[test]
fn optimus_gives_where_it_saves_most() {
    let jobs = [job("long", 0, 1, 400).sizes(1, 4), job("short", 0, 1, 100).sizes(1, 4)];
    let seen = Scene::new("1x4", jobs).run("optimus", &[("round", "60 s")]);
    assert_eq!((seen.stays("long")[0].2, seen.stays("short")[0].2), (3, 1));
    // After a minute 220 s and 40 s are left: the third saves 37 s, more than 20 s.
    // The short one is done after 100 s, and the round after 120 s.
    assert_eq!(seen.stays("long")[1], (120.0, 130.0, 4, 1));
}

/// One job declares far too much and one far too little.
#[test]
fn optimus_learns_what_is_left_from_losses() {
    let short = job("short", 0, 1, 4000).declares(100_000).sizes(1, 4).loss(4.0, 0.4, 20.0, 40);
    let long = job("long", 0, 1, 20_000).declares(300).sizes(1, 4).loss(4.0, 0.4, 20.0, 200);
    let scene = Scene::new("1x4", [short, long]);
    let had = |knobs: &[(&str, &str)], name: &str| {
        let seen = scene.run("optimus", knobs);
        let until = seen.end("short");
        let stays = seen.stays(name).into_iter().filter(|stay| stay.0 < until);
        stays.map(|stay| stay.2).max().unwrap_or(0)
    };
    let round = ("round", "60 s");
    assert_eq!(had(&[round], "long"), 3, "as soon as its losses tell");
    assert_eq!(had(&[round, ("predict", "declared")], "long"), 1, "it should be done by now");
}

/// Who outlives its prediction is one of whom nobody can tell: GPUs that nobody else wants are its.
#[test]
fn optimus_leaves_nothing_idle_beside_whoever_outlives_its_prediction() {
    let late = |name: &str| job(name, 0, 1, 4000).declares(100).sizes(1, 4);
    let scene = Scene::new("1x4", [late("a"), late("b")]);
    let seen = scene.run("optimus", &[("round", "60 s"), ("predict", "declared")]);
    let end = seen.end("a").max(seen.end("b"));
    assert!(end <= 2100.0, "all four GPUs for 2,000 seconds: {end}");
}

/// At its end everybody knows how long a job is; what was said halfway is what counts.
#[test]
fn predictions_by_losses_are_judged_halfway() {
    let long = job("long", 0, 1, 20_000).declares(300).sizes(1, 4).loss(4.0, 0.4, 20.0, 200);
    let seen = Scene::new("1x4", [long]).run("optimus", &[("round", "60 s")]);
    let known = Summary::of(&seen.simulation).predictions;
    assert_eq!((known.len(), known[0].seen), (1, 1));
    assert!(!known[0].is_exact(), "{known:?}");
}

#[test]
fn optimus_learns_who_does_not_scale() {
    let mut scene = training(&[("scales", 0), ("stalls", 0)], false);
    for job in &mut scene.jobs {
        job.spec.demand.sizes = Sizes::range(1, 4, 8);
    }
    let seen = scene.run("optimus", &[("round", "60 s")]);
    let most = |name: &str| seen.stays(name).iter().map(|stay| stay.2).max().unwrap_or(0);
    let last = |name: &str| seen.stays(name).last().expect("it ran").2;
    assert_eq!(most("0"), 8, "{:?}", seen.stays("0"));
    assert!(last("1") <= 2, "{:?}", seen.stays("1"));
}

/// A job of six GPUs has three on each of two nodes, though four are free on each; one of four is
/// on one node. With most room first, it would be four and two.
#[test]
fn optimus_deals_gpus_out_evenly_on_the_fewest_nodes() {
    let scene = Scene::new("3x4", [job("six", 0, 6, 100), job("four", 1000, 4, 100)]);
    let parts = |knobs: &[(&str, &str)], name: &str| {
        let mut parts: Vec<u32> = Vec::new();
        scene.watch("optimus", knobs, |simulation| {
            let id = simulation.find(name);
            let jobs = simulation.engine().state().jobs();
            let on = id.and_then(|id| jobs.get(id)?.assignment.as_ref());
            if let Some(on) = on {
                let slices = on.placement.slices().iter();
                parts = slices.map(|slice| slice.slots.count()).collect();
            }
        });
        parts
    };
    assert_eq!((parts(&[], "six"), parts(&[], "four")), (vec![3, 3], vec![4]));
    assert_eq!(parts(&[("place", "most-room")], "six"), [4, 2]);
}

#[test]
fn optimus_with_room_for_all_leaves_rigid_jobs_alone() {
    let jobs = [job("a", 0, 4, 500), job("c", 0, 2, 900), job("d", 30, 2, 60)];
    let seen = Scene::new("1x8", jobs).run("optimus", &[("round", "60 s")]);
    let starts = ["a", "c", "d"].map(|name| (seen.start(name), seen.stays(name).len()));
    assert_eq!(starts, [(0.0, 1), (0.0, 1), (60.0, 1)]);
}
