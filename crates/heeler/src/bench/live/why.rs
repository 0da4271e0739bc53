//! Asking why a job waits behind ten thousand others, and what that does to those who hand in jobs
//! meanwhile.

use super::super::clock::median;
use super::super::report::Figure;
use super::super::{Scope, step};
use super::wire::Wire;
use super::{Scratch, job, server};
use anyhow::Result;
use heeler_api::Submission;
use heeler_model::Cluster;
use heeler_server::noop::RUNS_MS;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const WAITING: usize = 10_000;
const QUESTIONS: usize = 40;
const AIM_MS: f64 = 100.0;
/// Those who hand in jobs may notice it, but not more than this.
const SLOWER: f64 = 3.0;

pub(super) fn measure(scope: &Scope) -> Result<Vec<Figure>> {
    let waiting = scope.of(WAITING);
    let scratch = Scratch::new("why")?;
    let state = scratch.path().join("state");
    let server = server(&state, Cluster::uniform(4, 8), "fifo")?;
    let socket = state.join("heeler.sock");
    let mut wire = Wire::to(&socket)?;
    let env = [(RUNS_MS.to_owned(), "3600000".to_owned())];
    let long = Submission { env: env.into(), ..job(8) };
    step(&format!("live: why, with {waiting} jobs waiting"));
    for _ in 0..waiting.div_ceil(500) {
        wire.post("/v1/jobs", &serde_json::to_vec(&vec![long.clone(); 500])?)?;
    }
    let one = serde_json::to_vec(&long)?;
    let alone = submits(&socket, &one, || {
        std::thread::sleep(Duration::from_millis(500));
        Ok(())
    })?;
    let mut answers = Vec::new();
    let meanwhile = submits(&socket, &one, || {
        for index in 0..QUESTIONS {
            let number = 5 + index * waiting / QUESTIONS;
            let begun = Instant::now();
            wire.get(&format!("/v1/jobs/{number}/why"))?;
            answers.push(begun.elapsed().as_secs_f64() * 1e3);
        }
        Ok(())
    })?;
    server.stop()?;
    let why = Figure::new("live why".into(), median(answers), "ms").at_most(AIM_MS);
    let slower = Figure::new("live submit beside why".into(), meanwhile * 1e3, "ms")
        .against("without questions", meanwhile / alone)
        .at_most(SLOWER);
    Ok(vec![why, slower])
}

/// The median time to hand in a job while something else is done, seconds.
fn submits(socket: &Path, one: &[u8], other: impl FnOnce() -> Result<()>) -> Result<f64> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let hand_in = || -> Result<f64> {
            let mut wire = Wire::to(socket)?;
            let mut times = Vec::new();
            while !over.load(Ordering::Relaxed) {
                let begun = Instant::now();
                wire.post("/v1/jobs", one)?;
                times.push(begun.elapsed().as_secs_f64());
                std::thread::sleep(Duration::from_millis(5));
            }
            Ok(median(times))
        };
        let thread = scope.spawn(hand_in);
        let done = other();
        over.store(true, Ordering::Relaxed);
        let times = thread.join().expect("the other thread does not panic");
        done.and(times)
    })
}
