//! How this machine is set up as a world, and what can be wrong with that.

use std::path::PathBuf;

/// How this machine is set up as a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The folder that everything is kept in.
    pub state: PathBuf,
    /// GPUs to make up, such as `8xA100`; those that the machine has, if not said.
    pub emulate: Option<String>,
    /// The program that shepherds are started from.
    pub program: PathBuf,
    /// What that program is told first, so that it calls [`crate::shepherd`] with the rest.
    pub arguments: Vec<String>,
    /// Shepherds that are kept ready, so that a job need not wait for one to start.
    pub ready: usize,
    /// Bytes of output after which a new file is begun.
    pub log_bytes: u64,
    /// Full files of output that are kept of a stretch, beside the one being written.
    pub log_files: u32,
    /// Seconds that the output of jobs that are over is kept.
    pub keep_s: u64,
    /// Milliseconds at least between two reports of one job that are passed on.
    pub report_ms: u64,
    /// Whether jobs are put in control groups where that is permitted.
    pub cgroups: bool,
}

impl Setup {
    /// The usual: this very program with `shepherd`, its state in that folder.
    pub fn new(state: impl Into<PathBuf>) -> Setup {
        Setup {
            state: state.into(),
            emulate: None,
            // Not by its path, where another version may lie by the time it is needed.
            program: PathBuf::from("/proc/self/exe"),
            arguments: vec!["shepherd".into()],
            ready: 4,
            log_bytes: 64 << 20,
            log_files: 4,
            keep_s: 30 * 24 * 3600,
            report_ms: 1000,
            cgroups: true,
        }
    }
}

/// What can be wrong with a world on this machine.
#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    /// The made-up GPUs make no sense.
    #[error("--emulate {text}: {message}; try 8xA100, 2x8xA100 or 4x8xH100,2x4xT4")]
    Emulate {
        /// What was said.
        text: String,
        /// What is wrong with it.
        message: String,
    },
    /// There are GPUs, and the driver does not answer.
    #[error(
        "this machine has NVIDIA GPUs, but their driver does not answer ({message}); try \
         nvidia-smi, or give --emulate 8xA100 for GPUs that are made up"
    )]
    NoDriver {
        /// What it said.
        message: String,
    },
    /// The folder cannot be used.
    #[error("{path}: {source}; give a folder that can be written to")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// Sockets cannot have such long paths.
    #[error(
        "{path}: the path has {length} letters, and sockets below it can only be made \
         below one of {most}; give a folder with a shorter path"
    )]
    TooLong {
        /// The folder.
        path: PathBuf,
        /// Its length.
        length: usize,
        /// The most it may have.
        most: usize,
    },
}
