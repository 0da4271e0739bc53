//! Handing in jobs over the server's socket, each answered only once it is safe on disk: one by one
//! from one client, beside appending and syncing as many bytes to a file; and in batches.

use super::super::clock::median;
use super::super::report::Figure;
use super::super::{Scope, step};
use super::wire::Wire;
use super::{Scratch, job, server};
use anyhow::Result;
use heeler_api::Submission;
use heeler_model::Cluster;
use heeler_server::noop::RUNS_MS;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

const ONE_BY_ONE: usize = 3_000;
const ROUNDS: usize = 15;
const BATCH: usize = 100;
const BATCHES: usize = 200;
/// Half of what the machine's own append and sync can do.
const PART: f64 = 0.5;
const BATCH_FLOOR_PER_S: f64 = 10_000.0;

pub(super) fn measure(scope: &Scope) -> Result<Vec<Figure>> {
    let scratch = Scratch::new("submit")?;
    let server = server(&scratch.path().join("state"), Cluster::uniform(1, 8), "fifo")?;
    let mut wire = Wire::to(&scratch.path().join("state/heeler.sock"))?;
    // Nothing starts or ends meanwhile: that would be other records to sync.
    let env = [(RUNS_MS.to_owned(), "3600000".to_owned())];
    wire.post("/v1/jobs", &serde_json::to_vec(&Submission { env: env.into(), ..job(8) })?)?;
    let one = serde_json::to_vec(&job(1))?;
    let count = scope.of(ONE_BY_ONE) / ROUNDS;
    step(&format!("live: {} jobs handed in one by one", count * ROUNDS));
    // In turns, so that a disk that is busy meanwhile is so for both.
    let (mut ours, mut raw) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        raw.push(appends(&scratch.path().join(format!("raw{round}")), one.len(), count)?);
        let begun = Instant::now();
        for _ in 0..count {
            wire.post("/v1/jobs", &one)?;
        }
        ours.push(count as f64 / begun.elapsed().as_secs_f64());
    }
    let ratio = median(ours.iter().zip(&raw).map(|(ours, raw)| ours / raw).collect());
    let ours = median(ours);
    let single = Figure::new("live submit".into(), ours, "/s")
        .against("appending and syncing a file", ratio)
        .at_least(ours / ratio * PART);
    let batches = scope.of(BATCHES);
    step(&format!("live: {} jobs handed in, {BATCH} at a time", batches * BATCH));
    let many = serde_json::to_vec(&vec![job(1); BATCH])?;
    let begun = Instant::now();
    for _ in 0..batches {
        wire.post("/v1/jobs", &many)?;
    }
    let rate = (batches * BATCH) as f64 / begun.elapsed().as_secs_f64();
    let batch = Figure::new("live submit by 100".into(), rate, "/s").at_least(BATCH_FLOOR_PER_S);
    server.stop()?;
    Ok(vec![single, batch])
}

/// Appends of so many bytes a second, each synced.
fn appends(path: &Path, bytes: usize, count: usize) -> Result<f64> {
    let mut file = File::create(path)?;
    let text = vec![b'x'; bytes];
    let begun = Instant::now();
    for _ in 0..count {
        file.write_all(&text)?;
        file.sync_data()?;
    }
    Ok(count as f64 / begun.elapsed().as_secs_f64())
}
