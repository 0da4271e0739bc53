//! Blox' simulator: its workload under first come first served and shortest remaining time first,
//! job by job. It is watched for jobs 60 to 160 alone; others come before and after them.

use heeler_reference::{Case, Within, shared, shows};
use heeler_sim::workload::Options;

#[test]
fn every_watched_job_completes_at_the_same_time() {
    let Some(data) = shared() else { return };
    for (policy, recipe) in [("Fifo", "fifo"), ("Srtf", "srtf")] {
        let case = Case {
            trace: "blox/reference/8x4_load2_workload.csv.gz",
            options: Options::default(),
            cluster: "8x4",
            recipe,
            knobs: &[("place", "anywhere")],
            world: "blox",
        };
        let reference = format!("blox/reference/8x4_load2_{policy}.csv.gz");
        let agreement = case.compare(&data, &reference);
        assert!(agreement.is_full(), "{recipe}: {agreement:#?}");
        let means = (agreement.mean_here_s, agreement.mean_there_s);
        shows(recipe, "Blox 8x4, 2 jobs/h", "mean completion time, s", means, Within::Equal);
    }
}
