//! Fair shares of three kinds of GPU for a thousand jobs, as Gavel computes them when jobs come or
//! go, against one plain linear programme for the same level.

use super::choose::Numbers;
use super::clock::{median, timed};
use super::report::Figure;
use super::{Scope, step};
use anyhow::{Result, ensure};
use heeler_solve::{Linear, Row, Sharing, Status};

const JOBS: usize = 1_000;
const KINDS: usize = 3;
const ROUNDS: usize = 3;
const STEPS_MAX: u32 = 200;

/// CPU time of max-min shares.
pub(super) fn measure(scope: &Scope) -> Result<Vec<Figure>> {
    let jobs = scope.of(JOBS);
    let mut random = Numbers(2);
    let row = |_| {
        let size = f64::from(1 << (random.between(0.0, 4.0) as u32));
        let speeds = [random.between(2.0, 6.0), random.between(1.2, 2.5), 1.0];
        let equal: f64 = speeds.iter().sum::<f64>() / KINDS as f64;
        Row { size, worth: speeds.map(|speed| size * speed / equal).to_vec() }
    };
    let rows = (0..jobs).map(row).collect();
    let sharing = Sharing { places: vec![jobs as f64 / 8.0; KINDS], rows };
    let plain = plain(&sharing);
    let (mut times_ms, mut ratios) = (Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        step(&format!("shares: run {round} of {ROUNDS}"));
        let (division, seconds) = timed(|| sharing.max_min());
        let (answer, peer_seconds) = timed(|| plain.maximise(STEPS_MAX));
        ensure!(division.is_optimal && answer.status == Status::Optimal, "not solved");
        let off = division.level / answer.worth - 1.0;
        ensure!(off.abs() < 1e-6, "levels {} and {}", division.level, answer.worth);
        times_ms.push(seconds * 1000.0);
        ratios.push(seconds / peer_seconds);
    }
    let figure = Figure::new("shares max-min".into(), median(times_ms), "ms");
    Ok(vec![figure.against("one linear programme", median(ratios))])
}

/// Only the level: maximise z, no row worth less than z.
fn plain(sharing: &Sharing) -> Linear {
    let level = sharing.rows.len() * KINDS;
    let mut programme = Linear::new(level + 1);
    programme.set_worth(level, 1.0);
    for (index, row) in sharing.rows.iter().enumerate() {
        let own = |kind: usize| index * KINDS + kind;
        programme.at_most((0..KINDS).map(|kind| (own(kind), 1.0)).collect(), 1.0);
        let terms = row.worth.iter().enumerate().map(|(kind, worth)| (own(kind), -worth));
        programme.at_most(terms.chain([(level, 1.0)]).collect(), 0.0);
    }
    for (kind, places) in sharing.places.iter().enumerate() {
        let rows = sharing.rows.iter().enumerate();
        let taken = rows.map(|(index, row)| (index * KINDS + kind, row.size)).collect();
        programme.at_most(taken, *places);
    }
    programme
}
