//! Muri's simulator: its three baselines on whole traces, job by job, and its published averages to
//! all printed digits.

use heeler_reference::{Case, shared};
use heeler_sim::metrics::Summary;
use heeler_sim::workload::{Options, Table};
use std::collections::BTreeMap;
use std::path::Path;

/// What the program and the paper call a schedule, and the recipe.
const SCHEDULES: [(&str, &str, &str); 3] = [
    ("shortest", "SRTF", "srtf"),
    ("shortest-gpu", "SRSF", "srsf"),
    ("dlas-gpu", "Tiresias_L", "tiresias"),
];

fn case<'a>(trace: &'a str, all_at_once: bool, recipe: &'a str) -> Case<'a> {
    let options = Options { all_at_once, ..Options::default() };
    let knobs = &[("place", "anywhere")];
    Case { trace, options, cluster: "8x8", recipe, knobs, world: "muri" }
}

#[test]
fn every_completion_time_is_equal() {
    let Some(data) = shared() else { return };
    for (trace, at_once, name) in [
        ("muri/traces/trace1.csv.gz", false, "full_trace1"),
        ("muri/traces/trace3.csv.gz", false, "full_trace3"),
        ("muri/traces/trace3.csv.gz", true, "full_trace3_pr"),
    ] {
        for (schedule, _, recipe) in SCHEDULES {
            let reference = format!("muri/reference/{name}__{schedule}.csv.gz");
            case(trace, at_once, recipe).must_equal(&data, &reference);
        }
    }
}

/// Average completion times, makespans and 99th percentiles by scheduler, trace and metric.
fn published(data: &Path) -> BTreeMap<(String, String, String), String> {
    let mut values = BTreeMap::new();
    let path = data.join("muri/reference/published_simulation.csv");
    let table = Table::open(&path, ',').unwrap_or_else(|error| panic!("{error}"));
    let read = table.each(|row| {
        let key = |name| row.text(name).map(ToString::to_string);
        values.insert((key("scheduler")?, key("trace")?, key("metric")?), key("value")?);
        Ok(())
    });
    read.unwrap_or_else(|error| panic!("{error}"));
    values
}

/// A number to as many decimals as another is printed with.
fn like(value: f64, printed: &str) -> String {
    let decimals = printed.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let text = format!("{value:.decimals$}");
    // Printed numbers have no zeros at the end.
    if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

#[test]
fn published_averages_are_equal_to_all_printed_digits() {
    let Some(data) = shared() else { return };
    let published = published(&data);
    let mut compared = 0;
    for name in ["trace1", "trace3"] {
        for at_once in [false, true] {
            let trace = format!("muri/traces/{name}.csv.gz");
            let name = if at_once { format!("{name}_pr") } else { name.to_string() };
            for (_, paper, recipe) in SCHEDULES {
                let simulation = case(&trace, at_once, recipe).run(&data);
                let summary = Summary::of(&simulation);
                let metrics =
                    [("avg_jct_s", summary.completion_s.mean), ("makespan_s", summary.makespan_s)];
                for (metric, ours) in metrics {
                    let key = (paper.to_string(), name.clone(), metric.to_string());
                    let Some(theirs) = published.get(&key) else { continue };
                    assert_eq!(&like(ours, theirs), theirs, "{name}, {paper}, {metric}");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared >= 12, "only {compared} published values were found");
}
