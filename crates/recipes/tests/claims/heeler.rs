//! Heeler's own recipe: expected service in doubt, stops that pay, nobody forgotten.

use super::scene::{Knobs, Row, Scene, job, rows};
use heeler_sim::workload::{GeneratorOptions, Shape};
use proptest::prelude::*;

/// Everybody says how long they run, and stopping costs nothing.
const PLAIN: [(&str, &str); 2] = [("predict", "declared"), ("restart", "0 s")];

/// `alpha` ran 10 s and `beta` 100 s. When the fence opens at 250 one of each waits.
#[test]
fn heeler_goes_by_expected_service() {
    let table = [
        job("a1", 0, 2, 10).named("alpha"),
        job("b1", 0, 2, 100).named("beta"),
        job("fence", 200, 2, 50).named("fence").priority(1),
        job("b2", 201, 2, 100).named("beta"),
        job("a2", 202, 2, 10).named("alpha"),
    ];
    let run = Scene::new("1x2", table).run("heeler", &[("predict", "names")]);
    assert_eq!([run.start("a2"), run.start("b2")], [250.0, 260.0]);
}

/// `liar` says 100 s. From 50 on it is taken to need as long as it has had once more; when that is
/// twice what `honest` needs, at 1000, it gives way, as soon as that is looked at. With less doubt
/// it does so later.
#[test]
fn heeler_does_not_believe_for_ever() {
    let table = [job("liar", 0, 1, 10_000).declares(100), job("honest", 50, 1, 500)];
    let scene = Scene::new("1x1", table);
    let start = |doubt| {
        let knobs = [PLAIN[0], PLAIN[1], ("doubt", doubt), ("patience", "1 day")];
        scene.run("heeler", &knobs).start("honest")
    };
    assert!((1000.0..1500.0).contains(&start("1.0")), "{}", start("1.0"));
    assert!((2000.0..3000.0).contains(&start("0.5")), "{}", start("0.5"));
    assert_eq!(start("0.0"), 10_000.0);
}

/// At 100 `long` has 900 s left. One that needs 460 s is not worth a stop; one of 440 s is, unless
/// starting again takes a minute.
#[test]
fn heeler_stops_nobody_for_little() {
    let start = |length, restart| {
        let scene = Scene::new("1x1", [job("long", 0, 1, 1000), job("short", 100, 1, length)]);
        scene.run("heeler", &[PLAIN[0], ("restart", restart)]).start("short")
    };
    assert_eq!(
        [start(460, "0 s"), start(440, "0 s"), start(440, "1 min")],
        [1000.0, 100.0, 1000.0]
    );
    assert_eq!(start(410, "1 min"), 100.0);
}

/// Short jobs keep the GPU busy for ever. `long` needs 300 s, so it comes first after 600 s and
/// takes the GPU from the short one that has it.
#[test]
fn heeler_lets_everybody_start() {
    let mut table: Vec<Row> = (0..200).map(|i| job(&format!("s{i}"), i * 10, 1, 10)).collect();
    table.push(job("long", 5, 1, 300));
    let scene = Scene::new("1x1", table);
    let patient = [("patience", "1 min"), ("patience-times", "2.0")];
    let knobs: Vec<_> = PLAIN.into_iter().chain(patient).collect();
    let run = scene.run("heeler", &knobs);
    assert_eq!(run.stays("long").len(), 1, "nobody stops it");
    assert_eq!(run.start("long"), 605.0);
    let never = [("patience", "30 days")];
    let knobs: Vec<_> = PLAIN.into_iter().chain(never).collect();
    assert_eq!(scene.run("heeler", &knobs).start("long"), 2000.0);
}

/// Both GPUs are taken until 100. Then the urgent job starts before the short one, and of the
/// others that of the tenant with nothing of its quota.
#[test]
fn heeler_knows_who_is_important() {
    let table = [
        job("fence", 0, 2, 100).of("vision").priority(9),
        job("short", 1, 1, 50).of("vision"),
        job("urgent", 2, 1, 1000).of("vision").priority(1),
        job("poor", 3, 1, 500).of("speech"),
    ];
    let scene = Scene::new("1x2", table).quota("speech", 1);
    let run = scene.run("heeler", &PLAIN);
    let starts = ["urgent", "poor", "short"].map(|name| run.start(name));
    assert_eq!(starts, [100.0, 100.0, 600.0]);
}

const SHAPES: [Shape; 3] = [Shape::Philly, Shape::Helios, Shape::Pai];

fn mean_s(recipe: &str, knobs: Knobs, shape: Shape) -> f64 {
    let options = GeneratorOptions { shape, jobs: 1500, load: 1.0, seed: 5, ..Default::default() };
    Scene::generated("4x8", &options).run(recipe, knobs).mean_s()
}

#[test]
fn heeler_waits_less_than_those_it_learned_from() {
    for shape in SHAPES {
        let heeler = mean_s("heeler", &[], shape);
        for other in ["fifo", "tiresias", "qssf"] {
            let theirs = mean_s(other, &[], shape);
            assert!(heeler < theirs, "{shape:?}: {heeler} against {theirs} of {other}");
        }
    }
}

proptest! {
    #[test]
    fn heeler_without_doubt_is_srsf(rows in rows(3, 1, 20)) {
        let scene = Scene::new("2x3", rows.into_iter().collect::<Vec<Row>>());
        let believing = [
            ("predict", "oracle"),
            ("doubt", "0.0"),
            ("hold", "1.0"),
            ("restart", "0 s"),
            ("patience", "1000 days"),
            ("preempt", "by-order"),
            ("place", "consolidate"),
        ];
        prop_assert_eq!(scene.run("heeler", &believing).ends(), scene.run("srsf", &[]).ends());
    }
}
