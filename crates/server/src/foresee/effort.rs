//! How long an answer has been worked on: CPU time of the thread that works on it, so that a busy
//! machine does not make answers worse.

use nix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// CPU time that this thread has used so far; none, where that cannot be told.
pub(super) fn used() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}
