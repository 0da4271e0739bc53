//! Gangs that take a part of each of their GPUs, and with whom they share these.

use crate::scene::{Run, Scene, job};
use heeler_model::Milli;

/// Jobs on a cluster, all but the last few of which take this part of each of their GPUs.
fn scene(cluster: &str, rows: &[(&str, u64, u32, u64)], milli: u32, whole: usize) -> Scene {
    let rows = rows.iter().map(|(name, at_s, gpus, length_s)| job(name, *at_s, *gpus, *length_s));
    let mut scene = Scene::new(cluster, rows.collect::<Vec<_>>());
    let parts = scene.jobs.len() - whole;
    scene.jobs.iter_mut().take(parts).for_each(|job| job.spec.demand.share = Milli(milli));
    scene
}

fn starts<const N: usize>(run: &Run, names: [&str; N]) -> [f64; N] {
    names.map(|name| run.start(name))
}

#[test]
fn gangs_of_halves_share_gpus_two_and_two() {
    let rows = [("a", 0, 4, 100), ("b", 0, 4, 60), ("c", 0, 4, 10), ("d", 1, 2, 10)];
    for recipe in ["fifo", "fifo-easy", "srsf", "philly", "optimus", "max-min"] {
        let run = scene("1x4", &rows[..2], 500, 0).run(recipe, &[]);
        assert_eq!(starts(&run, ["a", "b"]), [0.0, 0.0], "{recipe}");
    }
    let run = scene("1x4", &rows, 500, 0).run("fifo", &[]);
    assert_eq!(starts(&run, ["a", "b", "c", "d"]), [0.0, 0.0, 60.0, 70.0], "three are too many");
}

#[test]
fn gangs_of_parts_on_several_nodes_share_them_too() {
    let rows = [("a", 0, 16, 100), ("b", 0, 16, 100), ("c", 0, 16, 100), ("d", 0, 16, 100)];
    for recipe in ["fifo", "heeler", "ffdl"] {
        let run = scene("2x8", &rows, 250, 0).run(recipe, &[]);
        assert_eq!(starts(&run, ["a", "b", "c", "d"]), [0.0; 4], "{recipe}");
        assert!(rows.iter().all(|row| run.stays(row.0)[0].3 == 2), "{recipe}: on two nodes");
    }
}

#[test]
fn gangs_of_parts_leave_whole_gpus_to_others() {
    let rows = [("a", 0, 2, 100), ("b", 0, 4, 100), ("whole", 1, 4, 10)];
    for recipe in ["fifo", "srsf", "las"] {
        let run = scene("2x4", &rows, 500, 1).run(recipe, &[("place", "consolidate")]);
        assert!(run.start("whole") < 10.0 + 360.0 * f64::from(recipe == "las"), "{recipe}");
        assert_eq!(run.stays("b")[0].3, 1, "{recipe}: on one node");
    }
}

#[test]
fn room_is_made_for_gangs_of_parts_where_half_of_it_is_there() {
    // Two GPUs have a half left each, and the other two are somebody's who has long to go.
    let rows = [("half", 0, 2, 1000), ("gang", 10, 4, 20), ("long", 0, 2, 1000)];
    let run = scene("1x4", &rows, 500, 1).run("srsf", &[]);
    assert_eq!((run.start("gang"), run.preemptions()), (10.0, 1));
    assert_eq!(run.stays("half").len(), 1, "it goes on beside the gang");
}

#[test]
fn gangs_of_parts_keep_to_the_memory_of_gpus() {
    let rows = [("a", 0, 4, 100), ("b", 0, 4, 60)];
    let mut scene = scene("1x4", &rows, 500, 0);
    scene.cluster.kinds[0].memory_mb = 80_000;
    for (memory_mb, start_s) in [(40_000, 0.0), (40_001, 100.0)] {
        scene.jobs.iter_mut().for_each(|job| job.spec.demand.gpu_memory_mb = memory_mb);
        assert_eq!(starts(&scene.run("fifo", &[]), ["a", "b"]), [0.0, start_s], "{memory_mb}");
    }
}

#[test]
fn room_is_made_where_nothing_but_memory_is_short() {
    for gpus in [1, 4] {
        let rows = [("long", 0, gpus, 1000), ("short", 10, gpus, 20)];
        let mut scene = scene(&format!("1x{gpus}"), &rows, 100, 0);
        scene.cluster.kinds[0].memory_mb = 80_000;
        scene.jobs.iter_mut().for_each(|job| job.spec.demand.gpu_memory_mb = 50_000);
        let run = scene.run("srtf", &[]);
        assert_eq!((run.start("short"), run.preemptions()), (10.0, 1), "{gpus}");
    }
}
