//! From handing in a job to its process running, beside starting the same process directly: the
//! process opens a named pipe, and we wait for that.

use super::super::clock::median;
use super::super::report::Figure;
use super::super::{Scope, step};
use super::wire::Wire;
use super::{Scratch, job};
use anyhow::{Result, bail};
use heeler_api::Submission;
use heeler_local::{Local, Setup};
use heeler_server::{Server, Settings};
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const JOBS: usize = 200;
const TIMES: f64 = 3.0;

pub(super) fn measure(scope: &Scope) -> Result<Vec<Figure>> {
    let scratch = Scratch::new("start")?;
    let state = scratch.path().join("state");
    let pipe = scratch.path().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU)?;
    let setup = Setup { emulate: Some("1x8xA100".into()), ..Setup::new(&state) };
    let server = Server::start(&Settings::new(&state), move |tell| {
        let local = Local::new(setup, tell).map_err(|error| error.to_string())?;
        Ok(Box::new(local))
    })?;
    let mut wire = Wire::to(&state.join("heeler.sock"))?;
    let script = format!("echo > {}", pipe.display());
    let words = ["/bin/sh", "-c", &script];
    let command: Vec<String> = words.map(String::from).into();
    let handed_in = serde_json::to_vec(&Submission { command, ..job(1) })?;
    let count = scope.of(JOBS).max(10);
    step(&format!("live: {count} processes, handed in and started directly"));
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..count {
        // Let what the last one left to do be done, as between people's jobs.
        std::thread::sleep(Duration::from_millis(20));
        let begun = Instant::now();
        let mut child = Command::new(words[0]).args(&words[1..]).stdin(Stdio::null()).spawn()?;
        wait_for(&pipe)?;
        bare.push(begun.elapsed().as_secs_f64());
        child.wait()?;
        std::thread::sleep(Duration::from_millis(20));
        let begun = Instant::now();
        wire.post("/v1/jobs", &handed_in)?;
        wait_for(&pipe)?;
        ours.push(begun.elapsed().as_secs_f64());
    }
    server.stop()?;
    let (ours, bare) = (median(ours), median(bare));
    let figure = Figure::new("live start".into(), ours * 1e3, "ms")
        .against("starting the process directly", ours / bare)
        .at_most(TIMES);
    Ok(vec![figure])
}

/// Wait until somebody has written to the pipe.
fn wait_for(pipe: &Path) -> Result<()> {
    let mut text = Vec::new();
    std::fs::File::open(pipe)?.read_to_end(&mut text)?;
    if text.is_empty() {
        bail!("the process wrote nothing to {}", pipe.display());
    }
    Ok(())
}
