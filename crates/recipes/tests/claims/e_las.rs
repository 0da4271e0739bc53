//! E-LAS: service, weighed by the epochs that are left.

use super::scene::{Scene, job, rows};
use heeler_model::Span;
use heeler_sim::workload::{GeneratorOptions, Shape};
use heeler_sim::world::WorldCard;
use proptest::prelude::*;

/// Both have ten epochs, of 10 s and of 100 s. When the second comes, the first has had 50 s of
/// service and has half its epochs ahead of it, so it stands at 25 s. The second has had nothing
/// and runs for its lease; then both have had the same, and the first goes on.
#[test]
fn e_las_prefers_who_gets_on() {
    let jobs = [job("quick", 0, 1, 100), job("slow", 50, 1, 1000)];
    let seen = Scene::new("1x1", jobs).run("e-las", &[("lease", "50 s")]);
    assert_eq!(seen.stays("quick"), [(0.0, 50.0, 1, 1), (100.0, 150.0, 1, 1)]);
    assert_eq!(seen.end("slow"), 1100.0);
}

/// Ten epochs of 10 s. At 90 `late` has a tenth of them ahead of it and stands at 9 s, so `other`
/// has its GPU for a lease of 20 s and no longer, and `late` is done. Had nobody said how many
/// epochs there are, `other` would have had less than `late` at the end of its lease, and go on.
#[test]
fn e_las_lets_who_is_nearly_done_finish() {
    let mut scene = Scene::new("1x1", [job("late", 0, 1, 100), job("other", 90, 1, 500)]);
    let ends = |scene: &Scene| {
        let seen = scene.run("e-las", &[("lease", "20 s")]);
        (seen.end("late"), seen.end("other"))
    };
    assert_eq!(ends(&scene), (120.0, 600.0));
    scene.jobs.iter_mut().for_each(|job| job.spec.declared = None);
    assert_eq!(ends(&scene), (600.0, 590.0));
}

/// A generated load, and how many times its length each job declares, which says how long its
/// epochs are taken to be.
fn load(declared: &[f64], seed: u64) -> Scene {
    let shape = Shape::Philly;
    let options = GeneratorOptions { shape, jobs: 300, load: 2.0, seed, ..Default::default() };
    let mut scene = Scene::generated("2x8", &options);
    for (job, times) in scene.jobs.iter_mut().zip(declared.iter().cycle()) {
        job.spec.declared = Some(Span::from_secs_f64(job.duration().secs_f64() * times));
    }
    scene
}

/// How long jobs wait in the mean, seconds.
fn wait_s(scene: &Scene, recipe: &str, knobs: &[(&str, &str)]) -> f64 {
    let lengths: f64 = scene.jobs.iter().map(|job| job.duration().secs_f64()).sum();
    scene.run(recipe, knobs).mean_s() - lengths / scene.jobs.len() as f64
}

/// Least attained service has the same lease and places jobs alike. What epochs are worth is seen
/// also where two of three owners are wrong about how long theirs are, by half and by twice.
#[test]
fn e_las_is_below_tiresias_below_fifo() {
    let place = ("place", "consolidate-or-spread");
    let las_knobs = [("lease", "5 min"), place, ("cadence", "event")];
    let mut sums = [0.0; 3];
    for seed in 1..=6 {
        let (sure, unsure) = (load(&[1.0], seed), load(&[0.5, 1.0, 2.0], seed));
        let (e_las, wrong) = (wait_s(&sure, "e-las", &[]), wait_s(&unsure, "e-las", &[]));
        let [tiresias, fifo] = ["tiresias", "fifo"].map(|name| wait_s(&sure, name, &[]));
        assert!(e_las < tiresias && tiresias < fifo, "{seed}: {e_las} {tiresias} {fifo}");
        let las = wait_s(&sure, "las", &las_knobs);
        assert!(e_las < las && wrong < las, "{seed}: {e_las} {wrong} {las}");
        sums.iter_mut().zip([e_las, wrong, las]).for_each(|(sum, wait)| *sum += wait);
    }
    let [e_las, wrong, las] = sums;
    assert!(e_las < 0.8 * las && wrong < 0.8 * las, "{e_las} {wrong} {las}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn e_las_without_epochs_is_las(rows in rows(4, 1, 8)) {
        let mut scene = Scene::new("1x4", rows);
        scene.jobs.iter_mut().for_each(|job| job.spec.declared = None);
        let e_las = scene.run("e-las", &[("lease", "10 s")]);
        let place = ("place", "consolidate-or-spread");
        let las = scene.run("las", &[("lease", "10 s"), place, ("cadence", "event")]);
        prop_assert_eq!(e_las.ends(), las.ends());
    }
}

/// A gang of eight takes longer to be saved and started again than its lease is: the lease counts
/// from when it works, or three of them would take turns without getting on.
#[test]
fn e_las_gets_on_where_starting_takes_long() {
    let mut scene = Scene::new("1x8", (0..3).map(|at| job(&at.to_string(), at * 10, 8, 4000)));
    scene.world = WorldCard::find("everyday").expect("a world").world();
    scene.world.failures = None;
    let seen = scene.run("e-las", &[("lease", "60 s")]);
    let last = ["0", "1", "2"].map(|name| seen.end(name)).into_iter().fold(0.0, f64::max);
    assert!(last < 3.0 * 12_000.0, "{last}");
}
