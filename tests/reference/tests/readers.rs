//! Published traces, every file of them, where they are at hand: all rows become jobs or are
//! counted, and what is written comes back as it was.

use heeler_model::{Cluster, Span, Time};
use heeler_reference::file;
use heeler_sim::cluster;
use heeler_sim::workload::{
    Cut, Description, Format, Options, Sample, Trace, cut, describe, read, write,
};
use std::path::Path;

/// Read a trace for itself, and tell what it is like.
fn told(path: &Path, options: &Options) -> (Trace, Description) {
    let mut cluster = Cluster::default();
    let trace = read(path, options, &mut cluster).unwrap_or_else(|error| panic!("{error}"));
    let description = describe(&trace, &cluster);
    assert!(trace.jobs().is_sorted_by_key(|job| job.submit), "{}", path.display());
    (trace, description)
}

/// Jobs and skipped rows of each file of a folder.
fn check_folder(folder: &str, format: Format, files: &[(&str, usize, u64)]) {
    let Some(folder) = file(folder) else { return };
    for (name, jobs, skipped) in files {
        let path = folder.join(name);
        let (trace, description) = told(&path, &Options::default());
        assert_eq!(trace.format, Some(format), "{name}");
        assert_eq!((description.jobs, trace.skipped.total()), (*jobs, *skipped), "{name}");
        assert!(description.gpu_hours > 0.0, "{name}");
    }
}

#[test]
fn philly() {
    check_folder("philly", Format::Philly, &[("philly_jobs.csv.gz", 82_247, 0)]);
    let Some(path) = file("philly/philly_jobs.csv.gz") else { return };
    let (trace, description) = told(&path, &Options::default());
    assert_eq!(trace.origin.as_deref().map(|date| &date[..10]), Some("2017-09-04"));
    let duration = description.duration_s.expect("jobs");
    assert_eq!((duration.p50, duration.max), (1144.0, 4_628_226.0));
    assert_eq!(duration.mean.round(), 13_136.0);
    let tenant = |name| description.by_tenant.iter().find(|part| part.name == name);
    assert_eq!(tenant("6214e9").map(|part| part.jobs), Some(41_226));
    assert_eq!(tenant("ee9e8c").map(|part| part.jobs), Some(1511));
}

#[test]
fn tiresias() {
    let files = [("60_job.csv", 60, 0), ("philly_ee9e8c_job.csv.gz", 1511, 0)];
    check_folder("tiresias", Format::Tiresias, &files);
}

#[test]
fn muri() {
    let files = [
        ("trace1.csv.gz", 1494, 0),
        ("trace2.csv.gz", 5755, 0),
        ("trace3.csv.gz", 992, 0),
        ("trace4.csv.gz", 2638, 0),
        ("job_type_1.csv.gz", 992, 0),
        ("job_type_2.csv.gz", 992, 0),
        ("job_type_3.csv.gz", 992, 0),
        ("job_type_4.csv.gz", 992, 0),
        ("testbed_400.csv.gz", 400, 0),
    ];
    check_folder("muri/traces", Format::Muri, &files);
    let Some(path) = file("muri/traces/trace1.csv.gz") else { return };
    let options = Options { all_at_once: true, ..Options::default() };
    let (trace, _) = told(&path, &options);
    assert!(trace.jobs().iter().all(|job| job.submit == Time::ZERO));
    let costs = trace.jobs().iter().filter(|job| job.start_cost.is_some()).count();
    assert!(costs > 1000, "the table of start-up costs was found: {costs}");
}

