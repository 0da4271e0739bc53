//! Muri: groups whose stages interleave.

use super::scene::{Row, Scene, job, rows};
use heeler_model::{JobId, Time};
use heeler_parts::groups::Interleaving;
use proptest::prelude::*;

/// An iteration of a second: mostly input.
const LOADS: [f64; 2] = [0.8, 0.2];
/// And one that mostly computes.
const COMPUTES: [f64; 2] = [0.2, 0.8];

/// A scene in which stages interleave without further loss.
fn interleaving(cluster: &str, rows: impl IntoIterator<Item = Row>) -> Scene {
    let mut scene = Scene::new(cluster, rows);
    let ideal = Interleaving { slowdown: vec![1.0], ..Interleaving::default() };
    scene.world.sharing.interleave = Some(ideal);
    scene
}

/// Who shares GPUs with whom after a second.
fn groups(scene: &Scene, recipe: &str, knobs: &[(&str, &str)]) -> Vec<Vec<JobId>> {
    let mut simulation = scene.simulation(recipe, knobs);
    simulation.run_until(Time::from_secs(1));
    let state = simulation.engine().state();
    let mut groups: Vec<Vec<JobId>> = Vec::new();
    let placement = |id: JobId| state.job(id).assignment.as_ref().map(|on| on.placement.clone());
    for job in state.jobs().iter().filter(|job| job.is_running()) {
        match groups.iter_mut().find(|group| placement(group[0]) == placement(job.id)) {
            Some(group) => group.push(job.id),
            None => groups.push(vec![job.id]),
        }
    }
    groups
}

#[test]
fn muri_interleaves_a_good_pair() {
    let pair =
        [job("loads", 0, 1, 100).stages(&LOADS), job("computes", 0, 1, 100).stages(&COMPUTES)];
    for recipe in ["muri-s", "muri-l"] {
        // Each is at the disk or at the GPU while the other is at the other: 0.8 s and 0.2 s.
        let seen = interleaving("1x1", pair.clone()).run(recipe, &[]);
        assert_eq!((seen.end("loads"), seen.end("computes")), (100.0, 100.0), "{recipe}");
        let alone = interleaving("1x1", pair.clone()).run(recipe, &[("most", "1")]);
        assert_eq!((alone.end("loads"), alone.end("computes")), (100.0, 200.0), "{recipe}");
    }
    // With the slowdown that was measured of two.
    let mut scene = interleaving("1x1", pair);
    scene.world.sharing.interleave = Some(Interleaving::default());
    let end = scene.run("muri-s", &[]).end("loads");
    assert!((end - 100.0 * 1.33 / 1.015).abs() < 1e-3, "{end}");
}

#[test]
fn muri_matches_those_who_complement_each_other() {
    let kinds = [("a", LOADS), ("b", LOADS), ("c", COMPUTES), ("d", COMPUTES)];
    let row = |(name, stages): (&str, [f64; 2])| job(name, 0, 1, 100).stages(&stages);
    let orders: [[usize; 4]; 3] = [[0, 1, 2, 3], [0, 2, 1, 3], [3, 0, 2, 1]];
    for order in orders {
        let scene = interleaving("1x2", order.map(|at| row(kinds[at])));
        let loads = |id: &JobId| order[id.index()] < 2;
        for recipe in ["muri-s", "muri-l"] {
            let groups = groups(&scene, recipe, &[]);
            assert_eq!(groups.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2], "{recipe}");
            for group in &groups {
                assert_ne!(loads(&group[0]), loads(&group[1]), "{recipe}: {groups:?}");
            }
        }
    }
    let scene = interleaving("1x2", kinds.map(row));
    let knobs = [("pairing", "in-order"), ("unpack", "false")];
    let groups = groups(&scene, "muri-s", &knobs);
    assert_eq!(groups.len(), 2);
    assert!(groups.iter().any(|group| group.contains(&JobId(0)) && group.contains(&JobId(1))));
}

#[test]
fn muri_undoes_groups_that_are_slower() {
    // Both load: a round of two takes 1.6 s, times what sharing costs.
    let scene =
        interleaving("1x1", [0, 1].map(|at| job(&at.to_string(), 0, 1, 100).stages(&LOADS)));
    for recipe in ["muri-s", "muri-l"] {
        assert_eq!(groups(&scene, recipe, &[]).len(), 1, "{recipe}");
        assert_eq!(groups(&scene, recipe, &[])[0].len(), 1, "{recipe}");
        assert_eq!(groups(&scene, recipe, &[("unpack", "false")])[0].len(), 2, "{recipe}");
    }
}

