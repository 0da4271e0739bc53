//! Chronus' simulator on cuts of its three traces. Its leases are an integer programme with many
//! best answers, of which its solver takes one, so runs can only be met nearly.

use heeler_model::Span;
use heeler_reference::{Case, shared};
use heeler_sim::metrics::Summary;
use heeler_sim::workload::Options;
use heeler_sim::{Record, Simulation};
use serde_json::Value;

/// What a run showed: parts of the jobs with deadlines that missed them, minutes, a part.
#[derive(Clone, Copy, Debug)]
struct Figures {
    missed: f64,
    value_lost: f64,
    mean_min: f64,
    best_effort_min: f64,
    utilisation: f64,
}

fn run(cut: &str) -> Option<Simulation> {
    let data = shared()?;
    let trace = format!("chronus/philly_{cut}_300.csv");
    let (options, recipe) = (Options::default(), "chronus");
    let case =
        Case { trace: &trace, options, cluster: "3x8", recipe, knobs: &[], world: "chronus" };
    Some(case.run(&data))
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
        utilisation: summary.utilisation,
    }
}

fn published(cut: &str) -> Figures {
    let data = shared().expect("asked before");
    let text =
        std::fs::read_to_string(data.join("chronus/reference/summary.json")).expect("a file");
    let runs: Value = serde_json::from_str(&text).expect("JSON");
    let run = runs.as_array().expect("a list").iter().find(|run| run["run"] == cut).expect("a run");
    let number = |name: &str| run[name].as_f64().unwrap_or(f64::NAN);
    Figures {
        missed: number("slo_hard_miss"),
        value_lost: number("slo_weighted_miss"),
        mean_min: number("mean_jct_min"),
        best_effort_min: number("be_mean_jct_min"),
        utilisation: number("util"),
    }
}

/// Misses within two points, and how near the rest must be (part).
fn is_near(cut: &str, mean: f64, best_effort: f64) {
    let Some(simulation) = run(cut) else { return };
    let (here, there) = (figures(&simulation), published(cut));
    let promises = Summary::of(&simulation).deadlines;
    println!("{cut}\n  here  {here:?}\n  there {there:?}\n  {promises:?}");
    println!("  restarts {:?}", Summary::of(&simulation).restarts);
    assert!((here.missed - there.missed).abs() < 0.02, "{cut}: misses");
    assert!((here.value_lost - there.value_lost).abs() < 0.02, "{cut}: value");
    assert!((here.mean_min / there.mean_min - 1.0).abs() < mean, "{cut}: mean");
    if there.best_effort_min.is_finite() {
        let off = (here.best_effort_min / there.best_effort_min - 1.0).abs();
        assert!(off < best_effort, "{cut}: best effort");
    }
    assert!((here.utilisation - there.utilisation).abs() < 0.03, "{cut}: utilisation");
}

#[test]
fn jobs_with_deadlines_alone_are_near() {
    is_near("SLO", 0.1, 0.1);
}

#[test]
fn jobs_with_and_without_deadlines_are_near() {
    is_near("MIX1", 0.1, 0.1);
}

#[test]
fn jobs_with_several_deadlines_are_near() {
    is_near("MIX2", 0.1, 0.1);
}
