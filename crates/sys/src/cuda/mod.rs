//! The driver's checkpoint calls, from libcuda loaded at run time: what a machine without an
//! NVIDIA driver lacks is an error here, not a failure to start. The calls act on *other*
//! processes, named by their number, and need no context of their own.

mod raw;

use raw::{CheckpointArgs, LockArgs, RestoreArgs, Table, UnlockArgs};
use std::ffi::CStr;
use thiserror::Error;

/// The first driver with the calls (CUDA 12.8), as `cuDriverGetVersion` writes it.
pub const FIRST_VERSION: i32 = 12_080;
/// The first driver that restores to other GPUs (CUDA 13.0).
pub const FIRST_VERSION_THAT_MOVES: i32 = 13_000;

/// Why the driver did not do what it was asked.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CudaError {
    /// There is none.
    #[error("no NVIDIA driver: {message}")]
    NoDriver {
        /// What the loader said.
        message: String,
    },
    /// It is too old.
    #[error("the NVIDIA driver has no {name}; drivers since 570 (CUDA 12.8) have it")]
    NoCall {
        /// The function that is missing.
        name: String,
    },
    /// It said no.
    #[error("{call} of process {pid} failed: {name} ({code})")]
    Refused {
        /// The function.
        call: &'static str,
        /// The process it was about; zero for none.
        pid: i32,
        /// The error's number.
        code: i32,
        /// The error's name.
        name: String,
    },
    /// It cannot restore to other GPUs.
    #[error("this driver (CUDA {version}) cannot restore to another GPU; CUDA 13.0 can")]
    CannotMove {
        /// Its version.
        version: i32,
    },
    /// A name of a GPU that is none.
    #[error("{text:?} is no GPU's name; expected GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx")]
    NoUuid {
        /// What was given.
        text: String,
    },
}

/// What the driver says of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It may call the driver.
    Running,
    /// Its calls block.
    Locked,
    /// Its memory is off the GPU.
    Checkpointed,
    /// It is broken for good.
    Failed,
    /// Something newer drivers say.
    Other(i32),
}

/// The name of a GPU, as the driver has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Uuid(pub [u8; 16]);

impl std::str::FromStr for Uuid {
    type Err = CudaError;

    fn from_str(text: &str) -> Result<Uuid, CudaError> {
        let wrong = || CudaError::NoUuid { text: text.to_owned() };
        let digits: String =
            text.trim_start_matches("GPU-").chars().filter(|c| *c != '-').collect();
        if digits.len() != 32 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        let mut bytes = [0; 16];
        for (place, byte) in bytes.iter_mut().enumerate() {
            let pair = &digits[2 * place..2 * place + 2];
            *byte = u8::from_str_radix(pair, 16).map_err(|_| wrong())?;
        }
        Ok(Uuid(bytes))
    }
}

/// A GPU's memory goes to another GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Move {
    /// Where it was.
    pub old: Uuid,
    /// Where it goes.
    pub new: Uuid,
}

/// The driver, loaded.
pub struct Cuda {
    table: Table,
    version: i32,
}

impl std::fmt::Debug for Cuda {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cuda").field("version", &self.version).finish_non_exhaustive()
    }
}

impl Cuda {
    /// Load the driver and get it ready. It stays loaded as long as this process lives, since it
    /// has threads of its own.
    pub fn load() -> Result<Cuda, CudaError> {
        let mut cuda = Cuda { table: Table::load("libcuda.so.1")?, version: 0 };
        // SAFETY: cuInit takes flags only, and zero is the one value there is.
        let code = unsafe { (cuda.table.init)(0) };
        cuda.judge("cuInit", 0, code)?;
        // SAFETY: the pointer is to an integer that lives through the call.
        let code = unsafe { (cuda.table.version)(&raw mut cuda.version) };
        cuda.judge("cuDriverGetVersion", 0, code)?;
        Ok(cuda)
    }

    /// The newest CUDA the driver speaks: 12080 for 12.8.
    pub fn version(&self) -> i32 {
        self.version
    }

    /// Whether it can restore to other GPUs.
    pub fn moves(&self) -> bool {
        self.version >= FIRST_VERSION_THAT_MOVES
    }

