//! Lucid's simulator: its baselines on two days of Philly.

use heeler_reference::{Case, shared};
use heeler_sim::workload::Options;

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
fn srtf_is_within_two_percent() {
    let Some(data) = shared() else { return };
    let case = case("srtf", &[PLACE], "lucid-preemptive");
    let agreement = case.compare(&data, "lucid/reference/philly2day_srtf.csv.gz");
    assert_eq!(agreement.missing, 0);
    assert!(agreement.mean_off() < 0.02, "{agreement:#?}");
    let (equal, off) = (agreement.equal, agreement.mean_off());
    println!("srtf: {equal} of {} equal, mean off by {off:.4}", agreement.jobs);
}
