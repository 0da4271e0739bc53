//! Capacity queues: what is idle is lent, and given back.

use super::scene::{Row, Scene, job};

fn jobs(names: &[&str], submit_s: u64, tenant: &'static str, length_s: u64) -> Vec<Row> {
    names.iter().map(|name| job(name, submit_s, 1, length_s).of(tenant)).collect()
}

/// Half of eight GPUs for each of two teams; one is alone and uses all of them.
#[test]
fn capacity_lends_what_is_idle() {
    let names = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];
    let scene = Scene::new("1x8", jobs(&names, 0, "vision", 100));
    let run = scene.quota("vision", 4).quota("speech", 4).run("capacity", &[]);
    let starts = names.map(|name| run.start(name));
    assert_eq!(starts, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 100.0]);
}

/// Vision has four of eight GPUs by right and uses all, its jobs started at 0 to 7. Speech wants
/// three of its own four at 100: the last three jobs of vision stop at once. One more at 110 stops
/// the fourth, `v4`, and then speech has its quota: what it submits at 120 waits. At 150 `three`
/// ends: `wait` is within the quota and takes one GPU, `v4` and `v5` go on on the others; `v6` goes
/// on when `wait` ends at 160, `v7` when `one` does at 610.
#[test]
fn capacity_gives_back_what_was_lent() {
    let names = ["v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7"];
    let mut table: Vec<Row> = Vec::new();
    for (start, name) in names.iter().enumerate() {
        table.push(job(name, start as u64, 1, 1000).of("vision"));
    }
    table.push(job("three", 100, 3, 50).of("speech"));
    table.push(job("one", 110, 1, 500).of("speech"));
    table.push(job("wait", 120, 1, 10).of("speech"));
    let scene = Scene::new("1x8", table).quota("vision", 4).quota("speech", 4);
    let run = scene.run("capacity", &[]);
    assert_eq!(["three", "one", "wait"].map(|name| run.start(name)), [100.0, 110.0, 150.0]);
    let first = |name| run.stays(name)[0].1;
    assert_eq!(["v7", "v6", "v5", "v4"].map(first), [100.0, 100.0, 100.0, 110.0]);
    assert_eq!(["v3", "v2", "v1", "v0"].map(first), [1003.0, 1002.0, 1001.0, 1000.0]);
    let again = |name| run.stays(name)[1].0;
    assert_eq!(["v4", "v5", "v6", "v7"].map(again), [150.0, 150.0, 160.0, 610.0]);
    assert_eq!(run.preemptions(), 4);
    // When GPUs are not taken back, speech waits for the first job of vision that ends.
    let patient = scene.run("capacity", &[("preempt", "never")]);
    assert_eq!(patient.preemptions(), 0);
    assert_eq!(patient.start("one"), 1000.0);
}

/// Vision has four GPUs by right, speech two; six are there. Three come free at 100 and three at
/// 200. At 100 both use nothing, so the job that came first starts, `v1`; then speech, which uses 0
/// of 2 beside 1 of 4; then vision, with 1 of 4 beside 1 of 2. At 200 both use a half, and it goes
/// on with `v3`, which came first, `s2` (½ beside ¾) and `v4` (¾ beside 1).
#[test]
fn capacity_serves_the_poorest_tenant_first() {
    let mut table = vec![job("until100", 0, 3, 100).of("guest")];
    table.push(job("until200", 0, 3, 200).of("guest"));
    table.extend(jobs(&["v1", "v2", "v3", "v4", "v5"], 1, "vision", 1000));
    table.extend(jobs(&["s1", "s2", "s3"], 2, "speech", 1000));
    let scene = Scene::new("1x6", table).quota("vision", 4).quota("speech", 2).quota("guest", 6);
    let run = scene.run("capacity", &[]);
    assert_eq!(["v1", "s1", "v2"].map(|name| run.start(name)), [100.0; 3]);
    assert_eq!(["v3", "s2", "v4"].map(|name| run.start(name)), [200.0; 3]);
    assert_eq!(["v5", "s3"].map(|name| run.start(name)), [1100.0; 2]);
    // First come, first served would have let vision have them all.
    let fifo = scene.run("fifo-skip", &[]);
    assert_eq!(["v1", "v2", "v3"].map(|name| fifo.start(name)), [100.0; 3]);
}

/// A guest without a quota was lent all it uses. Speech, with a quota of four of eight, takes back
/// the four GPUs of the guest's last job at 100 and gives them free at 200.
#[test]
fn a_tenant_without_a_quota_gives_way() {
    let mut table = vec![job("g1", 0, 4, 1000).of("guest"), job("g2", 1, 4, 1000).of("guest")];
    table.push(job("s", 100, 4, 100).of("speech"));
    let run = Scene::new("1x8", table).quota("speech", 4).run("capacity", &[]);
    assert_eq!(run.start("s"), 100.0);
    assert_eq!((run.end("g1"), run.end("g2")), (1000.0, 1101.0));
}

/// Within a tenant the more important job is next, though it came last.
#[test]
fn capacity_prefers_the_important_within_a_tenant() {
    let table = vec![
        job("first", 0, 2, 100).of("vision"),
        job("plain", 1, 2, 100).of("vision"),
        job("important", 2, 2, 100).of("vision").priority(5),
    ];
    let run = Scene::new("1x2", table).quota("vision", 2).run("capacity", &[]);
    assert_eq!((run.start("important"), run.start("plain")), (100.0, 200.0));
}