#[test]
fn gavel() {
    let files = [
        ("physical_small_test.csv", 20, 0),
        ("physical_medium_test.csv", 20, 0),
        ("physical_artifact_evaluation.csv", 15, 0),
        ("physical_max_min_fairness.csv", 96, 0),
        ("physical_minimize_makespan.csv", 100, 0),
        ("gen_cont_single_300_lam2400_s0.csv", 300, 0),
        ("gen_cont_single_300_lam1800_s0.csv", 300, 0),
        ("gen_cont_multi_300_lam4800_s0.csv", 300, 0),
        ("gen_static_multi_100_s0.csv", 100, 0),
        ("gen_expmd_seed42_lam9000.csv.gz", 5200, 0),
    ];
    check_folder("gavel/traces", Format::Gavel, &files);
    let Some(path) = file("gavel/traces/physical_max_min_fairness.csv") else { return };
    let mut cluster = cluster::parse("v100=8,p100=16,k80=24").expect("a cluster");
    let trace = read(&path, &Options::default(), &mut cluster).expect("a trace");
    for job in trace.jobs() {
        let best = job.spec.rates().iter().copied().fold(0.0, f64::max);
        assert_eq!(job.spec.rates().len(), 3);
        assert_eq!(job.spec.nominal_pace, best / 1e6);
    }
}

#[test]
fn pollux_and_sia() {
    let numbered = |folder: &str, last: u32, jobs: usize| -> Vec<(String, usize)> {
        (1..=last).map(|number| (format!("{folder}/workload-{number}.csv"), jobs)).collect()
    };
    let pollux = [
        numbered("workloads", 8, 160),
        numbered("workloads-realistic", 8, 160),
        numbered("workloads-0.5", 8, 80),
        numbered("workloads-1.5", 8, 240),
        numbered("workloads-2.0", 8, 320),
    ];
    let sia = [
        numbered("philly", 8, 160),
        numbered("saturn", 10, 160),
        numbered("newtrace", 10, 960),
        numbered("scale/rate_10", 1, 80),
        numbered("scale/rate_20", 1, 160),
        numbered("scale/rate_30", 1, 240),
        numbered("scale/rate_40", 1, 320),
        numbered("scale/rate_50", 1, 400),
        numbered("scale/scale_2x", 1, 320),
        numbered("scale/scale_4x", 1, 640),
        numbered("scale/scale_8x", 1, 1280),
        numbered("scale/scale_16x", 1, 2560),
        numbered("scale/scale_32x", 1, 5120),
        vec![("physical/phoebe_workload.csv".into(), 30)],
    ];
    for (folder, sets) in [("pollux/workloads", &pollux[..]), ("sia/workloads", &sia[..])] {
        let files: Vec<_> =
            sets.iter().flatten().map(|(name, jobs)| (name.as_str(), *jobs, 0)).collect();
        check_folder(folder, Format::Pollux, &files);
    }
    check_folder("sia/reference", Format::Pollux, &[("philly1-39.csv", 39, 0)]);
    let Some(path) = file("sia/workloads/philly/workload-1.csv") else { return };
    let mut cluster = cluster::parse("6x4:aws+2x8:dgx-ext+3x8:rtx").expect("a cluster");
    let trace = read(&path, &Options::default(), &mut cluster).expect("a trace");
    assert!(trace.jobs().iter().all(|job| job.spec.rates().len() == 3));
}

#[test]
fn chronus() {
    let files = [
        ("trace_job_Philly_SLO.csv.gz", 30_940 - 205, 205),
        ("trace_job_Philly_MIX1.csv.gz", 30_940 - 184, 184),
        ("trace_job_Philly_MIX2.csv.gz", 30_940 - 194, 194),
        ("philly_SLO_300.csv", 300, 0),
        ("philly_MIX1_300.csv", 300, 0),
        ("philly_MIX2_300.csv", 300, 0),
    ];
    check_folder("chronus", Format::Chronus, &files);
    let Some(path) = file("chronus/philly_MIX2_300.csv") else { return };
    let (trace, description) = told(&path, &Options::default());
    assert_eq!(description.deadline_jobs, 178 + 87, "soft and strict, not best effort");
    let soft = trace.jobs().iter().filter(|job| job.spec.deadlines().len() == 4).count();
    assert_eq!(soft, 178);
}

