//! Lucid's simulator on two days of Philly: its baselines, and Lucid itself.

use heeler_engine::Starts;
use heeler_reference::{Case, Within, shared, shows};
use heeler_sim::metrics::{Agreement, Summary};
use heeler_sim::workload::Options;
use heeler_sim::world::PairTable;
use std::path::Path;
use std::sync::Arc;

fn case<'a>(recipe: &'a str, knobs: &'a [(&'a str, &'a str)], world: &'a str) -> Case<'a> {
    let trace = "lucid/philly2day_521_jobs.csv.gz";
    Case { trace, options: Options::default(), cluster: "12x8", recipe, knobs, world }
}

/// The fullest node that fits, and the remainder of large jobs on the emptiest.
const PLACE: (&str, &str) = ("place", "best-fit-remainder-emptiest");

#[test]
fn fifo_and_sjf_are_equal() {
    let Some(data) = shared() else { return };
    let strict = &[PLACE, ("fit", "strict")];
    for (recipe, name) in [("fifo", "fifo"), ("sjf", "sjf")] {
        let reference = format!("lucid/reference/philly2day_{name}.csv.gz");
        case(recipe, strict, "lucid").must_equal(&data, &reference);
    }
}

#[test]
fn srtf_is_equal() {
    let Some(data) = shared() else { return };
    let case = case("srtf", &[PLACE], "lucid-preemptive");
    case.must_equal(&data, "lucid/reference/philly2day_srtf.csv.gz");
}

/// What the program printed for schedulers of which no times of single jobs are kept: mean, half,
/// 95 % and 99 % of the completion times, seconds.
const QSSF: [f64; 4] = [8740.6, 76.0, 43_903.0, 78_069.0];
const TIRESIAS: [f64; 4] = [10_190.8, 80.0, 63_369.0, 105_953.0];

/// The same with the estimates that it was given.
fn with_estimates<'a>(case: &Case<'a>, data: &Path) -> Case<'a> {
    let estimates = Some(data.join("lucid/philly2day_521_estimates.csv.gz"));
    Case { options: Options { estimates, ..Options::default() }, ..*case }
}

#[test]
fn qssf_is_within_one_percent() {
    let Some(data) = shared() else { return };
    let knobs = &[PLACE, ("predict", "declared"), ("newcomers", "fewest-gpus")];
    let simulation = with_estimates(&case("qssf", knobs, "lucid"), &data).run(&data);
    let seen = Summary::of(&simulation).completion_s;
    let close = Within::Part(0.01);
    shows("qssf", "lucid/philly2day", "mean completion time, s", (seen.mean, QSSF[0]), close);
    shows("qssf", "lucid/philly2day", "95 % of them, s", (seen.p95, QSSF[2]), close);
}

/// With what the program measured of pairs, and its estimates. Where they differ is said on the
/// card.
fn lucid(data: &Path) -> (Summary, Agreement) {
    let cluster = concat!(env!("CARGO_MANIFEST_DIR"), "/clusters/lucid.toml");
    let knobs = &[("predict", "declared"), ("time", "80 s"), ("gpus", "4"), ("quiet", "0.0")];
    let case = Case { cluster, ..with_estimates(&case("lucid", knobs, "lucid"), data) };
    let simulation = case.run_in(data, |world, trace, cluster| {
        let path = data.join("lucid/colocation_pairs.csv.gz");
        let pairs = PairTable::read(&path, &trace.models, cluster, &|_, _, _| None);
        world.sharing.table = Some(Arc::new(pairs.unwrap_or_else(|error| panic!("{error}"))));
    });
    let reference = data.join("lucid/reference/philly2day_lucid.csv.gz");
    let agreement = Agreement::with(&simulation, &reference).unwrap_or_else(|e| panic!("{e}"));
    (Summary::of(&simulation), agreement)
}

#[test]
fn lucid_is_within_three_percent_and_well_below_tiresias() {
    let Some(data) = shared() else { return };
    let (seen, agreement) = lucid(&data);
    assert_eq!(agreement.missing, 0);
    println!("lucid: {} of {} equal", agreement.equal, agreement.jobs);
    let (mean, close) = (seen.completion_s.mean, Within::Part(0.03));
    shows("lucid", "philly2day_lucid", "mean completion time, s", (mean, 8098.3), close);
    assert_eq!(seen.restarts.preemptions, 0);
    // Against Tiresias, both as they are here.
    let over = |within, starts| tiresias(within, starts, &data).completion_s.mean / mean;
    let gain = over("as-submitted", Starts::Counted);
    shows("lucid", "philly2day_lucid", "Tiresias over Lucid", (gain, 1.26), close);
    assert!((1.2..1.3).contains(&gain), "{gain}");
    // Most of that is from stopping jobs for others of their queue that were submitted before, and
    // a little from GPUs that are kept for jobs that find no place.
    let placed = over("as-submitted", Starts::AsFound);
    let own = over("running-first", Starts::AsFound);
    println!("Tiresias over Lucid: {placed:.2} with room for all it starts, {own:.2} by its card");
    assert!(1.0 < own && own < placed && placed < gain, "{own} {placed} {gain}");
}

/// Tiresias as that program has it: two queues, each in order of submission, looked at every
/// minute. There a job leaves the first queue beyond 18,000 GPU seconds, counted whole.
fn tiresias(within: &str, starts: Starts, data: &Path) -> Summary {
    let knobs = &[
        PLACE,
        ("limits", "['18001 gpu-s']"),
        ("within", within),
        ("cadence", "{ round = '1 min' }"),
    ];
    let case = case("tiresias", knobs, "lucid-preemptive");
    Summary::of(&case.run_in(data, |world, _, _| world.rules.starts = starts))
}

#[test]
fn tiresias_is_within_a_fifth_of_a_percent() {
    let Some(data) = shared() else { return };
    let seen = tiresias("as-submitted", Starts::Counted, &data);
    let times = seen.completion_s;
    let all = [times.mean, times.p50, times.p95, times.p99].into_iter().zip(TIRESIAS);
    for ((ours, theirs), name) in all.zip(["mean", "half", "95 %", "99 %"]) {
        let figure = format!("{name} of completion times, s");
        shows("tiresias", "lucid/philly2day", &figure, (ours, theirs), Within::Part(0.002));
    }
    let stops = seen.restarts.preemptions as f64;
    shows("tiresias", "lucid/philly2day", "stops", (stops, 146.0), Within::Equal);
}
