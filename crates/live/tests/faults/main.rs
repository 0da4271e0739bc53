//! The whole control plane in one thread and made-up time: the state machine, the journal on a disk
//! that fails, a world of processes that misbehave, and people. The server is killed at every kind
//! of point, and comes back. After each step: no job that was acknowledged is lost, none runs
//! twice at once, no GPU is given twice, the accounts add up; and the journal leads to the
//! same state. `HEELER_SEEDS` says how many lives; a failure names its seed, and `HEELER_SEED`
//! lives that one alone.
#![allow(clippy::disallowed_methods)]

mod chance;
mod clients;
mod fate;
mod life;
mod oracle;
mod server;
mod world;

use life::Life;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn nothing_that_was_promised_is_lost() {
    if let Some(seed) = number("HEELER_SEED") {
        Life::new(seed).live();
        return;
    }
    let (mut jobs, mut deaths, mut starts) = (0, 0, 0);
    for seed in 0..number("HEELER_SEEDS").unwrap_or(300) {
        let lived = std::panic::catch_unwind(|| {
            let mut life = Life::new(seed);
            life.live();
            life.sums()
        });
        let Ok(sums) = lived else { panic!("seed {seed} failed: HEELER_SEED={seed} to see it") };
        jobs += sums.0;
        deaths += sums.1;
        starts += sums.2;
    }
    assert!(jobs > 0 && deaths > 0 && starts > 0, "{jobs} jobs, {deaths} deaths, {starts} starts");
}
