//! Heeler's own recipe: expected service in doubt, stops that pay, nobody forgotten.

use super::scene::{Knobs, Row, Scene, job, measured, rows};
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

/// 32 jobs said a thousand times what they took. Then `short` says 20,000 s and takes 20; `long`
/// has run for 2,000 s and says 1,000 more. Where nobody looks back, `short` waits to the end.
#[test]
fn heeler_tries_jobs_where_predictions_were_wrong() {
    let wrong = |i: u64| job(&format!("w{i}"), i * 10, 1, 5).declares(5000);
    let mut table: Vec<Row> = (0..32).map(wrong).collect();
    table.push(job("long", 400, 1, 3000));
    table.push(job("short", 2400, 1, 20).declares(20_000));
    let scene = Scene::new("1x1", table);
    let start = |distrust| {
        let knobs = [PLAIN[0], PLAIN[1], ("distrust", distrust), ("patience", "1 day")];
        scene.run("heeler", &knobs).start("short")
    };
    assert_eq!(start("0.0"), 3400.0);
    assert_eq!(start("1.0"), 2400.0);
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

/// A gang of four with 900 s left, and one GPU is wanted for 500 s: an eighth of the GPU time, but
/// too long to let the gang wait. For 400 s it is stopped.
#[test]
fn heeler_stops_no_gang_for_a_small_job_that_takes_longer() {
    let start = |length, longer| {
        let scene = Scene::new("1x4", [job("gang", 0, 4, 1000), job("small", 100, 1, length)]);
        scene.run("heeler", &[PLAIN[0], PLAIN[1], ("longer", longer)]).start("small")
    };
    assert_eq!([start(500, "1.0"), start(400, "1.0")], [1000.0, 100.0]);
    assert_eq!([start(910, "0.5"), start(890, "0.5")], [1000.0, 100.0]);
    assert_eq!(start(1500, "0.0"), 100.0);
}

/// At 100 `long` has 900 s left, and would have to begin anew: 390 s are worth it, 410 s are not.
#[test]
fn heeler_knows_who_would_begin_anew() {
    let start = |length| {
        let table = [job("long", 0, 1, 1000).forgets(), job("short", 100, 1, length)];
        Scene::new("1x1", table).run("heeler", &PLAIN).start("short")
    };
    assert_eq!([start(410), start(390)], [1000.0, 100.0]);
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

/// Three models; the first two do not mind each other, the first and the third do. `b` joins `a`
/// at once, `c` waits until it can be with `b`.
#[test]
fn heeler_packs_where_it_was_measured_to_be_harmless() {
    let table = || [job("a", 0, 1, 97), job("b", 10, 1, 194), job("c", 20, 1, 50)];
    let paces = [(1, 2, 0.97), (2, 1, 0.97), (1, 3, 1.0), (3, 1, 0.5), (2, 3, 1.0), (3, 2, 1.0)];
    let scene = measured(Scene::new("1x1", table()), &[1, 2, 3], &paces);
    let starts = |pack| {
        let run = scene.run("heeler", &[PLAIN[0], PLAIN[1], ("pack", pack)]);
        assert!(["a", "b", "c"].iter().all(|name| run.stays(name).len() <= 2), "nobody stops");
        ["a", "b", "c"].map(|name| run.start(name).round())
    };
    assert_eq!(starts("0.95"), [0.0, 10.0, 100.0]);
    assert_eq!(starts("0.98")[2], 97.0, "the first alone, the others together");
    let nothing = Scene::new("1x1", table());
    let ends = |pack| nothing.run("heeler", &[PLAIN[0], PLAIN[1], ("pack", pack)]).ends();
    assert_eq!(ends("0.1"), ends("2.0"), "nobody was measured");
}

/// Short jobs of one tenant fill four GPUs for ever. The other one's long job starts when the first
/// of them comes free, and the next short one does not take its GPU.
#[test]
fn heeler_leaves_everybody_something() {
    let short = |i: u64| job(&format!("s{i}"), i, 1, 40).of("vision");
    let mut table: Vec<Row> = (0..200).map(short).collect();
    table.push(job("long", 10, 1, 1000).of("speech"));
    let scene = Scene::new("1x4", table);
    let start = |floor| {
        let run = scene.run("heeler", &[PLAIN[0], PLAIN[1], ("floor", floor)]);
        assert_eq!(run.stays("long").len(), 1, "nobody stops it");
        run.start("long")
    };
    assert_eq!(start("0.5"), 40.0);
    assert!(start("0.0") > 1000.0);
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
            ("distrust", "0.0"),
            ("hold", "1.0"),
            ("longer", "0.0"),
            ("floor", "0.0"),
            ("restart", "0 s"),
            ("patience", "1000 days"),
            ("preempt", "by-order"),
            ("place", "consolidate"),
        ];
        prop_assert_eq!(scene.run("heeler", &believing).ends(), scene.run("srsf", &[]).ends());
    }
}
