//! Tiresias' simulator: every completion time of every schedule it can run, by the Gittins index,
//! too, and of its two non-preemptive schedules with placement by node.

use flate2::read::GzDecoder;
use heeler_model::Span;
use heeler_reference::{Case, shared};
use heeler_sim::Record;
use heeler_sim::workload::Options;
use std::fs::File;
use std::io::Read;
use std::path::Path;

const BY_COUNT: (&str, &str) = ("place", "anywhere");
const BY_NODE: (&str, &str) = ("place", "first-fit");

/// What the program calls a schedule, the recipe, and its knobs.
type Schedule = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const SCHEDULES: [Schedule; 10] = [
    ("fifo-count", "fifo", &[BY_COUNT]),
    ("fjf-count", "fifo-skip", &[BY_COUNT]),
    ("sjf-count", "smallest", &[BY_COUNT]),
    ("shortest-count", "srtf", &[BY_COUNT]),
    ("shortest-gpu-count", "srsf", &[BY_COUNT]),
    ("dlas-count", "tiresias", &[BY_COUNT, ("served", "time")]),
    ("dlas-gpu-count", "tiresias", &[BY_COUNT]),
    ("dlas-gpu-8-count", "tiresias", &[BY_COUNT, ("promote", "8")]),
    ("fifo-yarn", "fifo", &[BY_NODE]),
    ("fjf-yarn", "fifo-skip", &[BY_NODE]),
];

fn case<'a>(trace: &'a str, cluster: &'a str, schedule: usize) -> Case<'a> {
    let (_, recipe, knobs) = SCHEDULES[schedule];
    Case { trace, options: Options::default(), cluster, recipe, knobs, world: "tiresias" }
}

#[test]
fn every_completion_time_of_the_sixty_jobs_is_equal() {
    let Some(data) = shared() else { return };
    for (index, (name, ..)) in SCHEDULES.iter().enumerate() {
        let reference = format!("tiresias/reference/60_job-n4g4__{name}.csv.gz");
        case("tiresias/60_job.csv", "4x4", index).must_equal(&data, &reference);
    }
}

#[test]
fn every_completion_time_of_the_philly_cluster_is_equal() {
    let Some(data) = shared() else { return };
    let mut compared = 0;
    for (index, (name, ..)) in SCHEDULES.iter().enumerate() {
        let reference = format!("tiresias/reference/philly_ee9e8c_job-n16g8__{name}.csv.gz");
        if data.join(&reference).exists() {
            case("tiresias/philly_ee9e8c_job.csv.gz", "16x8", index).must_equal(&data, &reference);
            compared += 1;
        }
    }
    assert!(compared >= 8, "only {compared} reference files are there");
}

/// `dlas-gpu-gittins` goes by an index from a file of what past jobs took, which becomes a knob.
#[test]
fn every_completion_time_by_the_gittins_index_is_equal() {
    let Some(data) = shared() else { return };
    let sample = sample(&data.join("tiresias/yarn-gput1000.csv.gz"));
    let knobs = [
        BY_COUNT,
        ("sample", sample.as_str()),
        ("learn", "false"),
        ("horizon", "3250 gpu-s"),
        ("within", "as-submitted"),
        ("last", "by-index"),
    ];
    for (trace, cluster, name, preemptions) in [
        ("tiresias/60_job.csv", "4x4", "60_job-n4g4", 35),
        ("tiresias/philly_ee9e8c_job.csv.gz", "16x8", "philly_ee9e8c_job-n16g8", 2677),
    ] {
        let (options, recipe, world) = (Options::default(), "tiresias-gittins", "tiresias");
        let case = Case { trace, options, cluster, recipe, knobs: &knobs, world };
        case.must_equal(
            &data,
            &format!("tiresias/reference/{name}__dlas-gpu-gittins-count.csv.gz"),
        );
        let simulation = case.run(&data);
        let stopped: u32 = simulation.records().all().iter().map(|job| job.preemptions).sum();
        assert_eq!(stopped, preemptions, "{name}");
    }
}

/// A table with one column of GPU seconds as a list of GPU times.
fn sample(table: &Path) -> String {
    let mut text = String::new();
    let file = File::open(table).expect("the sample is there");
    GzDecoder::new(file).read_to_string(&mut text).expect("the sample can be read");
    let values: Vec<String> =
        text.lines().skip(1).map(|value| format!("\"{} gpu-s\"", value.trim())).collect();
    format!("[{}]", values.join(", "))
}

/// Two schedules of which only the averages were written down: mean completion time in seconds and
/// number of preemptions.
#[test]
fn schedules_known_by_their_averages_agree() {
    let Some(data) = shared() else { return };
    for (schedule, mean_s, preemptions) in
        [("shortest-gpu-count", 154_258.0, 762), ("dlas-gpu-8-count", 262_165.0, 73_740)]
    {
        let index = SCHEDULES.iter().position(|(name, ..)| *name == schedule).expect("listed");
        let simulation = case("tiresias/philly_ee9e8c_job.csv.gz", "16x8", index).run(&data);
        let records = simulation.records().all();
        let total: f64 = records.iter().filter_map(Record::completion).map(Span::secs_f64).sum();
        let mean = total / records.len() as f64;
        assert!((mean - mean_s).abs() < 1.0, "{schedule}: {mean}");
        let stopped: u32 = records.iter().map(|record| record.preemptions).sum();
        assert_eq!(stopped, preemptions, "{schedule}");
    }
}
