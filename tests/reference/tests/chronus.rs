//! Chronus' simulator on cuts of its three traces, on three nodes of eight GPUs. Its leases are an
//! integer programme with many best answers, of which its solver takes one, so runs can only be met
//! nearly: misses within two points, means within 6 %.

use heeler_model::Span;
use heeler_reference::{Case, shared};
use heeler_sim::metrics::Summary;
use heeler_sim::workload::Options;
use heeler_sim::{Record, Simulation};
use serde_json::Value;
use std::path::Path;

/// What a run showed: parts of the jobs with deadlines that missed them, minutes, a part.
#[derive(Clone, Copy, Debug)]
struct Figures {
    missed: f64,
    value_lost: f64,
    mean_min: f64,
    best_effort_min: f64,
    makespan_min: f64,
    utilisation: f64,
}

fn run(cut: &str, data: &Path) -> Simulation {
    // The other placement: first fit on as few nodes as possible, without a search.
    let (jobs, knobs) = match cut.strip_suffix("_cons") {
        Some(jobs) => (jobs, &[("tries", "0")][..]),
        None => (cut, &[][..]),
    };
    let trace = format!("chronus/philly_{jobs}_300.csv");
    let (options, recipe) = (Options::default(), "chronus");
    let case = Case { trace: &trace, options, cluster: "3x8", recipe, knobs, world: "chronus" };
    case.run(data)
}

fn figures(simulation: &Simulation) -> Figures {
    let summary = Summary::of(simulation);
    assert_eq!(summary.jobs.finished, 300);
    let free = simulation.records().all().iter().filter(|record| record.deadline.is_none());
    let times: Vec<f64> =
        free.filter_map(Record::completion).map(Span::secs_f64).map(|s| s / 60.0).collect();
    let of = summary.deadlines.jobs as f64;
    Figures {
        missed: summary.deadlines.missed as f64 / of,
        value_lost: summary.deadlines.value_lost / of,
        mean_min: summary.completion_s.mean / 60.0,
        best_effort_min: times.iter().sum::<f64>() / times.len() as f64,
        makespan_min: simulation.now().secs_f64() / 60.0,
        utilisation: summary.utilisation,
    }
}

fn published(cut: &str, data: &Path) -> Figures {
    let text = std::fs::read_to_string(data.join("chronus/reference/summary.json"));
    let runs: Value = serde_json::from_str(&text.expect("a file")).expect("JSON");
    let run = runs.as_array().expect("a list").iter().find(|run| run["run"] == cut).expect("a run");
    let number = |name: &str| run[name].as_f64().unwrap_or(f64::NAN);
    Figures {
        missed: number("slo_hard_miss"),
        value_lost: number("slo_weighted_miss"),
        mean_min: number("mean_jct_min"),
        best_effort_min: number("be_mean_jct_min"),
        makespan_min: number("makespan_min"),
        utilisation: held(cut, data).unwrap_or_else(|| number("util")),
    }
}

/// Part of the GPU time that jobs held until the last end, from the table of jobs where there is
/// one. (The summary has the mean of samples, which for one of the cuts is another number.)
fn held(cut: &str, data: &Path) -> Option<f64> {
    let path = data.join(format!("chronus/reference/jobs_{cut}.csv"));
    let mut table = csv::Reader::from_path(path).ok()?;
    let (mut held, mut last) = (0.0, 0.0f64);
    for row in table.deserialize::<std::collections::BTreeMap<String, String>>() {
        let row = row.expect("a row");
        let number = |name: &str| row[name].parse::<f64>().expect("a number");
        held += number("total_executed_time") * number("num_gpu");
        last = last.max(number("end_time"));
    }
    Some(held / 24.0 / last)
}

fn is_near(cut: &str) {
    let Some(data) = shared() else { return };
    let simulation = run(cut, &data);
    let (here, there) = (figures(&simulation), published(cut, &data));
    println!("{cut}\n  here  {here:?}\n  there {there:?}");
    let deadlines = Summary::of(&simulation).deadlines;
    println!("  {} promised, {} of those missed", deadlines.promised, deadlines.broken);
    let off = |here: f64, there: f64| (here / there - 1.0).abs();
    assert!((here.missed - there.missed).abs() < 0.02, "{cut}: misses");
    assert!((here.value_lost - there.value_lost).abs() < 0.02, "{cut}: misses by value");
    assert!(off(here.mean_min, there.mean_min) < 0.06, "{cut}: mean");
    assert!(off(here.makespan_min, there.makespan_min) < 0.03, "{cut}: makespan");
    if there.best_effort_min.is_finite() {
        assert!(off(here.best_effort_min, there.best_effort_min) < 0.06, "{cut}: best effort");
    }
    assert!((here.utilisation - there.utilisation).abs() < 0.02, "{cut}: utilisation");
    assert_eq!(deadlines.broken, 0, "{cut}: promises are kept");
}

/// Published: 8.0 % missed.
#[test]
fn jobs_with_one_deadline_are_near() {
    is_near("SLO");
}

/// Published: 0.9 % missed, and jobs without a deadline take 135 minutes.
#[test]
fn jobs_with_and_without_deadlines_are_near() {
    is_near("MIX1");
}

/// Published: 0.4 % missed, and jobs without a deadline take 165 minutes.
#[test]
fn jobs_with_several_deadlines_are_near() {
    is_near("MIX2");
}

/// Placed on few nodes without a search, published figures hardly change.
#[test]
fn other_placements_are_near() {
    ["SLO_cons", "MIX1_cons", "MIX2_cons"].into_iter().for_each(is_near);
}
