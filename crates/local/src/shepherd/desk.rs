//! Where somebody who asked a job to save itself waits until it has, or is gone.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What is known of a save.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    /// The job said that it has saved.
    pub(super) saved: bool,
    /// None of its processes is left.
    pub(super) gone: bool,
    /// Its first bad end was one that a polite request makes.
    pub(super) politely: bool,
}

/// Where a save is waited for.
#[derive(Debug, Default)]
pub(super) struct Desk {
    known: Mutex<Known>,
    changed: Condvar,
}

impl Desk {
    /// Note something.
    pub(super) fn note(&self, change: impl FnOnce(&mut Known)) {
        change(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    /// Wait until the job is gone, but not longer than that; says what is known then.
    pub(super) fn wait_gone(&self, within: Duration) -> Known {
        let until = Instant::now() + within;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        while !known.gone {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.changed.wait_timeout(known, left);
            known = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        *known
    }
}
