//! The journal of a run with real processes, several tenants, a preemption and a lost node, gone
//! through again: the decisions are the same, and other recipes can be tried on what happened.

use crate::Place;
use std::time::{Duration, Instant};

/// Wait until what a command prints is as it should be.
fn until(place: &Place, line: &str, so: impl Fn(&str) -> bool) {
    let begun = Instant::now();
    loop {
        let said = place.run(line).good();
        if so(&said) {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{line}: {said}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A server that has seen something, and is down.
fn seen() -> Place {
    let place = Place::empty();
    place.run("up --emulate 2x4xA100 --recipe capacity --background").good();
    place.run("tenant set vision --quota 4").good();
    place.run("tenant set speech --quota 4").good();
    for _ in 0..4 {
        place.run("submit --gpus 2 --tenant vision --requeue -- sleep 600").good();
    }
    until(&place, "queue", |said| said.matches("running").count() == 4);
    place.run("submit --gpus 4 --tenant speech --requeue -- sleep 600").good();
    until(&place, "evictions", |said| said.contains(" 5"));
    until(&place, "queue 5", |said| said.contains("running"));
    place.run("lose n1").good();
    until(&place, "nodes", |said| said.contains("down"));
    place.run("recipe set tiresias").good();
    place.run("cancel all").good();
    until(&place, "queue --json", |said| {
        let value: serde_json::Value = serde_json::from_str(said).expect("JSON");
        value["jobs"].as_array().is_some_and(Vec::is_empty)
    });
    place.run("submit -W --gpus 1 --tenant speech -- true").good();
    place.run("down").good();
    place
}

#[test]
fn decisions_are_the_same_again_and_the_past_is_a_trace() {
    let place = seen();
    let said = place.run("replay state").good();
    assert!(said.contains("every decision is the one that was taken live"), "{said}");
    let json = place.run("replay state/journal --json").good();
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["form"], "heeler/replay/1");
    assert!(json["orders"].as_u64() > Some(12), "{json}");
    assert!(json["differs_before"].is_null());

    let said = place.run("replay state --recipe fifo --write-trace past.csv").good();
    assert!(said.contains("tiresias (live)") && said.contains("fifo"), "{said}");
    let said = place.run("sim --trace past.csv --cluster 2x4 --recipe fifo").good();
    assert!(said.contains("6"), "{said}");
    assert!(place.run("replay nowhere").mistake().contains("there is no such folder"));
}

#[test]
fn another_decision_is_found() {
    let place = Place::new();
    place.run("submit -W --gpus 1 -- true").good();
    place.run("down").good();
    let path = place.path().join("state/journal");
    let before = heeler_journal::read_all(&path).expect("the journal");
    let folder = heeler_journal::Folder::open(&path).expect("the journal");
    let settings = heeler_journal::Settings::default();
    let mut opened = heeler_journal::Journal::open(folder, settings).expect("the journal");
    // As if the server had decided otherwise just before.
    let (_, last) = before.records.last().expect("a record");
    let mut record: serde_json::Value = serde_json::from_slice(last).expect("JSON");
    record["digest"] = 1.into();
    record["inputs"] = serde_json::json!(["tick"]);
    let number = opened.journal.append(record.to_string().as_bytes()).expect("room");
    opened.journal.sync().expect("safe");
    drop(opened);
    let ended = place.run("replay state");
    assert_eq!(ended.code, Some(1), "{}{}", ended.out, ended.err);
    assert!(ended.err.contains(&format!("before record {number}")), "{}", ended.err);
}

#[test]
fn of_a_damaged_journal_what_comes_before_is_read() {
    let place = Place::new();
    for _ in 0..3 {
        place.run("submit -W --gpus 1 -- true").good();
    }
    place.run("down").good();
    let folder = place.path().join("state/journal");
    let files = std::fs::read_dir(&folder).expect("a folder").flatten().map(|one| one.path());
    let path = files.filter(|path| path.extension().is_some_and(|it| it == "log")).min();
    let path = path.expect("a segment");
    let mut bytes = std::fs::read(&path).expect("a segment");
    let used = bytes.iter().rposition(|byte| *byte != 0).expect("something");
    bytes[used / 2] ^= 1;
    std::fs::write(&path, &bytes).expect("room");
    let said = place.run("up --emulate 8xA100").err;
    assert!(said.contains("heeler replay"), "{said}");
    let said = place.run("replay state").good();
    assert!(said.contains("THE JOURNAL IS DAMAGED") && said.contains("records"), "{said}");
}
