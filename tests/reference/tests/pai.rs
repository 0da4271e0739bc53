//! Alibaba's simulator of PAI: first come first served and shortest first, on jobs drawn as it
//! draws them.

use heeler_reference::{Case, shared};
use heeler_sim::workload::{Options, Sample};

#[test]
fn fifo_and_sjf_are_equal() {
    let Some(data) = shared() else { return };
    let sample = Some(Sample { count: 1000, per_minute: 10, seed: 42 });
    for (recipe, name) in [("fifo-skip", "FIFO"), ("sjf", "SJF")] {
        let options = Options { sample, ..Options::default() };
        let trace = "alibaba-pai-2020/philly_in_pai_format_10001.csv.gz";
        let knobs = &[("place", "anywhere")];
        let case = Case { trace, options, cluster: "1x60", recipe, knobs, world: "plain" };
        case.must_equal(&data, &format!("alibaba-pai-2020/reference/philly1000_{name}.csv.gz"));
    }
}
