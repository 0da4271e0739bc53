//! Shockwave: rounds planned ahead, for welfare, for an early end, and for who would be late.

use super::scene::{Row, Scene, job};

const NO_PRICE: (&str, &str) = ("makespan", "0");
const NO_POWER: (&str, &str) = ("fairness", "0");

#[test]
fn shockwave_alone_runs_at_once() {
    let run = Scene::new("1x4", [job("a", 50, 4, 1000)]).run("shockwave", &[]);
    assert_eq!((run.start("a"), run.end("a")), (50.0, 1050.0));
}

/// Welfare is a line within each fifth of a job, so one may be a fifth ahead, and a plan is looked
/// at again after eight rounds of two minutes.
#[test]
fn shockwave_without_aims_shares_equally() {
    let scene = Scene::new("1x1", [job("a", 0, 1, 6000), job("b", 0, 1, 6000)]);
    let mut farthest: f64 = 0.0;
    let run = scene.watch("shockwave", &[NO_PRICE, NO_POWER], |simulation| {
        let state = simulation.engine().state();
        let had = |job| state.jobs().get(job).map(|job| job.attained_at(simulation.now()));
        let jobs = [0, 1].map(heeler_model::JobId).map(had);
        if let [Some(a), Some(b)] = jobs {
            farthest = farthest.max((a.secs_f64() - b.secs_f64()).abs());
        }
    });
    assert!(farthest <= 1200.0 + 960.0, "{farthest}");
    assert!(
        run.end("a") > 10_000.0 && run.end("b") == 12_000.0,
        "neither was served before the other"
    );
}

/// A long job and shorter ones that together keep the other GPU busy for as long.
fn one_long() -> Vec<Row> {
    let short = |index: usize| job(&format!("short{index}"), 0, 1, 1200);
    let mut rows: Vec<Row> = (0..5).map(short).collect();
    rows.push(job("long", 0, 1, 6000));
    rows
}

#[test]
fn shockwave_ends_early_by_serving_the_longest() {
    let scene = Scene::new("1x2", one_long());
    let priced = scene.run("shockwave", &[("makespan", "1"), NO_POWER]);
    let free = scene.run("shockwave", &[NO_PRICE, NO_POWER]);
    assert_eq!(priced.end("long"), 6000.0, "it never waits");
    let ends = (0..5).map(|index| priced.end(&format!("short{index}")));
    let last = ends.fold(0.0, f64::max);
    assert!(last <= 6480.0, "nor does the other GPU: {last}");
    assert!(free.end("long") > 6960.0, "welfare alone keeps it waiting: {}", free.end("long"));
}

#[test]
fn shockwave_serves_the_late() {
    let mut rows = vec![job("long", 0, 1, 7200)];
    rows.extend((0..24).map(|index| job(&format!("short{index}"), 1200 + index * 600, 1, 600)));
    let scene = Scene::new("1x1", rows);
    let blind = scene.run("shockwave", &[NO_PRICE, NO_POWER]);
    let fair = scene.run("shockwave", &[NO_PRICE]);
    let (late, in_time) = (blind.end("long"), fair.end("long"));
    assert!(in_time + 1200.0 < late, "{in_time} s, and {late} s without looking at who is late");
}
