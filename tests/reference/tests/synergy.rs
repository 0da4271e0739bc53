//! Synergy's simulator: its static trace of a hundred jobs under each of its orders, with
//! proportional shares and with TUNE, job by job; and what TUNE gains.

use heeler_engine::Shares;
use heeler_model::Cluster;
use heeler_reference::{Within, shared, shows};
use heeler_sim::Simulation;
use heeler_sim::metrics::Summary;
use heeler_sim::workload::{Options, Trace, read};
use heeler_sim::world::WorldCard;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Order, what jobs get, and what the published results are called.
const RUNS: [(&str, &str, &str); 9] = [
    ("fifo", "proportional", "FIFO-fair"),
    ("fifo", "tune", "FIFO-tune"),
    ("srtf", "proportional", "SRTF-fair"),
    ("srtf", "tune", "SRTF-tune"),
    ("las", "proportional", "LAS-fair"),
    ("las", "tune", "LAS-tune"),
    ("finish-time", "proportional", "FTF-fair"),
    ("dominant-share", "enough", "DRF"),
    ("tetris", "enough", "TETRIS"),
];

/// Times there are in hours, to two decimals.
const ROUNDED_S: f64 = 0.005 * 3600.0 + 1e-6;

/// How its program understands traces.
fn as_published(profiles: Option<PathBuf>) -> Options {
    Options { two_speeds: true, profiles, ..Options::default() }
}

fn run(data: &Path, cpus: u64, order: &str, give: &str) -> Simulation {
    let mut cluster = heeler_sim::cluster::read("4x8").expect("a cluster");
    for node in &mut cluster.nodes {
        (node.cpu_milli, node.memory_mb) = (cpus * 1000, 500_000 * cpus / 24);
    }
    let path = data.join("synergy/static_100job.csv");
    // Profiles of servers with other CPUs are of other jobs: these are all measured with three.
    let mut profiled = heeler_sim::cluster::read("4x8").expect("a cluster");
    let trace = read(&path, &as_published(None), &mut profiled);
    let trace = trace.unwrap_or_else(|error| panic!("{error}"));
    // In the published program a share of more CPUs makes nobody faster.
    let shares = if cpus == 24 { Shares::Nominal } else { Shares::Measured };
    simulate(&trace, cluster, shares, (order, give))
}

fn simulate(
    trace: &Trace,
    cluster: Cluster,
    shares: Shares,
    (order, give): (&str, &str),
) -> Simulation {
    let card = heeler_recipes::find("synergy").expect("the recipe is built in");
    let knobs = [("order", order), ("give", give), ("place", "anywhere")];
    let knobs = knobs.map(|(name, value)| (name.to_string(), value.to_string()));
    let card = heeler_recipes::Card::read_with(card.text, card.name, &knobs).expect("a card");
    let mut world = WorldCard::find("synergy-static").expect("the world is built in").world();
    world.rules.shares = shares;
    let jobs = Box::new(trace.workload.clone());
    let mut simulation = Simulation::of_recipe(&card, world, Arc::new(cluster), jobs, 0);
    simulation.run();
    simulation
}

/// When each job ended there, seconds.
fn ends(data: &Path, name: &str) -> Vec<f64> {
    let path = data.join(format!("synergy/reference/static100_{name}.csv"));
    let text = std::fs::read_to_string(path).expect("results");
    let mut ends = vec![0.0; 100];
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let job: usize = fields[0].parse().expect("a number");
        ends[job] = fields[2].parse::<f64>().expect("hours") * 3600.0;
    }
    ends
}

#[test]
fn every_job_ends_at_the_same_time() {
    let Some(data) = shared() else { return };
    for (order, give, name) in RUNS {
        let simulation = run(&data, 24, order, give);
        let (mut same, mut mean) = (0.0, (0.0, 0.0));
        for (theirs, record) in ends(&data, name).iter().zip(simulation.records().all()) {
            let ours = record.ended.expect("every job ends").secs_f64();
            same += f64::from(u8::from((ours - theirs).abs() <= ROUNDED_S));
            mean = (mean.0 + ours / 36e4, mean.1 + theirs / 36e4);
        }
        let against = format!("static trace, {name}");
        shows("synergy", &against, "jobs that end at the same time", (same, 100.0), Within::Equal);
        shows("synergy", &against, "mean completion time, h", mean, Within::By(0.005));
    }
}

