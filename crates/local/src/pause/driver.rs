//! The driver's part of suspending: which processes hold memory on a GPU, and moving it off and
//! back for all of them at once, within a time.

use heeler_sys::cuda::{Cuda, CudaError, Move, State};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, OnceLock, mpsc};
use std::time::{Duration, Instant};

/// What can move a process's memory off its GPUs and back.
pub trait Driver: Send + Sync {
    /// What state a process is in; an error if it does not use a GPU.
    fn state(&self, pid: i32) -> Result<State, CudaError>;
    /// Make its calls block, waiting that long for those under way.
    fn lock(&self, pid: i32, timeout_ms: u32) -> Result<(), CudaError>;
    /// Move its memory to the host.
    fn checkpoint(&self, pid: i32) -> Result<(), CudaError>;
    /// Move it back, perhaps to other GPUs.
    fn restore(&self, pid: i32, moves: &[Move]) -> Result<(), CudaError>;
    /// Let it go on.
    fn unlock(&self, pid: i32) -> Result<(), CudaError>;
    /// Whether a process may use a GPU at all; cheap, and never asks the process.
    fn may_hold(&self, pid: i32) -> bool;
}

impl Driver for Cuda {
    fn state(&self, pid: i32) -> Result<State, CudaError> {
        Cuda::state(self, pid)
    }

    fn lock(&self, pid: i32, timeout_ms: u32) -> Result<(), CudaError> {
        Cuda::lock(self, pid, timeout_ms)
    }

    fn checkpoint(&self, pid: i32) -> Result<(), CudaError> {
        Cuda::checkpoint(self, pid)
    }

    fn restore(&self, pid: i32, moves: &[Move]) -> Result<(), CudaError> {
        Cuda::restore(self, pid, moves)
    }

    fn unlock(&self, pid: i32) -> Result<(), CudaError> {
        Cuda::unlock(self, pid)
    }

    fn may_hold(&self, pid: i32) -> bool {
        touches_gpu(pid)
    }
}

/// The driver of this machine, loaded at the first call and kept.
pub fn driver() -> Result<Arc<dyn Driver>, CudaError> {
    static LOADED: OnceLock<Result<Arc<Cuda>, CudaError>> = OnceLock::new();
    let loaded = LOADED.get_or_init(|| Cuda::load().map(Arc::new));
    loaded.clone().map(|cuda| cuda as Arc<dyn Driver>)
}

/// Whether a process has a GPU's device file open. Children that were forked have it, too, without
/// using it.
pub fn touches_gpu(pid: i32) -> bool {
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let targets = open.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    targets.into_iter().any(|target| is_device(&target))
}

fn is_device(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.starts_with("/dev/nvidia"))
}

/// Ask or do something of several processes at once, and wait that long for all: a call that hangs
/// must not hang who called. One answer for each.
pub(super) fn each<T: Send + 'static>(
    driver: &Arc<dyn Driver>,
    pids: &[i32],
    within: Duration,
    act: impl Fn(&dyn Driver, i32) -> Result<T, CudaError> + Send + Sync + 'static,
) -> BTreeMap<i32, Result<T, String>> {
    let act = Arc::new(act);
    let (sender, receiver) = mpsc::channel();
    for pid in pids.iter().copied() {
        let (driver, act, sender) = (Arc::clone(driver), Arc::clone(&act), sender.clone());
        std::thread::spawn(move || {
            // Nobody listens any more if the time is over.
            let _ = sender.send((pid, act(driver.as_ref(), pid)));
        });
    }
    let late = || Err(format!("no answer within {} ms", within.as_millis()));
    let mut answers: BTreeMap<_, _> = pids.iter().map(|pid| (*pid, late())).collect();
    let begun = Instant::now();
    for _ in pids {
        match receiver.recv_timeout(within.saturating_sub(begun.elapsed())) {
            Ok((pid, answer)) => {
                answers.insert(pid, answer.map_err(|error| error.to_string()));
            }
            Err(_) => break,
        }
    }
    answers
}

/// What went wrong, if anything did.
pub(super) fn all_well<T>(answers: BTreeMap<i32, Result<T, String>>) -> Result<(), String> {
    let failed: Vec<String> = answers.into_values().filter_map(Result::err).collect();
    if failed.is_empty() { Ok(()) } else { Err(failed.join("; ")) }
}