#[test]
fn openb() {
    let files = [
        ("default", 8152),
        ("cpu0", 7064),
        ("cpu037", 7336),
        ("cpu050", 7439),
        ("cpu072", 7608),
        ("cpu100", 7853),
        ("cpu200", 8832),
        ("cpu235", 9240),
        ("cpu250", 9420),
        ("cpu300", 10_094),
        ("gpushare20", 8152),
        ("gpushare40", 8152),
        ("gpushare60", 8152),
        ("gpushare80", 8152),
        ("gpushare100", 8152),
        ("gpuspec05", 8152),
        ("gpuspec10", 8152),
        ("gpuspec20", 8152),
        ("gpuspec25", 8152),
        ("gpuspec33", 8152),
        ("multigpu20", 8324),
        ("multigpu30", 8508),
        ("multigpu40", 8746),
        ("multigpu50", 9061),
    ];
    for (name, jobs) in files {
        let path = format!("openb-gpu-v2023/openb_pod_list_{name}.csv.gz");
        let Some(path) = file(&path) else { return };
        let timeless = name.starts_with("multigpu");
        let run_time = timeless.then_some(Span::from_secs(3600));
        let (trace, description) = told(&path, &Options { run_time, ..Options::default() });
        assert_eq!((description.jobs, trace.skipped.total()), (jobs, 0), "{name}");
        if name == "default" {
            assert_eq!(description.cpu_jobs, 1088);
            let size = |name| description.by_size.iter().find(|part| part.name == name);
            assert_eq!(size("1").map(|part| part.jobs), Some(3911));
            assert_eq!(trace.assumed.total(), 897, "pods that were never scheduled");
        }
    }
    let Some(path) = file("openb-gpu-v2023/openb_pod_list_gpuspec33.csv.gz") else { return };
    let nodes = file("openb-gpu-v2023/openb_node_list_gpu_node.csv").expect("beside it");
    let mut cluster = cluster::read(&nodes.display().to_string()).expect("a cluster");
    let trace = read(&path, &Options::default(), &mut cluster).expect("its kinds are known");
    assert_eq!(trace.jobs().len(), 8152);
}

#[test]
fn lucid() {
    check_folder("lucid", Format::Lucid, &[("philly2day_521_jobs.csv.gz", 521, 0)]);
    let Some(path) = file("lucid/philly2day_521_jobs.csv.gz") else { return };
    let estimates = file("lucid/philly2day_521_estimates.csv.gz");
    let (trace, _) = told(&path, &Options { estimates, ..Options::default() });
    assert_eq!(trace.jobs()[0].spec.declared, Some(Span::from_secs(58)));
    assert_eq!(trace.jobs()[0].duration(), Span::from_secs(61));
}

#[test]
fn alibaba_pai() {
    let files = [("philly_in_pai_format_10001.csv.gz", 10_001, 0)];
    check_folder("alibaba-pai-2020", Format::Pai, &files);
    check_folder("alibaba-pai-2020", Format::Hydra, &[("hydra_5000_20ddl.csv.gz", 5000, 0)]);
    let Some(path) = file("alibaba-pai-2020/hydra_5000_20ddl.csv.gz") else { return };
    assert_eq!(told(&path, &Options::default()).1.deadline_jobs, 985);
}

