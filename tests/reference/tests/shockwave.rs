//! Shockwave's simulator: jobs that change their batch, the policies it is compared with, and
//! itself. Completion times are equal where no solver is involved; where one is, averages are near.

use flate2::read::GzDecoder;
use heeler_model::JobId;
use heeler_recipes::Card;
use heeler_reference::{Within, shared, shows};
use heeler_sim::Simulation;
use heeler_sim::metrics::Summary;
use heeler_sim::workload::{Options, Workload, read};
use heeler_sim::world::WorldCard;
use serde_json::Value;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// A cut of the canonical trace and the GPUs it was run on.
#[derive(Clone, Copy)]
struct Cut {
    jobs: usize,
    gpus: u32,
}

const WHOLE: Cut = Cut { jobs: 120, gpus: 32 };
const SMALL: Cut = Cut { jobs: 24, gpus: 8 };

impl Cut {
    fn run(self, data: &Path, recipe: &str, knobs: &[(&str, &str)]) -> Simulation {
        let mut cluster = heeler_sim::cluster::read(&format!("v100={}", self.gpus)).expect("sound");
        let path = data.join("shockwave/traces/tacc_120jobs_32gpus.csv");
        let trace = read(&path, &Options::default(), &mut cluster);
        let trace = trace.unwrap_or_else(|error| panic!("{error}"));
        let jobs = Workload::new(trace.jobs()[..self.jobs].to_vec());
        let recipe = heeler_recipes::find(recipe).expect("the recipe is built in");
        let knobs: Vec<(String, String)> =
            knobs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        let card = Card::read_with(recipe.text, recipe.name, &knobs);
        let card = card.unwrap_or_else(|error| panic!("{error}"));
        let world = WorldCard::find("shockwave").expect("the world is built in").world();
        let mut simulation =
            Simulation::of_recipe(&card, world, Arc::new(cluster), Box::new(jobs), 0);
        simulation.run();
        simulation
    }

    fn reference(self, data: &Path, policy: &str) -> Value {
        let name = format!("shockwave/reference/sw_tacc{}_{policy}.json.gz", self.jobs);
        let file = File::open(data.join(name)).expect("the results are there");
        serde_json::from_reader(GzDecoder::new(file)).expect("JSON")
    }
}

fn numbers(of: &Value) -> Vec<f64> {
    let list = of.as_array().expect("a list").iter();
    list.map(|value| value.as_f64().expect("a number")).collect()
}

const ROUNDS: [(&str, &str); 2] = [("round", "120 s"), ("reset", "1000 s")];

#[test]
fn equal_turns_are_equal_job_by_job() {
    let Some(data) = shared() else { return };
    for cut in [SMALL, WHOLE] {
        let knobs = [ROUNDS.as_slice(), &[("shares", "equal-time")]].concat();
        let simulation = cut.run(&data, "gavel-isolated", &knobs);
        let reference = cut.reference(&data, "gandiva_fair");
        let theirs = numbers(&reference["jct"]);
        assert_eq!(theirs.len(), cut.jobs);
        for (job, theirs) in theirs.iter().enumerate() {
            let record = &simulation.records()[JobId(job as u32)];
            let ours = record.completion().expect("it ends").secs_f64();
            assert!((ours - theirs).abs() < 1e-3, "job {job}: {ours} here, {theirs} there");
            let contention = cut.jobs as f64 / f64::from(cut.gpus);
            let rho = ours / record.alone.secs_f64() / contention;
            let there = reference["ftf_static"][job].as_f64().expect("a number");
            assert!((rho - there).abs() < 2e-5, "job {job}: rho {rho} here, {there} there");
        }
        println!("{} jobs and their fairness equal", theirs.len());
    }
}

/// What a policy comes to: mean completion time and makespan in seconds, the part of jobs with a
/// static rho above 1.05.
#[derive(Clone, Copy, Debug)]
struct Figures {
    mean_s: f64,
    makespan_s: f64,
    unfair: f64,
}

impl Figures {
    fn of(simulation: &Simulation) -> Figures {
        let summary = Summary::of(simulation);
        assert_eq!(summary.jobs.finished, summary.jobs.submitted);
        let (mean_s, makespan_s) = (summary.completion_s.mean, summary.makespan_s);
        Figures { mean_s, makespan_s, unfair: summary.fairness.static_contention.unfair }
    }

