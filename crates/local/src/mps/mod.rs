//! Packing through MPS: jobs with part of a GPU run side by side under a daemon of NVIDIA's, each
//! limited to its part of the cores and of the memory. Jobs with whole GPUs never meet it.

mod daemon;

pub use daemon::{Daemon, Tended};

use heeler_model::Milli;
use std::collections::BTreeMap;
use std::path::Path;
use thiserror::Error;

/// Why MPS could not be had.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum MpsError {
    /// The program is not there.
    #[error("{program} is not installed; it comes with the NVIDIA driver")]
    NotInstalled {
        /// What was looked for.
        program: String,
    },
    /// Something of the system failed.
    #[error("MPS: {what}: {message}")]
    Failed {
        /// What was being done.
        what: String,
        /// What the system said.
        message: String,
    },
    /// The daemon does not answer.
    #[error("the MPS daemon did not answer {command:?} within {within_ms} ms")]
    NoAnswer {
        /// What it was asked.
        command: String,
        /// How long it had.
        within_ms: u128,
    },
}

/// Whether a job should run under MPS: it has part of a GPU, and the GPU is real.
pub fn wanted(share: Milli, gpus: u32, emulated: bool) -> bool {
    gpus > 0 && share.0 > 0 && !share.is_whole() && !emulated
}

/// The variables that let a job run under the daemon of this folder, with part of each of so many
/// GPUs and so much of their memory (zero for no limit).
pub fn environment(
    folder: &Path,
    share: Milli,
    gpus: u32,
    gpu_memory_mb: u32,
) -> BTreeMap<String, String> {
    let mut variables = folders(folder);
    // Part of a percent is no use to the driver, and nothing is not allowed.
    let percent = share.0.div_ceil(10).clamp(1, 100);
    variables.insert("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE".to_owned(), percent.to_string());
    if gpu_memory_mb > 0 {
        // GPUs are counted among those that the job sees.
        let each = (0..gpus).map(|gpu| format!("{gpu}={gpu_memory_mb}M"));
        let limits: Vec<String> = each.collect();
        variables.insert("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT".to_owned(), limits.join(","));
    }
    variables
}

/// Where a daemon and its clients meet, and where it writes.
fn folders(folder: &Path) -> BTreeMap<String, String> {
    let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
    BTreeMap::from([
        ("CUDA_MPS_PIPE_DIRECTORY".to_owned(), path("pipe")),
        ("CUDA_MPS_LOG_DIRECTORY".to_owned(), path("log")),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_parts_of_real_gpus_are_packed() {
        assert!(wanted(Milli(500), 1, false));
        assert!(!wanted(Milli::WHOLE, 1, false));
        assert!(!wanted(Milli(500), 1, true));
        assert!(!wanted(Milli(500), 0, false));
    }

    #[test]
    fn shares_become_percent_and_memory_a_limit_on_each_gpu() {
        let variables = environment(Path::new("/run/mps"), Milli(333), 2, 4096);
        assert_eq!(variables["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"], "34");
        assert_eq!(variables["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"], "0=4096M,1=4096M");
        assert_eq!(variables["CUDA_MPS_PIPE_DIRECTORY"], "/run/mps/pipe");
        let variables = environment(Path::new("/run/mps"), Milli(1), 1, 0);
        assert_eq!(variables["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"], "1");
        assert!(!variables.contains_key("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"));
    }
}