#[test]
fn muri_decides_who_goes_without_where_groups_are_too_many() {
    // Six of one GPU make three twos; three of two GPUs make a three. That is five GPUs of four.
    let kinds = [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]];
    let row = |at: usize| {
        let gpus = if at < 6 { 1 } else { 2 };
        job(&at.to_string(), 0, gpus, 100).stages(&kinds[at % 3])
    };
    let scene = interleaving("1x4", (0..9).map(row));
    let sizes = |unpack: &str| {
        let knobs = [("most", "3"), ("slowdown", "[1.0]"), ("unpack", unpack)];
        let groups = groups(&scene, "muri-l", &knobs);
        let wide = |group: &&Vec<JobId>| group[0].index() >= 6;
        let (wide, narrow): (Vec<_>, Vec<_>) = groups.iter().partition(wide);
        (narrow.len(), wide.iter().map(|group| group.len()).sum::<usize>())
    };
    assert_eq!(sizes("true"), (3, 0), "by the order");
    assert_eq!(sizes("false"), (2, 3), "the largest first");
}

#[test]
fn muri_keeps_sizes_apart() {
    let rows = [
        job("wide", 0, 2, 100).stages(&LOADS),
        job("one", 0, 1, 90).stages(&COMPUTES),
        job("two", 0, 1, 95).stages(&LOADS),
    ];
    for recipe in ["muri-s", "muri-l"] {
        let seen = interleaving("1x2", rows.clone()).watch(recipe, &[], |simulation| {
            let state = simulation.engine().state();
            let wide = state.jobs().iter().find(|job| job.gpus() == 2 && job.is_running());
            assert!(wide.is_none() || state.running() == 1, "{recipe}");
        });
        assert!(seen.ends().iter().all(Option::is_some));
    }
}

#[test]
fn muri_shares_only_where_there_is_no_room() {
    let kinds = [LOADS, COMPUTES];
    let row = |at: usize| job(&at.to_string(), 0, 1, 100).stages(&kinds[at % 2]);
    let scene = |jobs: usize| interleaving("1x4", (0..jobs).map(row));
    let knobs = [("slowdown", "[1.0]")];
    assert_eq!(groups(&scene(4), "muri-s", &knobs).len(), 4);
    // Five on four: one two, and the others to themselves.
    let groups = groups(&scene(5), "muri-s", &knobs);
    let mut sizes: Vec<usize> = groups.iter().map(Vec::len).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [1, 1, 1, 2]);
}

#[test]
fn muri_l_goes_by_attained_service() {
    // At 30 s the first has had 30 s and the second nothing; at 50 s it goes on.
    let rows = [job("first", 0, 1, 100), job("second", 30, 1, 20)];
    let seen = Scene::new("1x1", rows).run("muri-l", &[]);
    assert_eq!((seen.end("second"), seen.end("first")), (50.0, 120.0));
}

#[test]
fn muri_l_goes_by_queues() {
    let rows = [job("first", 0, 1, 100), job("second", 40, 1, 100)];
    let seen = |knobs: &[(&str, &str)]| {
        let mut simulation = Scene::new("1x1", rows.clone()).simulation("muri-l", knobs);
        let runs_at = |simulation: &mut heeler_sim::Simulation, at: u64| {
            simulation.run_until(Time::from_secs(at));
            let jobs = simulation.engine().state().jobs().iter();
            jobs.filter(|job| job.is_running()).map(|job| job.id.0).collect::<Vec<_>>()
        };
        [41, 49, 51, 99, 101].map(|at| runs_at(&mut simulation, at))
    };
    let limits = "{ queues = { limits = ['50 gpu-s'] } }";
    // Who has had least takes over at once; in queues, when the first has had what its queue gives.
    assert_eq!(seen(&[]), [[1], [1], [1], [1], [1]]);
    assert_eq!(seen(&[("order", limits)]), [[0], [0], [1], [1], [0]]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn muri_without_stages_is_srsf(rows in rows(4, 1, 24)) {
        let scene = Scene::new("1x4", rows);
        let (ours, srsf) = (scene.run("muri-s", &[]), scene.run("srsf", &[]));
        prop_assert_eq!(ours.ends(), srsf.ends());
    }
}
