//! CPU time, the only time that is measured: on a machine shared with others the wall clock says
//! more about them.

use nix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// CPU time that this thread has used so far.
fn used() -> Duration {
    let clock = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
    clock.expect("every thread has a CPU clock").into()
}

/// Run something; says what came of it and how many seconds of CPU time it took.
pub(super) fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let before = used();
    let result = work();
    (result, (used() - before).as_secs_f64())
}

/// The one in the middle: half of the others are smaller, half are larger.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
