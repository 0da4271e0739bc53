//! E-LAS: service for each epoch.

use super::scene::{Scene, job, rows};
use heeler_sim::workload::{GeneratorOptions, Shape};
use heeler_sim::world::WorldCard;
use proptest::prelude::*;

/// Both have ten epochs, of 10 s and of 100 s. When the second comes, the first has had 50 s of
/// service and has half its epochs behind it, so it takes 100 s in all. The second runs until it
/// has had as much as that; its epoch is over then, and it takes 1000 s in all.
#[test]
fn e_las_prefers_who_gets_on() {
    let jobs = [job("quick", 0, 1, 100), job("slow", 50, 1, 1000)];
    let knobs = &[("lease", "0 s")];
    let seen = Scene::new("1x1", jobs).run("e-las", knobs);
    assert_eq!(seen.stays("quick"), [(0.0, 50.0, 1, 1), (150.0, 200.0, 1, 1)]);
    assert_eq!(seen.end("slow"), 1100.0);
}

/// The mean completion time of a generated load, in seconds.
fn mean_s(recipe: &str, seed: u64) -> f64 {
    let shape = Shape::Philly;
    let options = GeneratorOptions { shape, jobs: 300, load: 1.3, seed, ..Default::default() };
    let mut scene = Scene::generated("2x8", &options);
    // Owners know how many epochs their jobs have.
    for job in &mut scene.jobs {
        job.spec.declared = Some(job.duration());
    }
    scene.run(recipe, &[]).mean_s()
}

#[test]
fn e_las_is_below_tiresias_below_fifo() {
    for seed in [1, 2, 3] {
        let [e_las, tiresias, fifo] = ["e-las", "tiresias", "fifo"].map(|name| mean_s(name, seed));
        assert!(e_las < tiresias && tiresias < fifo, "{seed}: {e_las} {tiresias} {fifo}");
    }
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
    let seen = scene.run("e-las", &[]);
    let last = ["0", "1", "2"].map(|name| seen.end(name)).into_iter().fold(0.0, f64::max);
    assert!(last < 3.0 * 12_000.0, "{last}");
}
