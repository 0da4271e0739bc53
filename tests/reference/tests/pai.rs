//! Alibaba's simulator of PAI: first come first served, and shortest first by the truth or by means
//! of earlier jobs, on jobs drawn as it draws them.

use heeler_reference::{Case, shared};
use heeler_sim::workload::{Options, Sample};

/// The order, what it goes by, and the recipe that has it.
const ORDERS: [(&str, Option<&str>, &str); 5] = [
    ("FIFO", None, "fifo-skip"),
    ("SJF", None, "sjf"),
    ("SJU", Some("user_dur"), "ali-mlaas"),
    ("SJG", Some("group_dur"), "ali-mlaas"),
    ("SJGG", Some("group_gpu_dur"), "ali-mlaas"),
];

#[test]
fn all_five_orders_are_equal() {
    let Some(data) = shared() else { return };
    let sample = Some(Sample { count: 1000, per_minute: 10, seed: 42 });
    for (name, declared, recipe) in ORDERS {
        let declared = declared.map(ToString::to_string);
        let by_declared = &[("place", "anywhere"), ("predict", "declared")][..];
        let knobs = if declared.is_some() { by_declared } else { &by_declared[..1] };
        let options = Options { sample, declared, ..Options::default() };
        let trace = "alibaba-pai-2020/philly_in_pai_format_10001.csv.gz";
        let case = Case { trace, options, cluster: "1x60", recipe, knobs, world: "plain" };
        case.must_equal(&data, &format!("alibaba-pai-2020/reference/philly1000_{name}.csv.gz"));
    }
}
