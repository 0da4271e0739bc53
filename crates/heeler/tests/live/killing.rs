//! The real server, killed with `kill -9` again and again while jobs are handed in and run: what
//! was acknowledged runs to its end, and nothing runs twice.

use crate::Place;
use nix::sys::signal::{Signal, kill};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const KILLS: u64 = 10;

/// Hand in jobs that leave a trace until told to end; logs, and numbers of those acknowledged.
fn hand_in(place: &Place, client: u32, over: &AtomicBool) -> Vec<(String, Option<String>)> {
    let mut jobs = Vec::new();
    while !over.load(Ordering::Relaxed) {
        let log = format!("log{client}-{}", jobs.len());
        let script = format!("echo began >> {log}; sleep 0.05; echo ended >> {log}");
        let ended = place.run(&format!("submit --parsable --gpus 1 -- sh -c '{script}'"));
        let number = (ended.code == Some(0)).then(|| ended.out.trim().to_string());
        jobs.push((log, number));
    }
    jobs
}

#[test]
fn what_was_acknowledged_runs_once_however_often_the_server_is_killed() {
    let place = Place::new();
    let over = AtomicBool::new(false);
    let handed_in = std::thread::scope(|scope| {
        let clients = [0, 1].map(|client| {
            let (place, over) = (&place, &over);
            scope.spawn(move || hand_in(place, client, over))
        });
        for round in 0..KILLS {
            std::thread::sleep(Duration::from_millis(40 + round * 37 % 150));
            let server = place.server();
            kill(server, Signal::SIGKILL).expect("it was there");
            // Until it is gone it holds the folder, and a new one would not start.
            while kill(server, None).is_ok() {
                std::thread::sleep(Duration::from_millis(5));
            }
            place.up();
        }
        over.store(true, Ordering::Relaxed);
        clients.map(|client| client.join().expect("a client ends")).concat()
    });
    place.run("submit --wait --gpus 8 -- true").good();
    while place.run("queue").good().contains("running") {
        std::thread::sleep(Duration::from_millis(50));
    }
    let acknowledged = handed_in.iter().filter(|(_, number)| number.is_some()).count();
    assert!(acknowledged > 10, "only {acknowledged} of {} jobs", handed_in.len());
    for (log, number) in &handed_in {
        let left = place.read(log);
        let Some(number) = number else {
            // Whether it was stored nobody was told; but it cannot have run twice.
            assert!(["", "began\nended\n"].contains(&left.as_str()), "{log}:\n{left}");
            continue;
        };
        let shown = place.json(&format!("show {number} --json"));
        assert_eq!(left, "began\nended\n", "job {number}: {shown}");
        assert_eq!(shown["jobs"][0]["state"], "completed", "job {number}: {shown}");
    }
    let replay = place.run("replay state/journal");
    assert_eq!(replay.code, Some(0), "{}{}", replay.out, replay.err);
}
