//! Suspending what was not written for it: a ladder of ways, tried in the order allowed for the
//! job, each step with what it took. A way that fails leaves the job running and gives way to the
//! next; why it failed is kept.

mod checkpoint;
mod driver;
mod ending;
mod error;
mod freeze;
mod ladder;
mod scope;
#[cfg(test)]
mod tests;

pub use driver::{Driver, driver, touches_gpu};
pub use ending::{Ended, end};
pub use error::PauseError;
pub use freeze::{By, Frozen, freeze, thaw};
pub use heeler_sys::cuda::{Move, Uuid};
pub use ladder::{resume, suspend};
pub use scope::{Process, Scope};

use heeler_backend::Way;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// How long single steps may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Until the driver says what state a process is in.
    pub answer: Duration,
    /// Until the driver's calls that are under way are done.
    pub lock: Duration,
    /// Until a process's memory is off its GPUs, or back.
    pub memory: Duration,
    /// Until all processes stand still.
    pub freeze: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            answer: Duration::from_secs(5),
            lock: Duration::from_secs(10),
            memory: Duration::from_secs(180),
            freeze: Duration::from_secs(5),
        }
    }
}

/// Asks a job to save and end, and waits that long for both; says why it did not.
pub type Save<'a> = &'a dyn Fn(Duration) -> Result<(), String>;

/// A job that is to be suspended or to go on, as its shepherd sees it.
#[derive(Clone)]
pub struct Context<'a> {
    /// Its processes.
    pub scope: Scope,
    /// The driver, if it can move memory off these GPUs. None for emulated GPUs.
    pub driver: Option<Arc<dyn Driver>>,
    /// How to ask it to save itself, if it ever said that it can.
    pub save: Option<Save<'a>>,
    /// Whether its memory may stay on the GPU while others run there.
    pub resident: bool,
    /// Whether it shares its GPU through MPS, whose clients the driver does not move.
    pub packed: bool,
    /// How much it has on its GPUs, MB; the driver is asked, if not said. As much of the host's
    /// memory has to be free.
    pub gpu_memory_mb: Option<u64>,
    /// How long steps may take.
    pub limits: Limits,
}

impl Context<'_> {
    /// A job on no GPU or on emulated ones, that cannot save itself.
    pub fn of(scope: Scope) -> Context<'static> {
        Context {
            scope,
            driver: None,
            save: None,
            resident: true,
            packed: false,
            gpu_memory_mb: None,
            limits: Limits::default(),
        }
    }
}

/// Something that was done on the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// What: `save`, `lock`, `checkpoint`, `freeze`, `thaw`, `restore`, `unlock`, `end`, `undo`.
    pub name: String,
    /// To how many processes.
    pub processes: usize,
    /// Microseconds it took.
    pub took_us: u64,
}

/// A way that was not possible.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// The way.
    pub way: Way,
    /// Why not.
    pub why: String,
}

/// What has to be known of a suspended job to let it go on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asleep {
    /// How its processes were made to stand still; none if they ended.
    pub frozen: Option<Frozen>,
    /// The processes whose memory the driver moved off the GPU.
    pub checkpointed: Vec<i32>,
    /// The limit its cgroup had on memory before the driver moved the GPU's into the host's.
    pub memory_max: Option<String>,
}

/// A job was suspended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// How.
    pub way: Way,
    /// Milliseconds until its GPUs were free, ways that failed counted in.
    pub took_ms: u64,
    /// What was done.
    pub steps: Vec<Step>,
    /// What was not possible.
    pub tried: Vec<Tried>,
    /// What has to be known to let it go on.
    pub asleep: Asleep,
}

impl Outcome {
    /// Whether its processes are still there, standing still.
    pub fn sleeps(&self) -> bool {
        matches!(self.way, Way::Checkpointed | Way::Frozen)
    }
}

/// A job goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resumed {
    /// Milliseconds until it did.
    pub took_ms: u64,
    /// What was done.
    pub steps: Vec<Step>,
}