    /// A row of the table of results.
    fn there(data: &Path, case: &str) -> Figures {
        let path = data.join("shockwave/reference/summary.csv");
        let mut rows = csv::Reader::from_path(path).expect("a table");
        let header = rows.headers().expect("a header").clone();
        let at = |name: &str| header.iter().position(|column| column == name).expect("a column");
        let row = rows.records().map(|row| row.expect("a row")).find(|row| &row[0] == case);
        let row = row.unwrap_or_else(|| panic!("no {case}"));
        let number = |name: &str| row[at(name)].parse::<f64>().expect("a number");
        Figures {
            mean_s: number("avg_jct_s"),
            makespan_s: number("makespan_s"),
            unfair: number("unfair_pct_gt_1_05") / 100.0,
        }
    }
}

type Knobs = &'static [(&'static str, &'static str)];

/// What the authors call a policy, and what it is here.
const POLICIES: [(&str, &str, Knobs); 5] = [
    ("gandiva_fair", "gavel-isolated", &[("shares", "equal-time")]),
    ("max_min_fairness", "gavel", &[("kinds", "agnostic")]),
    ("max_sum_throughput_perf", "gavel", &[("objective", "steps")]),
    ("min_total_duration", "gavel", &[("objective", "makespan"), ("kinds", "agnostic")]),
    ("finish_time_fairness", "gavel", &[("objective", "finish-time"), ("kinds", "agnostic")]),
];

/// Policies by a figure, smallest first; who are within two per cent there may change places.
fn same_order(all: &[(&str, f64, f64)]) {
    for (name, here, there) in all {
        for (other, other_here, other_there) in all {
            let clear = *there < *other_there * 0.98;
            assert!(!clear || here < other_here, "{name} before {other}: {all:?}");
        }
    }
}

#[test]
fn policies_with_solvers_are_near_and_in_the_authors_order() {
    let Some(data) = shared() else { return };
    for cut in [SMALL, WHOLE] {
        let (mut means, mut makespans) = (Vec::new(), Vec::new());
        for (policy, recipe, knobs) in POLICIES {
            let knobs = [ROUNDS.as_slice(), knobs].concat();
            let here = Figures::of(&cut.run(&data, recipe, &knobs));
            let there = Figures::there(&data, &format!("sw_tacc{}_{policy}", cut.jobs));
            let against = format!("Shockwave's simulator, {} jobs", cut.jobs);
            let figure = |what| format!("{policy}: {what}, s");
            let mean = (here.mean_s, there.mean_s);
            shows(recipe, &against, &figure("mean completion"), mean, Within::Part(0.05));
            let end = (here.makespan_s, there.makespan_s);
            shows(recipe, &against, &figure("makespan"), end, Within::Part(0.05));
            means.push((policy, here.mean_s, there.mean_s));
            makespans.push((policy, here.makespan_s, there.makespan_s));
            println!("unfair: {:.3} here, {:.3} there", here.unfair, there.unfair);
        }
        same_order(&means);
        same_order(&makespans);
    }
}

/// The authors' results of Shockwave itself: 24 jobs planned twelve rounds ahead with a free
/// solver, 120 jobs twenty rounds ahead with a commercial one.
#[test]
fn shockwave_ends_early_and_is_fair() {
    let Some(data) = shared() else { return };
    let small = Figures::of(&SMALL.run(&data, "shockwave", &[("ahead", "12")]));
    let there = Figures::there(&data, "sw_tacc24_shockwave");
    let whole = Figures::of(&WHOLE.run(&data, "shockwave", &[]));
    let published = Figures { mean_s: 9958.0, makespan_s: 24197.0, unfair: 0.05 };
    for (jobs, here, there) in [(24, small, there), (120, whole, published)] {
        let against = format!("Shockwave's simulator, {jobs} jobs");
        let show = |figure, pair, within| shows("shockwave", &against, figure, pair, within);
        // Better plans end earlier than those of the free solver.
        show("makespan, s", (here.makespan_s, there.makespan_s), Within::Part(0.07));
        show("mean completion, s", (here.mean_s, there.mean_s), Within::Part(0.05));
        show("part of jobs with rho above 1.05", (here.unfair, there.unfair), Within::NotMore);
    }
    for (cut, ours) in [(SMALL, small), (WHOLE, whole)] {
        for (policy, recipe, knobs) in POLICIES {
            let knobs = [ROUNDS.as_slice(), knobs].concat();
            let other = Figures::of(&cut.run(&data, recipe, &knobs));
            assert!(ours.makespan_s < other.makespan_s * 1.01, "{policy}: {ours:?}, {other:?}");
            assert!(ours.unfair < other.unfair, "{policy}: {ours:?}, {other:?}");
        }
    }
}
