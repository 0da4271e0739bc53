//! Gavel's simulator: the policies that need no solver, job by job.

use heeler_reference::{Case, shared};
use heeler_sim::workload::Options;

fn must_equal(trace: &str, cluster: &str, recipe: &str, world: &str, reference: &str) {
    let Some(data) = shared() else { return };
    let trace = format!("gavel/traces/{trace}");
    let options = Options::default();
    let case = Case { trace: &trace, options, cluster, recipe, knobs: &[], world };
    case.must_equal(&data, &format!("gavel/reference/{reference}"));
}

#[test]
fn first_come_first_served_on_the_best_kind_is_equal() {
    let (trace, reference) = ("gen_static_multi_100_s0.csv", "jct_sm_fifo_perf.csv");
    must_equal(trace, "v100=12,p100=12,k80=12", "gavel-fifo", "gavel-perf", reference);
}

#[test]
fn equal_shares_are_equal() {
    let generated = "v100=12,p100=12,k80=12";
    let physical = "v100=8,p100=16,k80=24";
    for (trace, cluster, reference) in [
        ("gen_cont_single_300_lam2400_s0.csv", generated, "jct_cs_isolated.csv"),
        ("gen_cont_multi_300_lam4800_s0.csv", generated, "jct_cm_isolated.csv"),
        ("physical_max_min_fairness.csv", physical, "jct_phys_las_isolated.csv"),
        ("physical_minimize_makespan.csv", physical, "jct_phys_mk_isolated.csv"),
    ] {
        must_equal(trace, cluster, "gavel-isolated", "gavel", reference);
    }
}
