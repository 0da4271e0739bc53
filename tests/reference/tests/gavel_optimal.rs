//! Gavel's linear programmes: the optima of whole problems, and runs of its simulator that hang on
//! which of many best answers a solver takes, so that they can only be met nearly.

use flate2::read::GzDecoder;
use heeler_reference::{Case, shared};
use heeler_sim::metrics::Summary;
use heeler_sim::workload::Options;
use heeler_solve::{Row, Sharing, in_groups};
use serde_json::Value;
use std::fs::File;
use std::time::Instant;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// A problem as rows of worth: what to divide each rate by is the objective.
fn sharing(problem: &Value, worth: impl Fn(&Value, f64, f64) -> f64) -> Sharing {
    let cluster = problem["cluster"].as_object().expect("a cluster");
    let kinds: Vec<&str> = cluster.keys().map(String::as_str).collect();
    let places: Vec<f64> = kinds.iter().map(|kind| number(&cluster[*kind])).collect();
    let all: f64 = places.iter().sum();
    let jobs = problem["jobs"].as_array().expect("jobs").iter();
    let rows = jobs.map(|job| {
        let rate = |kind: &str| number(&job["throughput"][kind]);
        let parts = kinds.iter().zip(&places);
        let equal: f64 = parts.map(|(kind, places)| rate(kind) * places / all).sum();
        let worth = kinds.iter().map(|kind| worth(job, equal, rate(kind))).collect();
        Row { size: number(&job["gpus"]), worth }
    });
    Sharing { rows: rows.collect(), places }
}

#[test]
fn the_optima_of_all_problems_are_met() {
    let Some(data) = shared() else { return };
    let path = data.join("gavel/reference/lp_instances.json.gz");
    let file = File::open(path).expect("the problems");
    let problems: Value = serde_json::from_reader(GzDecoder::new(file)).expect("JSON");
    let problems = problems.as_array().expect("a list");
    assert!(problems.len() >= 8);
    for problem in problems {
        let weighed = |job: &Value| number(&job["gpus"]) / number(&job["weight"]);
        let steps = |job: &Value| number(&job["steps"]);
        let aware = sharing(problem, |job, equal, rate| weighed(job) * rate / equal);
        let agnostic = sharing(problem, |job, _, _| weighed(job));
        let makespan = sharing(problem, |job, _, rate| rate / steps(job));
        let total = sharing(problem, |_, equal, rate| rate / equal);
        let optima = [
            ("max_min_aware", aware.max_min().level),
            ("max_min_agnostic", agnostic.max_min().level),
            ("makespan_s", 1.0 / makespan.max_min().level),
            ("max_total_normalised_throughput", total.max_sum().level),
        ];
        for (name, ours) in optima {
            let theirs = number(&problem["optimum"][name]);
            let off = (ours / theirs - 1.0).abs();
            assert!(off < 1e-6, "{} {name}: {ours} here, {theirs} there", problem["name"]);
        }
    }
    println!("{} problems, four optima each, within 1e-6", problems.len());
}

/// POP: in four groups, what jobs get done on average is within three percent of the whole, where
/// there are enough of them.
#[test]
fn four_groups_lose_less_than_three_percent_on_average() {
    let Some(data) = shared() else { return };
    let path = data.join("gavel/reference/lp_instances.json.gz");
    let file = File::open(path).expect("the problems");
    let problems: Value = serde_json::from_reader(GzDecoder::new(file)).expect("JSON");
    let mut seen = 0;
    for problem in problems.as_array().expect("a list") {
        let weighed = |job: &Value| number(&job["gpus"]) / number(&job["weight"]);
        let whole = sharing(problem, |job, equal, rate| weighed(job) * rate / equal);
        if whole.rows.len() < 64 {
            continue;
        }
        seen += 1;
        let mean = |parts: &[Vec<f64>]| {
            let rows = whole.rows.iter().zip(parts);
            let worth = |(row, parts): (&Row, &Vec<f64>)| -> f64 {
                row.worth.iter().zip(parts).map(|(worth, part)| worth * part).sum()
            };
            rows.map(worth).sum::<f64>() / whole.rows.len() as f64
        };
        let start = Instant::now();
        let together = mean(&whole.max_min().parts);
        let whole_s = start.elapsed().as_secs_f64();
        let numbers: Vec<u64> = (0..whole.rows.len() as u64).collect();
        let start = Instant::now();
        let parts = in_groups(&numbers, 47, 4, |group, part| {
            let places = whole.places.iter().map(|places| places * part).collect();
            let rows = group.iter().map(|row| whole.rows[*row].clone()).collect();
            Sharing { places, rows }.max_min().parts
        });
        let parts_s = start.elapsed().as_secs_f64();
        let loss = 1.0 - mean(&parts) / together;
        let jobs = whole.rows.len();
        println!("{jobs} jobs: {:.2} % less, {:.1} times as fast", loss * 100.0, whole_s / parts_s);
        assert!(loss < 0.03, "{}: {loss}", problem["name"]);
    }
    assert!(seen > 0, "no problem is large enough");
}

