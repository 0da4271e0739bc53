//! Helios' cluster energy saving: nodes switched off by a forecast, around quasi-shortest service
//! first.

use super::scene::{Row, Scene, job};
use heeler_engine::Verdict;
use heeler_model::{NodeId, Reason, Time};
use heeler_sim::metrics::{Summary, write_jobs};
use proptest::prelude::*;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;

/// Eight days with twelve busy hours each: four jobs every ten minutes, and one at night.
fn days() -> Scene {
    let mut rows: Vec<Row> = Vec::new();
    for slot in 0..8 * 24 * 6 {
        let busy = (8..20).contains(&(slot / 6 % 24));
        for _ in 0..if busy { 4 } else { 1 } {
            let index = rows.len() as u64;
            let (gpus, length) =
                ([1, 2, 4, 8][index as usize % 4], HOUR + 10 * MINUTE * (index % 7));
            let submit = slot * 10 * MINUTE + index * 37 % 600;
            rows.push(job(&index.to_string(), submit, gpus, length));
        }
    }
    Scene::new("20x8", rows)
}

fn booting(mut scene: Scene, boot_s: u32) -> Scene {
    scene.world.rules.boot_s = boot_s;
    scene
}

#[test]
fn ces_uses_more_of_the_nodes_that_are_on() {
    let scene = booting(days(), 300);
    let declared = ("predict", "declared");
    let plain = Summary::of(&scene.run("qssf", &[declared]).simulation);
    let seen = Summary::of(&scene.run("helios-ces", &[declared]).simulation);
    assert_eq!(plain.nodes, None, "nobody switches anything off");
    let nodes = seen.nodes.expect("nodes are switched off");
    assert_eq!(seen.jobs.finished, seen.jobs.submitted);
    assert!(nodes.used_of_on > nodes.used + 0.1, "{nodes:?}");
    assert!(nodes.woken > 0 && nodes.off_hours > 500.0, "{nodes:?}");
    assert!(seen.waiting_s.mean < plain.waiting_s.mean + 10.0, "{:?}", seen.waiting_s);
}

/// Four nodes of one GPU. After ten minutes one is used, and one more stays on. A job that needs
/// three is told at 1000 s to wait for the last node, and starts when that has booted. Where nodes
/// are there at once, so is the job.
#[test]
fn ces_switches_nodes_on_for_whoever_needs_them() {
    let rows = [job("long", 0, 1, 2 * HOUR), job("wide", 1000, 3, 100), job("one", 5000, 1, 100)];
    let scene = Scene::new("4x1", rows);
    let mut told = None;
    let seen = booting(scene.clone(), 300).watch("helios-ces", &[], |simulation| {
        if simulation.now() == Time::from_secs(1000) {
            let wide = simulation.find("wide").expect("it has come");
            told = Some(simulation.engine().why(wide));
        }
    });
    let until = Time::from_secs(1300);
    let Some(Verdict::Waits { reason, .. }) = told else { panic!("{told:?}") };
    assert_eq!(reason, Reason::SwitchingOn { node: NodeId(3), until });
    assert_eq!([seen.start("wide"), seen.start("one")], [1300.0, 5000.0]);
    let nodes = Summary::of(&seen.simulation).nodes.expect("nodes are switched off");
    assert_eq!(nodes.woken, 2);
    assert_eq!(booting(scene, 0).run("helios-ces", &[]).start("wide"), 1000.0);
}

/// One line for each job.
fn bytes(scene: &Scene, recipe: &str, knobs: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_jobs(&scene.run(recipe, knobs).simulation, &mut bytes).expect("a vector takes all");
    bytes
}

#[test]
fn ces_that_keeps_all_nodes_is_qssf() {
    let scene = booting(days(), 300);
    let plain = bytes(&scene, "qssf", &[]);
    assert!(plain == bytes(&scene, "helios-ces", &[("spare", "1.0")]));
    assert!(plain != bytes(&scene, "helios-ces", &[]), "nodes that boot take time");
    // More than all nodes are wanted, from the beginning to the end.
    let full = (0..200).map(|index| {
        let (gpus, length) = ([8, 16][index as usize % 2], HOUR + 61 * index);
        job(&index.to_string(), index * 60, gpus, length)
    });
    let first = (0..20).map(|index| job(&format!("first {index}"), 0, 8, 3 * HOUR));
    let scene = booting(Scene::new("20x8", first.chain(full)), 300);
    assert!(bytes(&scene, "qssf", &[]) == bytes(&scene, "helios-ces", &[]));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Nothing to spare, nothing kept on, and every lull is taken for the end of the day.
    #[test]
    fn ces_lets_nobody_starve(
        made in prop::collection::vec((0u64..40, 1u32..=8, 1u64..90), 1..40),
        boot_s in 0u32..2000,
        skips in any::<bool>(),
    ) {
        let mut made = made;
        made.sort_unstable();
        let rows = made.iter().enumerate().map(|(index, (submit, gpus, length))| {
            job(&index.to_string(), submit * 20 * MINUTE, *gpus, length * MINUTE)
        });
        let scene = booting(Scene::new("4x2", rows), boot_s);
        let eager = [("spare", "0.0"), ("keep", "0 s"), ("fallen", "0.0"), ("history", "10 min")];
        let fit = ("fit", if skips { "skip" } else { "strict" });
        let knobs: Vec<_> = eager.into_iter().chain([fit]).collect();
        let seen = scene.run("helios-ces", &knobs);
        prop_assert!(seen.ends().iter().all(Option::is_some));
        let plain = scene.run("qssf", &[fit]);
        let longest = |ends: Vec<Option<Time>>| ends.into_iter().flatten().max();
        // Each job waits for nodes to boot at most once before it starts.
        let boots = u64::from(boot_s) * made.len() as u64;
        let (ours, theirs) = (longest(seen.ends()), longest(plain.ends()));
        let late = ours.zip(theirs).map(|(ours, theirs)| ours.since(theirs).secs_f64());
        prop_assert!(late.is_some_and(|late| late <= (boots + 90 * MINUTE) as f64), "{late:?}");
    }
}