    /// What state a process is in; an error if it does not use CUDA.
    pub fn state(&self, pid: i32) -> Result<State, CudaError> {
        let mut state = 0;
        // SAFETY: the pointer is to an integer that lives through the call.
        let code = unsafe { (self.table.state)(pid, &raw mut state) };
        self.judge("cuCheckpointProcessGetState", pid, code)?;
        Ok(match state {
            0 => State::Running,
            1 => State::Locked,
            2 => State::Checkpointed,
            3 => State::Failed,
            other => State::Other(other),
        })
    }

    /// Make a process's driver calls block once those under way are done, waiting that long at
    /// most; zero waits for ever.
    pub fn lock(&self, pid: i32, timeout_ms: u32) -> Result<(), CudaError> {
        let mut args = LockArgs::within(timeout_ms);
        // SAFETY: the pointer is to a value of the layout that the driver expects, with what is
        // reserved set to zero, which lives through the call.
        let code = unsafe { (self.table.lock)(pid, &raw mut args) };
        self.judge("cuCheckpointProcessLock", pid, code)
    }

    /// Move the memory of a locked process to the host and let go of its GPUs.
    pub fn checkpoint(&self, pid: i32) -> Result<(), CudaError> {
        let mut args = CheckpointArgs::default();
        // SAFETY: as for the lock.
        let code = unsafe { (self.table.checkpoint)(pid, &raw mut args) };
        self.judge("cuCheckpointProcessCheckpoint", pid, code)
    }

    /// Put the memory of a checkpointed process back, onto the same GPUs if no moves are given;
    /// else every GPU it had must be among them. It is locked afterwards.
    pub fn restore(&self, pid: i32, moves: &[Move]) -> Result<(), CudaError> {
        if !moves.is_empty() && !self.moves() {
            return Err(CudaError::CannotMove { version: self.version });
        }
        let mut moves = moves.to_vec();
        let mut args = RestoreArgs::to(&mut moves);
        // SAFETY: as for the lock; besides, the pairs are `count` in number and live, owned by
        // `moves`, until after the call.
        let code = unsafe { (self.table.restore)(pid, &raw mut args) };
        self.judge("cuCheckpointProcessRestore", pid, code)
    }

    /// Let a locked process call the driver again.
    pub fn unlock(&self, pid: i32) -> Result<(), CudaError> {
        let mut args = UnlockArgs::default();
        // SAFETY: as for the lock.
        let code = unsafe { (self.table.unlock)(pid, &raw mut args) };
        self.judge("cuCheckpointProcessUnlock", pid, code)
    }

    /// The thread of a checkpointed process that its restoring needs to run.
    pub fn restore_thread(&self, pid: i32) -> Result<i32, CudaError> {
        let mut thread = 0;
        // SAFETY: the pointer is to an integer that lives through the call.
        let code = unsafe { (self.table.restore_thread)(pid, &raw mut thread) };
        self.judge("cuCheckpointProcessGetRestoreThreadId", pid, code)?;
        Ok(thread)
    }

    fn judge(&self, call: &'static str, pid: i32, code: i32) -> Result<(), CudaError> {
        if code == 0 {
            return Ok(());
        }
        Err(CudaError::Refused { call, pid, code, name: self.name(code) })
    }

    fn name(&self, code: i32) -> String {
        let mut text = std::ptr::null();
        // SAFETY: the driver writes a pointer to a string of its own, or null, into a variable
        // that lives through the call.
        let known = unsafe { (self.table.error_name)(code, &raw mut text) } == 0;
        if !known || text.is_null() {
            return "an error without a name".to_owned();
        }
        // SAFETY: it is not null, and the driver's strings end with zero and are never freed.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_gpus_are_read_and_others_refused() {
        let uuid: Uuid = "GPU-0001020f-1011-12ff-1415-161718191a1b".parse().expect("a name");
        assert_eq!(uuid.0[..4], [0, 1, 2, 15]);
        assert_eq!(uuid.0[15], 0x1b);
        for wrong in ["", "GPU-", "GPU-0001020f-1011-12ff-1415-161718191a1", "GPU-zz", "MIG-é"] {
            assert!(wrong.parse::<Uuid>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_machine_without_a_driver_says_so() {
        match Cuda::load() {
            Ok(cuda) => assert!(cuda.version() >= FIRST_VERSION),
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("NVIDIA driver") || text.contains("cuInit"), "{text}");
            }
        }
    }

    #[test]
    fn a_library_without_the_calls_is_too_old() {
        let error = Table::load("libc.so.6").err().expect("libc has no CUDA");
        assert_eq!(error, CudaError::NoCall { name: "cuInit".into() });
    }
}
