//! The driver's part of suspending: which processes hold memory on a GPU, and moving it off and
//! back for all of them at once, within a time.

use super::ladder::Refusal;
use heeler_sys::cuda::{Cuda, CudaError, Move, State};
use nvml_wrapper::Nvml;
use nvml_wrapper::enums::device::UsedGpuMemory;
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
    /// How much processes have on GPUs in all, MB, if that can be told.
    fn memory_mb(&self, pids: &[i32]) -> Option<u64>;
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

    fn memory_mb(&self, pids: &[i32]) -> Option<u64> {
        memory_mb(pids)
    }
}

/// What NVML says of them. It knows processes by their numbers outside of containers, so inside it
/// may know none, and then nothing can be told.
fn memory_mb(pids: &[i32]) -> Option<u64> {
    static LOADED: OnceLock<Option<Nvml>> = OnceLock::new();
    let nvml = LOADED.get_or_init(|| Nvml::init().ok()).as_ref()?;
    let mut bytes = None;
    for gpu in 0..nvml.device_count().ok()? {
        for one in nvml.device_by_index(gpu).ok()?.running_compute_processes().ok()? {
            let ours = i32::try_from(one.pid).is_ok_and(|pid| pids.contains(&pid));
            if let (true, UsedGpuMemory::Used(used)) = (ours, one.used_gpu_memory) {
                bytes = Some(bytes.unwrap_or(0) + used);
            }
        }
    }
    bytes.map(|bytes| bytes >> 20)
}

/// The driver of this machine, loaded at the first call and kept. Loading takes part of a second,
/// so whoever will want it should call this while there is time.
pub fn driver() -> Result<Arc<dyn Driver>, CudaError> {
    static LOADED: OnceLock<Result<Arc<Cuda>, CudaError>> = OnceLock::new();
    let loaded = LOADED.get_or_init(|| Cuda::load().map(Arc::new));
    loaded.clone().map(|cuda| cuda as Arc<dyn Driver>)
}

/// Whether a process has a GPU's device file open, or does not let that be seen. Children that
/// were forked have it, too, without using it.
pub fn touches_gpu(pid: i32) -> bool {
    let open = match std::fs::read_dir(format!("/proc/{pid}/fd")) {
        Ok(open) => open,
        Err(error) => return error.kind() == std::io::ErrorKind::PermissionDenied,
    };
    let mut targets = open.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok());
    targets.any(|target| is_device(&target))
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
) -> BTreeMap<i32, Result<T, Refusal>> {
    let act = Arc::new(act);
    let (sender, receiver) = mpsc::channel();
    for pid in pids.iter().copied() {
        let (driver, act, sender) = (Arc::clone(driver), Arc::clone(&act), sender.clone());
        std::thread::spawn(move || {
            // Nobody listens any more if the time is over.
            let _ = sender.send((pid, act(driver.as_ref(), pid)));
        });
    }
    // What was asked may yet be done, at a time when nobody expects it.
    let why = format!("the driver did not answer within {} ms", within.as_millis());
    let late = || Err(Refusal { why: why.clone(), broken: true });
    let mut answers: BTreeMap<_, _> = pids.iter().map(|pid| (*pid, late())).collect();
    let begun = Instant::now();
    for _ in pids {
        match receiver.recv_timeout(within.saturating_sub(begun.elapsed())) {
            Ok((pid, answer)) => {
                answers.insert(pid, answer.map_err(Refusal::plain));
            }
            Err(_) => break,
        }
    }
    answers
}

/// What went wrong, if anything did.
pub(super) fn all_well<T>(answers: BTreeMap<i32, Result<T, Refusal>>) -> Result<(), Refusal> {
    let failed: Vec<Refusal> = answers.into_values().filter_map(Result::err).collect();
    if failed.is_empty() {
        return Ok(());
    }
    let broken = failed.iter().any(|refusal| refusal.broken);
    let all: Vec<String> = failed.into_iter().map(|refusal| refusal.why).collect();
    Err(Refusal { why: all.join("; "), broken })
}
