//! Sia's simulator (SOSP 2023): step times of its profiles, and its runs. Its integer programmes
//! have many optima, so that changing only the solver changes nearly every completion time; runs
//! are met as a whole, within a tenth.

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
    // Most measurements lie on a grid, where several tetrahedra are equally right: the published
    // program takes what its library comes to.
    let (all, equal, near) = agree(&data, cases, "pollux/profiles", Some(false));
    println!("placements in between: {equal} of {all} within 1e-9, {near} within 1 %");
    assert!(equal * 3 > all * 2 && near * 4 > all * 3);
    let asked = "sia/reference/sia-philly1-39-throughput-queries.csv.gz";
    let (all, equal, _) = agree(&data, asked, "sia/profiles", None);
    println!("what a run asked for: {equal} of {all} within 1e-9");
    assert!(all > 100 && equal == all);
}

/// A run in numbers: mean completion time, 99th percentile, makespan, GPU hours and restarts.
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

/// A run as it was recorded: mean completion time, 99th percentile and makespan in seconds, and GPU
/// hours of a job.
type Recorded = [f64; 4];

struct Run<'a> {
    trace: &'a str,
    cluster: &'a str,
    recipe: &'a str,
    knobs: &'a [(&'a str, &'a str)],
    adaptive: bool,
}

impl Run<'_> {
    fn figures(&self) -> Option<[f64; 5]> {
        let data = shared()?;
        let profiles = Some(data.join("sia/profiles"));
        let options = Options { profiles, adaptive: self.adaptive, ..Options::default() };
        let Run { trace, cluster, recipe, knobs, .. } = *self;
        let case = Case { trace, options, cluster, recipe, knobs, world: "sia" };
        Some(figures(&case.run(&data)))
    }

    /// Run it, print it beside what was recorded, and require it to be so near, figure by figure.
    fn must_be_near(&self, recorded: Recorded, within: [f64; 4]) {
        let Some(found) = self.figures() else { return };
        println!("{} on {}: {found:.2?} here, {recorded:.2?} recorded", self.recipe, self.cluster);
        for ((here, there), within) in found.iter().zip(recorded).zip(within) {
            assert!((here / there - 1.0).abs() < within, "{here} here, {there} recorded");
        }
    }
}

const SHORT: Run<'_> = Run {
    trace: "sia/reference/philly1-39.csv",
    cluster: CLUSTER,
    recipe: "sia",
    knobs: &[],
    adaptive: true,
};

#[test]
fn the_short_trace_is_met_within_a_tenth() {
    SHORT.must_be_near([977.18, 6879.0, 13129.0, 2.01], [0.1; 4]);
    let one_kind = Run { cluster: "16x4:aws", ..SHORT };
    one_kind.must_be_near([2313.38, 13908.0, 20158.0, 4.024], [0.1; 4]);
}

/// The 99th percentile is the second longest job; the four jobs of its model take 25,000 to
/// 40,000 s there and 27,000 to 35,000 s here.
#[test]
fn the_whole_trace_is_met_within_a_tenth_but_for_its_tail() {
    let whole = Run { trace: "sia/workloads/philly/workload-1.csv", ..SHORT };
    whole.must_be_near([1949.75, 28390.0, 55913.0, 4.027], [0.1, 0.15, 0.1, 0.1]);
}

/// How costs are rounded decides which of nearly equal answers is taken, and with that the tail,
/// which is one job. However they are rounded, all but the tail is within a tenth and the tail is
/// within a fifth, on both sides of what was recorded.
#[test]
fn however_costs_are_rounded_the_tail_lies_around_what_was_recorded() {
    let recorded = [1949.75, 28390.0, 55913.0, 4.027];
    let mut tails = Vec::new();
    for decimals in ["2", "3", "4", "6", "9"] {
        let knobs = &[("decimals", decimals)];
        let whole = Run { trace: "sia/workloads/philly/workload-1.csv", knobs, ..SHORT };
        whole.must_be_near(recorded, [0.1, 0.2, 0.1, 0.1]);
        tails.extend(whole.figures().map(|figures| figures[1]));
    }
    if tails.is_empty() {
        return;
    }
    println!("99th percentiles {tails:.0?}, {:.0} recorded", recorded[1]);
    assert!(
        tails.iter().any(|tail| *tail < recorded[1])
            && tails.iter().any(|tail| *tail > recorded[1])
    );
}

/// Gavel, for the largest throughput, with jobs as they were tuned: 1.72 times as long in the mean.
#[test]
fn gavel_takes_longer_by_the_factor_that_was_recorded() {
    let knobs = &[("objective", "throughput"), ("reset", "360 s")];
    let gavel = Run { recipe: "gavel", knobs, adaptive: false, ..SHORT };
    let (Some(gavel), Some(sia)) = (gavel.figures(), SHORT.figures()) else { return };
    let (here, there) = (gavel[0] / sia[0], 1676.82 / 977.18);
    println!("gavel {gavel:.2?}, {here:.2} times sia here, {there:.2} times there");
    assert!((here / there - 1.0).abs() < 0.1, "{here} here, {there} there");
}
