//! AlloX as in Gavel's simulator. Which of equal assignments a solver takes is its own affair, so
//! that runs in which GPUs are short can only be met nearly.

use heeler_reference::{Case, shared};
use heeler_sim::metrics::Summary;
use heeler_sim::workload::Options;

/// Three hundred jobs on 36 GPUs: 14.39 h on average there, all done after 306.8 h.
#[test]
fn a_busy_cluster_is_met_within_one_percent() {
    let Some(data) = shared() else { return };
    let trace = "gavel/traces/gen_cont_single_300_lam2400_s0.csv";
    let (options, cluster) = (Options::default(), "v100=12,p100=12,k80=12");
    let case = Case { trace, options, cluster, recipe: "allox", knobs: &[], world: "gavel-perf" };
    let agreement = case.compare(&data, "gavel/reference/jct_cs_allox.csv");
    println!("{agreement:?}");
    let summary = Summary::of(&case.run(&data));
    let (mean, makespan) = (summary.completion_s.mean, summary.makespan_s);
    println!("{mean:.0} s here, 51806 s there; makespan {makespan:.0} s here, 1104342 s there");
    assert!((mean / 51_806.2 - 1.0).abs() < 0.01, "{mean}");
    assert!((makespan / 1_104_341.8 - 1.0).abs() < 0.01, "{makespan}");
}

/// The run that the authors quote: jobs 4000 to 4999 take 59492.106756 s on average.
#[test]
fn the_quoted_run_is_met() {
    let Some(data) = shared() else { return };
    let trace = "gavel/traces/gen_expmd_seed42_lam9000.csv.gz";
    let (options, cluster) = (Options::default(), "v100=36,p100=36,k80=36");
    let case = Case { trace, options, cluster, recipe: "allox", knobs: &[], world: "gavel-perf" };
    let simulation = case.run(&data);
    let took = |index: u32| {
        let job = simulation.find(&index.to_string()).expect("a job of the trace");
        let record = &simulation.records()[job];
        record.ended.expect("it ran to its end").since(record.submitted).secs_f64()
    };
    let mean = (4000..5000).map(took).sum::<f64>() / 1000.0;
    println!("{mean:.6} s here, 59492.106756 s there");
    assert!((mean / 59_492.106_756 - 1.0).abs() < 1e-8, "{mean}");
}