/// The mean completion time and the makespan, in hours.
fn run(trace: &str, knobs: &[(&str, &str)], world: &str) -> Option<(f64, f64)> {
    run_on("v100=8,p100=16,k80=24", trace, knobs, world)
}

fn run_on(cluster: &str, trace: &str, knobs: &[(&str, &str)], world: &str) -> Option<(f64, f64)> {
    let data = shared()?;
    let trace = format!("gavel/traces/{trace}");
    let options = Options::default();
    let case = Case { trace: &trace, options, cluster, recipe: "gavel", knobs, world };
    let summary = Summary::of(&case.run(&data));
    Some((summary.completion_s.mean / 3600.0, summary.makespan_s / 3600.0))
}

const AGNOSTIC: (&str, &str) = ("kinds", "agnostic");
const FINISH_TIME: (&str, &str) = ("objective", "finish-time");
const MAKESPAN: (&str, &str) = ("objective", "makespan");

fn near(what: &str, here: f64, there: f64) {
    println!("{what}: {here:.2} h here, {there:.2} h there");
    assert!((here / there - 1.0).abs() < 0.05, "{what}: {here} here, {there} there");
}

/// Mean completion times of the continuous trace: 3.82 h knowing the kinds, 5.20 h not.
#[test]
fn the_continuous_trace_is_met_within_five_percent() {
    let trace = "physical_max_min_fairness.csv";
    let Some((aware, aware_makespan)) = run(trace, &[], "gavel-perf") else { return };
    let (agnostic, makespan) = run(trace, &[AGNOSTIC], "gavel").expect("the data is there");
    near("aware", aware, 3.824);
    near("aware, makespan", aware_makespan, 17.11);
    near("agnostic", agnostic, 5.196);
    near("agnostic, makespan", makespan, 19.70);
    assert!(aware < agnostic, "in the authors' order");
}

/// Makespans of the static trace: 17.4 h knowing the kinds, 20.7 h not; 18.6 h with fair shares.
#[test]
fn the_static_trace_is_met_within_five_percent() {
    let trace = "physical_minimize_makespan.csv";
    let Some((mean, makespan)) = run(trace, &[MAKESPAN], "gavel-perf") else { return };
    near("aware", mean, 17.05);
    near("aware, makespan", makespan, 17.405);
    let (mean, agnostic) = run(trace, &[MAKESPAN, AGNOSTIC], "gavel").expect("the data is there");
    near("agnostic", mean, 19.21);
    near("agnostic, makespan", agnostic, 20.71);
    let (mean, fair) = run(trace, &[], "gavel-perf").expect("the data is there");
    near("fair shares", mean, 9.26);
    near("fair shares, makespan", fair, 18.64);
    assert!(makespan < fair && fair < agnostic, "in the authors' order");
}

