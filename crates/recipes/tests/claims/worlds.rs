//! Worlds with the rules of published simulators, and recipes and jobs that those never saw.

use super::scene::{Row, Scene, job};
use heeler_model::{Milli, Time};
use heeler_sim::world::WorldCard;

fn scene(world: &str, cluster: &str, table: impl IntoIterator<Item = Row>) -> Scene {
    let mut scene = Scene::new(cluster, table);
    scene.world = WorldCard::find(world).expect("a world").world();
    scene
}

/// Whatever happens restarts everybody, which takes 10 s, and leases end every 5 s.
#[test]
fn looking_again_and_again_keeps_nobody_for_ever() {
    for world in ["muri", "antman"] {
        let table = [job("a", 0, 1, 100), job("b", 0, 1, 100)];
        let run = scene(world, "1x1", table).run("e-las", &[("lease", "5 s")]);
        // Two hundred looks at most are in vain.
        for name in ["a", "b"] {
            assert!(run.end(name) > 250.0 && run.end(name) < 2000.0, "{world}: {}", run.end(name));
        }
    }
}

/// A clock of whole seconds, a job that comes between two of them, and a queue that it leaves after
/// a hundred seconds.
#[test]
fn who_comes_between_ticks_leaves_its_queue() {
    let mut scene = scene("tiresias", "1x1", [job("a", 0, 1, 200), job("b", 0, 1, 300)]);
    scene.jobs[0].submit = Time::from_micros(300_000);
    scene.jobs[1].submit = Time::from_micros(600_000);
    let run = scene.run("tiresias", &[("limits", "['100 gpu-s']")]);
    assert_eq!((run.end("a").floor(), run.end("b").floor()), (300.0, 500.0));
}

/// Of the first kind a job has a pace of 1, of the other one of 0.5; nothing was measured.
#[test]
fn who_was_not_measured_is_as_fast_as_its_gpus() {
    for world in ["gavel", "gavel-perf", "shockwave"] {
        let mut scene = scene(world, "v100=1,k80=1", [job("a", 0, 1, 3600), job("b", 0, 1, 3600)]);
        scene.cluster.kinds[1].speed = Milli(500);
        let run = scene.run("gavel-fifo", &[]);
        let (first, last) = (run.end("a").min(run.end("b")), run.end("a").max(run.end("b")));
        assert!((3500.0..=4000.0).contains(&first), "{world}: {first}");
        assert!((first..=7600.0).contains(&last) && last > first, "{world}: {last}");
    }
}
