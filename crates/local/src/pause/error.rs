//! Why a job could not be suspended, or could not go on.

use super::Tried;
use thiserror::Error;

/// Why a job could not be suspended, or could not go on.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PauseError {
    /// No way that is allowed was possible. The job runs on.
    #[error("no way to suspend it: {}", sentence(.tried))]
    NoWay {
        /// What was tried.
        tried: Vec<Tried>,
    },
    /// Nothing of the job is left.
    #[error("its processes are gone")]
    Gone,
    /// Its processes could not be listed or signalled.
    #[error("{what}: {message}")]
    Processes {
        /// What was being done.
        what: String,
        /// What the system said.
        message: String,
    },
    /// They did not stand still in time.
    #[error("{count} of its processes did not stand still within {within_ms} ms")]
    Moving {
        /// How many.
        count: usize,
        /// The limit.
        within_ms: u128,
    },
    /// It could not go on, and still stands still as it did; one may try again.
    #[error("it could not go on: {message}")]
    StillAsleep {
        /// Why.
        message: String,
    },
    /// Its memory is on a GPU that it is not to go on with.
    #[error("its memory is still on the GPU it had; it cannot go on with another")]
    CannotMove,
}

fn sentence(tried: &[Tried]) -> String {
    let each = tried.iter().map(|tried| format!("{:?}: {}", tried.way, tried.why).to_lowercase());
    let all: Vec<String> = each.collect();
    if all.is_empty() { "none is allowed".to_owned() } else { all.join("; ") }
}