/// Mean completion times with finish-time fairness: 3.94 h on the continuous trace; on a generated
/// one 14.4 h knowing the kinds, 19.7 h not.
#[test]
fn finish_time_fairness_is_met_within_five_percent() {
    let trace = "physical_max_min_fairness.csv";
    let Some((mean, makespan)) = run(trace, &[FINISH_TIME], "gavel-perf") else { return };
    near("continuous", mean, 3.936);
    near("continuous, makespan", makespan, 17.176);
    let (trace, cluster) = ("gen_cont_single_300_lam2400_s0.csv", "v100=12,p100=12,k80=12");
    let aware = run_on(cluster, trace, &[FINISH_TIME], "gavel-perf").expect("the data is there");
    near("generated", aware.0, 14.37);
    near("generated, makespan", aware.1, 310.15);
    let knobs = [FINISH_TIME, AGNOSTIC];
    let agnostic = run_on(cluster, trace, &knobs, "gavel").expect("the data is there");
    near("generated, agnostic", agnostic.0, 19.67);
    near("generated, agnostic, makespan", agnostic.1, 388.9);
    assert!(aware.0 < agnostic.0, "in the authors' order");
}

/// Mean completion time of jobs 100 to 199, hours.
fn window(trace: &str, knobs: &[(&str, &str)], world: &str) -> Option<f64> {
    let data = shared()?;
    let trace = format!("gavel/traces/{trace}");
    let (options, cluster) = (Options::default(), GENERATED);
    let case = Case { trace: &trace, options, cluster, recipe: "gavel", knobs, world };
    let simulation = case.run(&data);
    let took = |index: u32| {
        let job = simulation.find(&index.to_string()).expect("a job of the trace");
        let record = &simulation.records()[job];
        record.ended.expect("it ran to its end").since(record.submitted).secs_f64()
    };
    Some((100..200).map(took).sum::<f64>() / 100.0 / 3600.0)
}

const GENERATED: &str = "v100=12,p100=12,k80=12";

/// Jobs of one GPU: 14.1 h knowing the kinds, 19.7 h not; 16.1 h by makespan.
#[test]
fn generated_jobs_of_one_gpu_are_met_within_five_percent() {
    let trace = "gen_cont_single_300_lam2400_s0.csv";
    let Some(aware) = run_on(GENERATED, trace, &[], "gavel-perf") else { return };
    near("aware", aware.0, 14.095);
    near("aware, makespan", aware.1, 311.33);
    let agnostic = run_on(GENERATED, trace, &[AGNOSTIC], "gavel").expect("the data is there");
    near("agnostic", agnostic.0, 19.733);
    near("agnostic, makespan", agnostic.1, 389.8);
    let early = run_on(GENERATED, trace, &[MAKESPAN], "gavel-perf").expect("the data is there");
    near("by makespan", early.0, 16.148);
    near("by makespan, makespan", early.1, 306.76);
    assert!(aware.0 < early.0 && early.0 < agnostic.0, "in the authors' order");
    assert!(early.1 < aware.1 && aware.1 < agnostic.1, "in the authors' order");
    assert!(agnostic.0 / aware.0 > 1.3, "{}", agnostic.0 / aware.0);
}

/// Gangs of up to eight: 11.3 h knowing the kinds, 15.5 h not.
#[test]
fn generated_gangs_are_met_within_five_percent() {
    let trace = "gen_cont_multi_300_lam4800_s0.csv";
    let Some(aware) = window(trace, &[], "gavel-perf") else { return };
    near("aware", aware, 11.318);
    let agnostic = window(trace, &[AGNOSTIC], "gavel").expect("the data is there");
    near("agnostic", agnostic, 15.480);
    assert!(agnostic / aware > 1.3, "{}", agnostic / aware);
}

/// Gangs that are all there from the start: makespans of 166 h by makespan, 201 h with fair shares,
/// 289 h by makespan not knowing the kinds.
#[test]
fn generated_gangs_from_the_start_are_met() {
    let trace = "gen_static_multi_100_s0.csv";
    let Some(early) = run_on(GENERATED, trace, &[MAKESPAN], "gavel-perf") else { return };
    let fair = run_on(GENERATED, trace, &[], "gavel-perf").expect("the data is there");
    let knobs = [MAKESPAN, AGNOSTIC];
    let agnostic = run_on(GENERATED, trace, &knobs, "gavel").expect("the data is there");
    println!("by makespan {early:?}; fair {fair:?}; agnostic {agnostic:?}");
    near("by makespan, makespan", early.1, 165.93);
    near("fair", fair.0, 27.728);
    near("fair, makespan", fair.1, 201.05);
    near("agnostic, makespan", agnostic.1, 288.94);
    assert!(early.1 < fair.1 && fair.1 < agnostic.1, "in the authors' order");
}