/// The sample is the one Alibaba's simulator drew: its reference runs name every job of it.
#[test]
fn alibaba_pai_sampled() {
    let Some(path) = file("alibaba-pai-2020/philly_in_pai_format_10001.csv.gz") else { return };
    let sample = Some(Sample { count: 1000, per_minute: 10, seed: 42 });
    let declared = Some("group_dur".to_string());
    let (trace, _) = told(&path, &Options { sample, declared, ..Options::default() });
    let mut found: Vec<(String, u64, u64)> = Vec::new();
    for job in trace.jobs() {
        let seconds = |micros: u64| micros / 1_000_000;
        let name = job.name.as_deref().expect("named").to_string();
        found.push((name, seconds(job.submit.micros()), seconds(job.duration().micros())));
    }
    let mut wanted = Vec::new();
    let reference = path.with_file_name("reference").join("philly1000_FIFO.csv.gz");
    let table = heeler_sim::workload::Table::open(&reference, ',').expect("the reference");
    table
        .each(|row| {
            let whole = |name| row.number(name).map(|number| number as u64);
            let id = row.text("job_id")?.to_string();
            wanted.push((id, whole("submit_time")?, whole("duration")?));
            Ok(())
        })
        .expect("rows");
    found.sort();
    wanted.sort();
    assert_eq!(found.len(), 1000);
    assert_eq!(found, wanted);
}

#[test]
fn acme() {
    // The file holds 319 rows.
    check_folder("acme", Format::Acme, &[("kalos_320_converted.csv", 319, 0)]);
}

/// A trace of every format, written and read back, is what it was.
#[test]
fn what_is_written_comes_back() {
    let folder = std::env::temp_dir().join(format!("heeler-readers-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    for name in [
        "tiresias/60_job.csv",
        "muri/traces/testbed_400.csv.gz",
        "gavel/traces/gen_cont_multi_300_lam4800_s0.csv",
        "sia/workloads/philly/workload-1.csv",
        "chronus/philly_MIX2_300.csv",
        "openb-gpu-v2023/openb_pod_list_gpuspec33.csv.gz",
        "lucid/philly2day_521_jobs.csv.gz",
        "alibaba-pai-2020/hydra_5000_20ddl.csv.gz",
        "philly/philly_jobs.csv.gz",
        "acme/kalos_320_converted.csv",
    ] {
        let Some(path) = file(name) else { return };
        let mut cluster = Cluster::default();
        let trace = read(&path, &Options::default(), &mut cluster).expect(name);
        for file in ["t.csv.gz", "t.jsonl"] {
            let out = folder.join(file);
            write(&out, None, &trace, &cluster).expect(name);
            let mut again = Cluster::default();
            // Kinds and tenants in the same order, so that their numbers are the same.
            again.kinds.clone_from(&cluster.kinds);
            again.tenants.clone_from(&cluster.tenants);
            let back = read(&out, &Options::default(), &mut again).expect(name);
            assert_eq!(back.models.all().len(), trace.models.all().len(), "{name}");
            assert_eq!(back.jobs().len(), trace.jobs().len(), "{name}");
            for (one, other) in back.jobs().iter().zip(trace.jobs()) {
                assert_eq!(one, other, "{name}, {file}");
            }
        }
    }
    std::fs::remove_dir_all(folder).expect("a folder");
}

#[test]
fn cuts_keep_a_month_of_one_tenant() {
    let Some(path) = file("philly/philly_jobs.csv.gz") else { return };
    let mut cluster = Cluster::uniform(16, 8);
    let trace = read(&path, &Options::default(), &mut cluster).expect("a trace");
    let day = |day: u64| Some(Time::from_secs(day * 86_400));
    let what = Cut {
        from: day(30),
        until: day(60),
        tenants: vec!["ee9e8c".into()],
        gpus: Some(1..=8),
        from_zero: true,
        ..Cut::default()
    };
    let month = cut(&trace, &cluster, &what).expect("a cut");
    let told = describe(&month, &cluster);
    assert_eq!(told.by_tenant.len(), 1);
    assert!(told.span_s <= 30.0 * 86_400.0 && told.jobs > 100, "{told:?}");
    let doubled = Cut { load: Some(2.0), ..Cut::default() };
    let faster = describe(&cut(&month, &cluster, &doubled).expect("a cut"), &cluster);
    let (load, before) = (faster.load.expect("a load"), told.load.expect("a load"));
    assert!((load / before - 2.0).abs() < 1e-6, "{load} {before}");
}
