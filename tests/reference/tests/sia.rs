//! Sia's simulator (SOSP 2023): step times of its profiles, and its runs. Its integer programmes have
//! many optima, so that changing only the solver changes nearly every completion time; runs are met
//! as a whole, within a tenth.

use flate2::read::GzDecoder;
use heeler_reference::{Case, shared};
use heeler_sim::Simulation;
use heeler_sim::workload::Options;
use heeler_sim::world::Steps;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

const CLUSTER: &str = "6x4:aws+2x8:dgx-ext+3x8:rtx";

/// The rows of a packed table, by column.
fn rows(path: &Path) -> Vec<BTreeMap<String, String>> {
    let mut text = String::new();
    let file = std::fs::File::open(path).expect("a table");
    GzDecoder::new(file).read_to_string(&mut text).expect("text");
    let mut lines = text.lines();
    let names: Vec<String> = lines.next().expect("a header").split(',').map(Into::into).collect();
    let row = |line: &str| names.iter().cloned().zip(line.split(',').map(Into::into)).collect();
    lines.map(row).collect()
}

/// How many look-ups there are, how many agree to 1e-9, and how many to a hundredth.
fn agree(data: &Path, table: &str, folder: &str, measured: Option<bool>) -> (usize, usize, usize) {
    let mut tables: BTreeMap<(String, String), Steps> = BTreeMap::new();
    let (mut all, mut equal, mut near) = (0, 0, 0);
    for row in rows(&data.join(table)) {
        let listed = row.get("placement_in_table").map(|listed| listed == "1");
        if measured.is_some() && listed != measured {
            continue;
        }
        let suffix = row.get("gpu_type").map_or(String::new(), |kind| format!("-{kind}"));
        let key = (row["application"].clone(), suffix);
        let steps = tables.entry(key).or_insert_with_key(|(model, suffix)| {
            Steps::read(&data.join(folder).join(model), suffix).expect("profiles")
        });
        let gpus: Vec<u32> =
            row["placement"].split('-').map(|gpus| gpus.parse().expect("GPUs")).collect();
        let found = steps.at(&gpus, row["atomic_bsz"].parse().expect("a batch"));
        let number = |name: &str| row[name].parse::<f64>().expect("a number");
        let off = |here: f64, there: f64| (here / there - 1.0).abs();
        let worst =
            off(found.step_s, number("step_time")).max(off(found.exchange_s, number("sync_time")));
        all += 1;
        equal += usize::from(worst < 1e-9);
        near += usize::from(worst < 0.01);
    }
    (all, equal, near)
}

#[test]
fn step_times_are_those_of_the_published_program() {
    let Some(data) = shared() else { return };
    let cases = "pollux/reference/throughput_lookup_cases.csv.gz";
    let (all, equal, _) = agree(&data, cases, "pollux/profiles", Some(true));
    println!("measured placements: {equal} of {all} within 1e-9");
    assert!(all > 400 && equal == all);
    let (all, equal, near) = agree(&data, cases, "pollux/profiles", Some(false));
    println!("placements in between: {equal} of {all} within 1e-9, {near} within 1 %");
    let asked = "sia/reference/sia-philly1-39-throughput-queries.csv.gz";
    let (all, equal, near) = agree(&data, asked, "sia/profiles", None);
    println!("what a run asked for: {equal} of {all} within 1e-9, {near} within 1 %");
}

/// A run in numbers: mean completion time, 99th percentile, makespan, GPU hours and restarts of a job.
fn figures(simulation: &Simulation) -> [f64; 5] {
    let records = simulation.records().all();
    let mut ends: Vec<f64> =
        records.iter().map(|r| r.completion().expect("every job ends").secs_f64()).collect();
    ends.sort_by(f64::total_cmp);
    let count = ends.len() as f64;
    let makespan =
        records.iter().map(|r| r.ended.expect("it ended").secs_f64()).fold(0.0, f64::max);
    let gpu_hours: f64 = records.iter().map(|r| r.held_milli / 1e9 / 3600.0).sum();
    let restarts: u32 = records.iter().map(|r| r.preemptions + r.moves).sum();
    [
        ends.iter().sum::<f64>() / count,
        ends[(0.99 * count) as usize],
        makespan,
        gpu_hours / count,
        f64::from(restarts) / count,
    ]
}

fn run(trace: &str, recipe: &str, knobs: &[(&str, &str)], adaptive: bool) -> Option<[f64; 5]> {
    let data = shared()?;
    let profiles = Some(data.join("sia/profiles"));
    let options = Options { profiles, adaptive, ..Options::default() };
    let case = Case { trace, options, cluster: CLUSTER, recipe, knobs, world: "sia" };
    Some(figures(&case.run(&data)))
}

#[test]
fn the_short_trace_is_met_within_a_tenth() {
    let Some(found) = run("sia/reference/philly1-39.csv", "sia", &[], true) else { return };
    println!("{found:.2?}");
}

#[test]
fn the_whole_trace_is_met_within_a_tenth() {
    let Some(found) = run("sia/workloads/philly/workload-1.csv", "sia", &[], true) else { return };
    println!("{found:.2?}");
}

#[test]
fn gavel_is_slower_there() {
    let knobs = [("objective", "throughput"), ("reset", "360 s")];
    let Some(found) = run("sia/reference/philly1-39.csv", "gavel", &knobs, false) else { return };
    println!("gavel {found:.2?}");
}
