//! A server that is killed and started again: nothing is gone, nothing runs twice.

use crate::Place;
use nix::sys::signal::{Signal, kill};

#[test]
fn nothing_is_gone_after_the_server_was_killed() {
    let place = Place::new();
    let wait = "echo began >> log; while [ ! -e go ]; do sleep 0.05; done; echo ended >> log";
    place.run(&format!("submit --gpus 8 -- sh -c '{wait}'")).good();
    place.run("submit --gpus 1 -- sh -c 'echo second >> log'").good();
    while place.read("log").is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    kill(place.server(), Signal::SIGKILL).expect("it was there");
    assert_eq!(place.run("queue").code, Some(1));
    place.up();
    let queue = place.run("queue").good();
    assert!(queue.contains("running") && queue.contains("pending"), "{queue}");
    place.write("go", "");
    assert_eq!(place.run("submit -W -d afterok:1:2 -- true").code, Some(0));
    assert_eq!(place.read("log"), "began\nended\nsecond\n");
}

#[test]
fn jobs_go_on_while_the_server_is_down() {
    let place = Place::new();
    place.run("submit --gpus 1 -- sh -c 'while [ ! -e go ]; do sleep 0.05; done; exit 5'").good();
    while !place.run("queue").good().contains("running") {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(place.run("down").good().contains("its jobs go on"));
    place.write("go", "");
    place.up();
    place.run("submit -W -d afterany:1 -- true").good();
    let job = place.json("show 1 --json");
    assert_eq!(job["jobs"][0]["exit-code"].as_i64(), Some(5), "{job}");
}
