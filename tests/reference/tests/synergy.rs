//! Synergy's simulator: its static trace of a hundred jobs under each of its orders, with
//! proportional shares and with TUNE, job by job; and what TUNE gains.

use heeler_reference::{Within, shared, shows};
use heeler_sim::Simulation;
use heeler_sim::metrics::Summary;
use heeler_sim::workload::{Options, read};
use heeler_sim::world::WorldCard;
use std::path::Path;
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

fn run(data: &Path, cpus: u64, order: &str, give: &str) -> Simulation {
    let mut cluster = heeler_sim::cluster::read("4x8").expect("a cluster");
    for node in &mut cluster.nodes {
        (node.cpu_milli, node.memory_mb) = (cpus * 1000, 500_000 * cpus / 24);
    }
    let path = data.join("synergy/static_100job.csv");
    // Profiles of servers with other CPUs are of other jobs: these are all measured with three.
    let mut profiled = heeler_sim::cluster::read("4x8").expect("a cluster");
    let trace = read(&path, &Options::default(), &mut profiled);
    let trace = trace.unwrap_or_else(|error| panic!("{error}"));
    let card = heeler_recipes::find("synergy").expect("the recipe is built in");
    let knobs = [("order", order), ("give", give), ("place", "anywhere")];
    let knobs = knobs.map(|(name, value)| (name.to_string(), value.to_string()));
    let card = heeler_recipes::Card::read_with(card.text, card.name, &knobs).expect("a card");
    let world = WorldCard::find("synergy-static").expect("the world is built in").world();
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