/// Where a GPU's share is all that any job can use, there is nothing to be gained.
#[test]
fn the_gain_is_gone_with_plenty_of_cpus() {
    let Some(data) = shared() else { return };
    for order in ["fifo", "srtf", "las"] {
        let mean = |cpus, give| Summary::of(&run(&data, cpus, order, give)).completion_s.mean;
        let scarce = mean(24, "proportional") / mean(24, "tune");
        let there = |give: &str| -> f64 {
            ends(&data, &format!("{}-{give}", order.to_uppercase())).iter().sum()
        };
        let gains = (scarce, there("fair") / there("tune"));
        let figure = format!("gain of TUNE in mean completion time, {order}");
        shows("synergy", "static trace", &figure, gains, Within::Part(0.001));
        assert_eq!(mean(96, "proportional"), mean(96, "tune"), "{order}: with 12 for each GPU");
    }
}

/// Jobs of up to eight GPUs, made up for this.
const GANGS: &str = "0,lstm,0.000,326636,2\n1,deepspeech,0.001,3253,1\n2,alexnet,0.002,4793,2\n\
    3,m5,0.003,5730,8\n4,gnmt,0.004,7550,4\n5,shufflenet,0.005,3910,4\n\
    6,shufflenet,0.006,2863,2\n7,alexnet,0.007,2861,4\n8,res18,0.008,5801,4\n\
    9,deepspeech,0.009,3377,8\n10,res18,0.010,1793,1\n11,gnmt,0.011,21958,1\n\
    12,lstm,0.012,327818,1\n13,mobilenet,0.013,4378,1\n14,deepspeech,0.014,4208,4\n\
    15,shufflenet,0.015,1804,8\n";

/// When they end on two servers, seconds, as a replica of the program's rules has it that meets all
/// nine runs of the static trace.
const GANGS_END: [(&str, &str, [u32; 16]); 7] = [
    (
        "fifo",
        "tune",
        [
            3601, 2701, 3001, 3601, 3901, 6301, 1801, 5401, 7501, 8101, 1201, 4501, 7201, 5101,
            10501, 9301,
        ],
    ),
    (
        "srtf",
        "tune",
        [
            5701, 3601, 3901, 10201, 1201, 4201, 2101, 2401, 7201, 6601, 601, 3901, 5401, 3301,
            8401, 1501,
        ],
    ),
    (
        "las",
        "tune",
        [
            5701, 3001, 4201, 9301, 3901, 6301, 2401, 5401, 7801, 8701, 1501, 3301, 4501, 3001,
            7501, 6301,
        ],
    ),
    (
        "tetris",
        "enough",
        [
            3901, 2701, 2701, 11101, 1201, 6301, 1501, 3901, 7501, 9001, 601, 2701, 3901, 2101,
            4801, 5101,
        ],
    ),
    (
        "dominant-share",
        "enough",
        [
            3601, 2701, 3901, 7501, 1201, 5401, 6301, 7501, 9901, 10201, 601, 2701, 3901, 2101,
            3301, 11101,
        ],
    ),
    (
        "dominant-share",
        "proportional",
        [
            3601, 2701, 4201, 6901, 1201, 4201, 4801, 6001, 8701, 9601, 1201, 2701, 3901, 3301,
            3301, 9901,
        ],
    ),
    (
        "las",
        "enough",
        [
            7201, 4201, 3601, 11101, 5101, 6301, 3001, 5701, 8101, 10201, 1801, 4801, 6001, 3901,
            9301, 8101,
        ],
    ),
];

#[test]
fn gangs_end_when_they_should() {
    let Some(data) = shared() else { return };
    let path = std::env::temp_dir().join(format!("heeler-gangs-{}.csv", std::process::id()));
    std::fs::write(&path, GANGS).expect("a trace");
    let options = as_published(Some(data.join("synergy/model_profiles.json")));
    let mut cluster = heeler_sim::cluster::read("2x8").expect("a cluster");
    let trace = read(&path, &options, &mut cluster).unwrap_or_else(|error| panic!("{error}"));
    std::fs::remove_file(path).expect("a trace");
    for (order, give, ends) in GANGS_END {
        let simulation = simulate(&trace, cluster.clone(), Shares::Nominal, (order, give));
        let ended = |record: &heeler_sim::Record| record.ended.expect("it ends").secs_f64();
        let ours: Vec<f64> = simulation.records().all().iter().map(ended).collect();
        assert_eq!(ours, ends.map(f64::from), "{order}, {give}");
    }
}
