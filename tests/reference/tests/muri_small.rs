//! Muri's simulator on a few jobs: what its traces do not show. Completion times are those of a
//! replica of the authors' program that equals it job by job on its traces.

use heeler_reference::Case;
use heeler_sim::workload::Options;
use std::path::Path;

/// Run jobs by a recipe on a cluster, and compare with when each ended.
fn must_end(jobs: &str, recipe: &str, cluster: &str, theirs: &[(&str, f64)]) {
    let name = format!("heeler-{recipe}-{}.csv", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, jobs).expect("a trace");
    let trace = path.to_str().expect("a plain path");
    let (options, world) = (Options::default(), "muri");
    let simulation =
        Case { trace, options, cluster, recipe, knobs: &[], world }.run(Path::new("/"));
    std::fs::remove_file(&path).expect("it was there");
    for (job, end_s) in theirs {
        let id = simulation.find(job).expect("a job of the trace");
        let record = simulation.records().get(id).expect("every job has one");
        let ours = record.ended.expect("every job ends").secs_f64();
        assert!((ours - end_s).abs() < 1e-3, "job {job}: {ours} and {end_s}");
    }
}

/// All come at once. Some groups are undone, and of those who have had nothing yet not all can run:
/// those who would share stand together, though they have room of their own.
#[test]
fn equals_stand_with_whom_they_would_share() {
    let jobs = "job_id,num_gpu,submit_time,iterations,model_name,iteration_time,\
                resource_time_0,resource_time_1,resource_time_2\n\
                0,2,0,8000,gpt2,464,0.7,416,40\n\
                1,1,0,6000,bert,178,0.5,160,0\n\
                2,1,0,4000,a2c,517,514,14,0\n\
                3,1,0,5000,a2c,517,514,14,0\n\
                4,1,0,8000,dqn,490,446,8,0\n\
                5,1,0,1000,shufflenet_v2_x1_0,798,706,59,0\n\
                6,2,0,4000,bert,195,0.5,163,18\n\
                7,1,0,4000,a2c,517,514,14,0\n";
    let theirs = [
        ("0", 3827.68),
        ("1", 1104.02),
        ("4", 4830.5),
        ("5", 819.97),
        ("6", 791.7),
        ("7", 2930.72),
    ];
    must_end(jobs, "muri-l", "2x4", &theirs);
}

/// Jobs 2 and 5 are alike but for when they came. Whoever starts is thought to be longer
/// from then on, and yet keeps the place it had when that was decided.
#[test]
fn who_starts_keeps_its_place() {
    let jobs = "job_id,num_gpu,submit_time,iterations,model_name,duration,iteration_time,\
                resource_time_0,resource_time_1,resource_time_2\n\
                0,1,100000,4000,resnet18,3116000,779,711,110,0\n\
                1,2,300000,1000,dqn,495000,495,441,8,0.6\n\
                2,2,300000,4000,gpt2,1856000,464,0.7,416,40\n\
                3,2,0,2000,dqn,990000,495,441,8,0.6\n\
                4,2,200000,1000,gpt2,464000,464,0.7,416,40\n\
                5,2,200000,4000,gpt2,1856000,464,0.7,416,40\n\
                6,2,200000,2000,dqn,990000,495,441,8,0.6\n\
                7,1,0,1000,resnet18,779000,779,711,110,0\n";
    let theirs = [("2", 4236.076), ("5", 5095.243), ("6", 2818.064), ("0", 3677.231)];
    must_end(jobs, "muri-s", "1x4", &theirs);
}
