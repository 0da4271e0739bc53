//! Pollux' simulator (OSDI 2021): the two policies beside its own that are always the same there,
//! Tiresias in two queues and Optimus with an oracle. Every completion time of every job is met.

use flate2::read::GzDecoder;
use heeler_reference::{Case, Within, shared, shows};
use heeler_sim::workload::Options;
use std::path::Path;

const CLUSTER: &str = "16x4";

/// The knobs of its Tiresias: two queues, jobs in the order in which they came into them, GPUs from
/// the node with most of them left.
const TIRESIAS: &[(&str, &str)] = &[
    ("limits", "[\"16 gpu-hours\"]"),
    ("within", "as-entered"),
    ("place", "most-room"),
    ("cadence", "{ round = \"60 s\" }"),
];

/// The knobs of its Optimus.
const OPTIMUS: &[(&str, &str)] =
    &[("speeds", "profiled"), ("predict", "oracle"), ("place", "most-room"), ("round", "60 s")];

/// Completion times of a workload as published, by job.
fn published(data: &Path, file: &str, workload: &str) -> Vec<(String, f64)> {
    let path = data.join("pollux/published/jobload").join(file);
    let file = std::fs::File::open(path).expect("a table of results");
    let table: serde_json::Value =
        serde_json::from_reader(GzDecoder::new(file)).expect("a table of results");
    let jobs = table["jcts"][workload].as_object().expect("a workload");
    let seconds = |value: &serde_json::Value| value.as_f64().expect("seconds");
    jobs.iter().map(|(name, value)| (name.clone(), seconds(value))).collect()
}

/// How many jobs end when they should, of how many, and the mean completion time.
fn run(data: &Path, recipe: &str, load: &str, workload: &str) -> (usize, usize, f64) {
    let folder = if load == "1.0" { "workloads".into() } else { format!("workloads-{load}") };
    let trace = format!("pollux/workloads/{folder}/{workload}.csv");
    let optimus = recipe == "optimus";
    let profiles = Some(data.join("pollux/profiles"));
    let options = Options { profiles, elastic: optimus, ..Options::default() };
    let knobs = if optimus { OPTIMUS } else { TIRESIAS };
    let case = Case { trace: &trace, options, cluster: CLUSTER, recipe, knobs, world: "pollux" };
    let simulation = case.run(data);
    let table = published(data, &format!("{recipe}-{load}.json.gz"), workload);
    let seconds = |name: &str| {
        let job = simulation.find(name).expect("a job of the workload");
        simulation.records()[job].completion().expect("every job ends").secs_f64()
    };
    let off = |(name, there): &&(String, f64)| (seconds(name) - there).abs() > 1e-6;
    for (name, there) in table.iter().filter(off).take(5) {
        println!("{recipe} {load} {workload}: {name} {} here, {there} published", seconds(name));
    }
    let equal = table.iter().filter(|row| !off(row)).count();
    let mean = table.iter().map(|(name, _)| seconds(name)).sum::<f64>() / table.len() as f64;
    (equal, table.len(), mean)
}

/// Every workload of a load.
fn all_of(recipe: &str, load: &str, workloads: &[u32]) {
    let Some(data) = shared() else { return };
    let (mut equal, mut jobs) = (0, 0);
    for number in workloads {
        let workload = format!("workload-{number}");
        let (same, all, mean) = run(&data, recipe, load, &workload);
        println!("{recipe} {load} {workload}: {same} of {all} equal, mean {mean:.5} s");
        (equal, jobs) = (equal + same, jobs + all);
    }
    assert_eq!(equal, jobs, "{recipe} at load {load}");
    let against = format!("pollux {load}");
    let figure = "jobs with the same completion time";
    shows(recipe, &against, figure, (equal as f64, jobs as f64), Within::Equal);
}

const ALL: &[u32] = &[1, 2, 3, 4, 5, 6, 7, 8];

#[test]
fn tiresias_is_met_on_every_workload() {
    for load in ["0.5", "1.0", "2.0"] {
        all_of("tiresias", load, ALL);
    }
}

#[test]
fn optimus_with_an_oracle_is_met_on_every_workload() {
    for load in ["0.5", "1.0", "2.0"] {
        all_of("optimus", load, ALL);
    }
}
