//! Gavel's simulator: the policies that need no solver, job by job and round by round.

use heeler_engine::PythonRandom;
use heeler_reference::gavel::Published;
use heeler_reference::{Within, shared, shows};

fn must_equal(cases: &[&str], recipe: &str, knobs: &[(&str, &str)], world: &str) {
    let Some(data) = shared() else { return };
    for case in cases {
        let published = Published::of(case, &data);
        published.run(recipe, knobs, world, &data).equals(&published);
    }
}

#[test]
fn first_come_first_served_on_the_best_kind_is_equal() {
    must_equal(&["sm_fifo_perf"], "gavel-fifo", &[], "gavel-perf");
}

/// With the authors' mistake, which is a rule of that world.
#[test]
fn first_come_first_served_on_any_kind_is_equal() {
    let cases = ["cs_fifo", "phys_las_fifo", "phys_mk_fifo", "sm_fifo"];
    must_equal(&cases, "gavel-fifo", &[("shares", "any-kind-first")], "gavel");
}

#[test]
fn equal_shares_are_equal() {
    let cases = ["cs_isolated", "cm_isolated", "phys_las_isolated", "phys_mk_isolated"];
    must_equal(&cases, "gavel-isolated", &[], "gavel");
}

/// Random pairs, drawn by the generator and the seed of the published runs.
#[test]
fn random_pairs_are_equal() {
    let Some(data) = shared() else { return };
    for case in ["phys_las_gandiva", "cs_gandiva", "phys_mk_gandiva", "sm_gandiva"] {
        let published = Published::of(case, &data);
        let done = published.run_in_pairs("gavel-gandiva", &[], &data);
        done.equals(&published);
    }
}

/// The order in which kinds are offered, drawn anew for each round.
#[test]
fn kinds_are_offered_in_the_same_order() {
    let Some(data) = shared() else { return };
    let path = data.join("gavel/reference/type_order_seed0.csv");
    let mut rows = csv::Reader::from_path(path).expect("a table");
    let mut random = PythonRandom::new(5u32);
    let (mut same, mut all) = (0.0, 0.0);
    for row in rows.records() {
        let row = row.expect("a row");
        let mut kinds = ["v100", "p100", "k80"];
        random.shuffle(&mut kinds);
        all += 1.0;
        same += f64::from(row.iter().skip(1).eq(kinds));
    }
    let figure = "rounds with kinds in the same order";
    shows("gavel-isolated", "type_order_seed0", figure, (same, all), Within::Equal);
}
