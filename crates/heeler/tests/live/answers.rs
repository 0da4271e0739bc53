//! What commands answer: objects for programs, and words for each thing that was not done.

use crate::{Ended, Place};
use serde_json::Value;

#[test]
fn down_works_on_this_machine_only() {
    let place = Place::new();
    let mut command = place.command();
    command.env("HEELER_SERVER", "https://gpu.example:7070").arg("down");
    let said = Ended::of(&command.output().expect("the program runs")).mistake();
    assert!(said.contains("of this machine only") && said.contains("--state"), "{said}");
    assert!(place.run("down --server http://gpu.example:1").mistake().contains("this machine"));
    place.run("queue").good();
}

#[test]
fn programs_get_one_object_and_nothing_else() {
    let place = Place::new();
    let listed: Value = serde_json::from_str(&place.run("services --json").good()).expect("JSON");
    assert!(listed["services"].as_array().is_some_and(|all| !all.is_empty()), "{listed}");
    let ran = place.run("run --json --gpus 1 -- echo hi");
    assert_eq!(ran.out, "hi\n");
    let told: Value = serde_json::from_str(&ran.err).expect("JSON on the standard error");
    assert_eq!(told["job"]["exit-code"], 0, "{told}");
    let ended = place.run("submit --wait --json --gpus 1 -- sh -c 'exit 3'");
    assert_eq!(ended.code, Some(3));
    let told: Value = serde_json::from_str(&ended.out).expect("one object");
    assert_eq!(told["submitted"][0]["job"], 2);
    assert_eq!(told["jobs"][0]["state"], "failed");
    let lines = "queue|nodes|show 1|logs 1|server|history|usage|evictions|audit|recipe show|\
                 tenant list|token list|why 1|when 1|recipes|recipes show fifo|worlds|\
                 worlds show plain|submit --test-only --gpus 1 -- true";
    for line in lines.split('|') {
        let (command, rest) = line.split_at(line.find(" -- ").unwrap_or(line.len()));
        let ended = place.run(&format!("{command} --json{rest}"));
        let is_refused = ended.code == Some(2) && ended.err.starts_with("error: ");
        let is_object = serde_json::from_str::<Value>(&ended.out).is_ok_and(|it| it.is_object());
        assert!(is_object || is_refused, "{line}: {} {}", ended.out, ended.err);
    }
}

#[test]
fn taking_back_twice_is_fine() {
    let place = Place::new();
    let script = "#!/bin/sh\ntrap '' TERM\ntouch begun\nwhile true; do sleep 0.05; done\n";
    place.write("stay.sh", script);
    place.run("submit --gpus 1 stay.sh").good();
    while !place.path().join("begun").exists() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    place.run("cancel 1").good();
    let again = place.run("cancel 1");
    assert!(again.err.contains("note: job 1 is stopping already"), "{}", again.err);
    assert_eq!(again.code, Some(0));
    place.run("cancel --now 1").good();
    place.run("submit --wait -d afterany:1 -- true").good();
    let said = place.run("cancel 1").mistake();
    assert!(said.contains("job 1 is cancelled"), "{said}");
}

#[test]
fn what_cannot_start_is_said_when_it_is_handed_in() {
    let place = Place::new();
    let sent = place.run("submit --gpus 9 -- true");
    assert!(sent.err.contains("note: job 1: it cannot start"), "{}", sent.err);
    assert!(sent.err.contains("ask for 8 GPUs or fewer"), "{}", sent.err);
    let said = place.run("submit --test-only --gpus 80 -- true").good();
    assert!(said.contains("ask for 8 GPUs or fewer"), "{said}");
    let said = place.run("submit --deadline 2001-01-01 --gpus 1 -- true").mistake();
    assert!(said.contains("past already"), "{said}");
    assert_eq!(place.run("submit --once k1 -- true").good(), "Submitted job 2\n");
    assert!(place.run("submit --once k1 -- true").good().contains("Job 2 had been submitted"));
    let many = place.run("queue --all --limit 1").good();
    assert!(many.contains("perhaps earlier ones") && many.contains('2'), "{many}");
}

#[test]
fn a_tenant_that_is_made_by_mistake_is_said() {
    let place = Place::new();
    assert_eq!(place.run("tenant set vision --limit 2").good(), "made tenant vision\n");
    let typo = place.run("quota visoin 3");
    assert!(typo.err.contains("did you mean vision?"), "{}", typo.err);
    assert_eq!(typo.out, "made tenant visoin\n");
    let odd = place.run("quota vision 9");
    assert!(odd.err.contains("cannot be kept by the 8 GPUs"), "{}", odd.err);
    assert!(odd.err.contains("its limit lets it use 2 only"), "{}", odd.err);
    let audit = place.run("audit").good();
    assert!(audit.contains("vision: quota 9") && !audit.contains('{'), "{audit}");
}
