//! AlloX as in Gavel's simulator.

use heeler_reference::gavel::Published;
use heeler_reference::{Within, shared, shows};

/// Three hundred jobs on 36 GPUs: 14.39 h on average there, all done after 306.8 h.
#[test]
fn a_busy_cluster_is_met_within_one_percent() {
    let Some(data) = shared() else { return };
    let published = Published::of("cs_allox", &data);
    let done = published.run("allox", &[], "gavel-perf", &data);
    done.is_near(&published, (Within::Part(0.01), Within::Part(0.01)));
}

/// The run that the authors quote: jobs 4000 to 4999 take 59492.106756 s on average.
#[test]
fn the_quoted_run_is_met() {
    let Some(data) = shared() else { return };
    let published = Published::of("expmd_allox_s42_l9000", &data);
    let done = published.run("allox", &[], "gavel-perf", &data);
    let mean = done.hours(&published).0 * 3600.0;
    let figure = "mean JCT of jobs 4000 to 4999 (s)";
    shows("allox", &published.case, figure, (mean, 59_492.106_756), Within::Equal);
}
