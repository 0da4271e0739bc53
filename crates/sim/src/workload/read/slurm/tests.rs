//! What sacct prints, sound and broken.

use super::super::testing::read_text;
use super::*;
use crate::workload::{Options, Trace};
use heeler_model::{Cluster, JobId, KindId, KindSet, Time};

const HEADER: &str = "JobID|User|Account|State|Submit|Start|End|Elapsed|Timelimit|AllocTRES|\
                      ReqTRES|Dependency\n";

fn read(rows: &str, options: &Options) -> Result<Trace, TraceError> {
    let mut cluster = crate::cluster::parse("2x8:a100+2x8:h100").expect("a cluster");
    read_text("sacct.txt", &format!("{HEADER}{rows}"), options, &mut cluster)
}

/// A row with what matters: id, state, elapsed, time limit, TRES, dependency.
fn row(id: &str, state: &str, elapsed: &str, limit: &str, tres: &str, after: &str) -> String {
    let times = "2024-02-28T23:59:50|2024-02-29T00:00:00|2024-02-29T01:00:00";
    format!("{id}|ann|lab|{state}|{times}|{elapsed}|{limit}|{tres}||{after}\n")
}

#[test]
fn jobs_have_gpus_kinds_and_limits() {
    let rows = [
        row(
            "7_1",
            "COMPLETED",
            "1-00:00:01",
            "2-00:00:00",
            "billing=9,cpu=16,gres/gpu:h100=4,gres/gpu=4,mem=64G,node=1",
            "",
        ),
        row("7_2", "FAILED", "01:00", "UNLIMITED", "cpu=3,gres/gpu=2,mem=3M", ""),
        row("8", "TIMEOUT", "00:10:00", "00:10:00", "gres/gpu=1", "afterok:7:99,singleton"),
    ];
    let trace = read(&rows.concat(), &Options::default()).expect("a trace");
    let [a, b, c] = trace.jobs() else { panic!("three jobs") };
    assert_eq!((a.submit, a.duration()), (Time::ZERO, Span::from_secs(86_401)));
    assert_eq!(trace.origin.as_deref(), Some("2024-02-28 23:59:50"));
    assert_eq!((a.spec.demand.asked(), a.spec.demand.kinds), (4, KindSet::only(KindId(1))));
    assert_eq!((a.spec.demand.cpu_milli, a.spec.demand.memory_mb), (4000, 16_384));
    assert_eq!((b.spec.demand.cpu_milli, b.spec.demand.memory_mb), (1500, 2));
    assert_eq!(a.spec.declared, Some(Span::from_secs(172_800)));
    assert_eq!(b.spec.declared, None);
    assert_eq!(c.spec.after(), [JobId(0), JobId(1)], "an array is all its jobs");
    assert_eq!(trace.assumed.total(), 2, "job 99 is not there, and one dependency is left out");
}

#[test]
fn what_did_not_run_is_counted() {
    let gpu = "cpu=1,gres/gpu=1";
    let rows = [
        row("1", "COMPLETED", "00:01:00", "", gpu, ""),
        row("1.batch", "COMPLETED", "00:01:00", "", "cpu=1", ""),
        row("1.extern", "COMPLETED", "00:01:00", "", "cpu=1", ""),
        row("2", "RUNNING", "00:01:00", "", gpu, ""),
        row("3_[1-9]", "PENDING", "00:00:00", "", "", ""),
        row("4", "CANCELLED by 1000", "00:00:00", "", "", ""),
        row("5", "CANCELLED by 1000", "00:00:09", "", gpu, ""),
        row("6", "FAILED", "00:00:00", "", gpu, ""),
        row("9", "COMPLETED", "00:01:00", "", "cpu=4,mem=8G,node=1", ""),
    ];
    let trace = read(&rows.concat(), &Options::default()).expect("a trace");
    assert_eq!(trace.jobs().len(), 2);
    assert_eq!(
        trace.skipped.to_string(),
        "2 are steps of jobs, 1 are still running, 1 ask for no GPU, 1 have not started yet, \
         1 ran for less than a second, 1 were cancelled before they started"
    );
    let options = Options { cpu_jobs: true, ..Options::default() };
    let trace = read(&rows.concat(), &options).expect("a trace");
    let cpu_job = trace.jobs().iter().find(|job| job.name.as_deref() == Some("9")).expect("kept");
    assert_eq!((cpu_job.spec.demand.asked(), cpu_job.spec.demand.cpu_milli), (0, 4000));
}

#[test]
fn other_columns_do_as_well() {
    let text = "JobIDRaw|Submit|ElapsedRaw|TimelimitRaw|ReqTRES|\n\
                5|1700000000|90|2|cpu=1,gres/gpu=3|\n6|1700000010|9|UNLIMITED|gres/gpu=1|\n";
    let mut cluster = Cluster::uniform(1, 8);
    let trace = read_text("t", text, &Options::default(), &mut cluster).expect("a trace");
    let [a, b] = trace.jobs() else { panic!("two jobs") };
    assert_eq!((a.duration(), b.submit), (Span::from_secs(90), Time::from_secs(10)));
    assert_eq!((a.spec.declared, b.spec.declared), (Some(Span::from_secs(120)), None));
}

#[test]
fn mistakes_are_named_with_their_place() {
    let gpu = "gres/gpu=1";
    for (row, error) in [
        (
            row("1", "COMPLETED", "soon", "", gpu, ""),
            "column 8 (`Elapsed`): expected a time such as 1-02:03:04, found `soon`",
        ),
        (
            row("1", "COMPLETED", "00:01:00", "x", gpu, ""),
            "column 9 (`Timelimit`): expected a time such as 1-02:03:04 or UNLIMITED, found `x`",
        ),
        (
            row("1", "COMPLETED", "00:01:00", "", "gres/gpu=many", ""),
            "column 10 (`AllocTRES`): `gres/gpu=many` is not understood",
        ),
        (
            row("1", "COMPLETED", "00:01:00", "", "gres/gpu:v100=1", ""),
            "column 10 (`AllocTRES`): kind `v100` is not in the cluster, which has: a100, h100",
        ),
        ("1|2\n".to_string(), "has 2 fields where the header has 12"),
    ] {
        let found = read(&row, &Options::default()).expect_err("broken").to_string();
        assert_eq!(found, format!("sacct.txt:2: {error}"));
    }
    let text = "JobID|Submit|Elapsed\n1|2024-02-29T00:00:00|00:01:00\n";
    let error = read_text("t", text, &Options::default(), &mut Cluster::uniform(1, 8));
    let error = error.expect_err("no GPUs").to_string();
    assert_eq!(error, "t:1: does not say how many GPUs jobs had");
}

#[test]
fn memory_has_units() {
    for (text, megabytes_wanted) in [
        ("512M", Some(512.0)),
        ("1.5G", Some(1536.0)),
        ("2048K", Some(2.0)),
        ("7", Some(7.0)),
        ("1T", Some(1_048_576.0)),
        ("5X", None),
        ("", None),
    ] {
        assert_eq!(megabytes(text), megabytes_wanted, "{text}");
    }
}
