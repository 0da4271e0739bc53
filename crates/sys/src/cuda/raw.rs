//! The driver's functions and the layouts of what they take. All argument structures are 64 bytes;
//! what a driver does not know yet is reserved and has to be zero.

use super::{CudaError, Move};
use libloading::Library;
use std::ffi::{c_char, c_int, c_uint};

#[derive(Default)]
#[repr(C)]
pub(super) struct LockArgs {
    timeout_ms: c_uint,
    reserved0: c_uint,
    reserved1: [u64; 7],
}

impl LockArgs {
    pub(super) fn within(timeout_ms: c_uint) -> LockArgs {
        LockArgs { timeout_ms, ..LockArgs::default() }
    }
}

#[derive(Default)]
#[repr(C)]
pub(super) struct CheckpointArgs {
    reserved: [u64; 8],
}

#[repr(C)]
pub(super) struct RestoreArgs {
    pairs: *mut Move,
    count: c_uint,
    reserved0: c_uint,
    reserved1: [u64; 6],
}

impl RestoreArgs {
    /// Borrows the pairs by address: they have to live as long as this is used.
    pub(super) fn to(moves: &mut [Move]) -> RestoreArgs {
        let none = moves.is_empty();
        let pairs = if none { std::ptr::null_mut() } else { moves.as_mut_ptr() };
        let count = c_uint::try_from(moves.len()).expect("a machine has few GPUs");
        RestoreArgs { pairs, count, reserved0: 0, reserved1: [0; 6] }
    }
}

#[derive(Default)]
#[repr(C)]
pub(super) struct UnlockArgs {
    reserved: [u64; 8],
}

// The driver reads as many bytes as its own header says.
const _: () = {
    assert!(size_of::<LockArgs>() == 64);
    assert!(size_of::<CheckpointArgs>() == 64);
    assert!(size_of::<RestoreArgs>() == 64);
    assert!(size_of::<UnlockArgs>() == 64);
    assert!(size_of::<Move>() == 32);
};

type OnProcess<A> = unsafe extern "C" fn(c_int, *mut A) -> c_int;

/// The functions, by their addresses.
pub(super) struct Table {
    pub(super) init: unsafe extern "C" fn(c_uint) -> c_int,
    pub(super) version: unsafe extern "C" fn(*mut c_int) -> c_int,
    pub(super) error_name: unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int,
    pub(super) state: OnProcess<c_int>,
    pub(super) lock: OnProcess<LockArgs>,
    pub(super) checkpoint: OnProcess<CheckpointArgs>,
    pub(super) restore: OnProcess<RestoreArgs>,
    pub(super) unlock: OnProcess<UnlockArgs>,
    pub(super) restore_thread: OnProcess<c_int>,
}

impl Table {
    pub(super) fn load(library: &str) -> Result<Table, CudaError> {
        // SAFETY: loading runs the library's initialisers; it is the system's own driver, found
        // where the system looks for libraries, and nothing of it is ever unloaded.
        let opened = unsafe { Library::new(library) };
        let library = opened.map_err(|error| {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            CudaError::NoDriver { message: cause.unwrap_or_else(|| error.to_string()) }
        })?;
        // Never closed: the driver's threads may run as long as the process does.
        let library: &'static Library = Box::leak(Box::new(library));
        // SAFETY: each type is that of the function of this name in the driver's header.
        unsafe {
            Ok(Table {
                init: find(library, "cuInit")?,
                version: find(library, "cuDriverGetVersion")?,
                error_name: find(library, "cuGetErrorName")?,
                state: find(library, "cuCheckpointProcessGetState")?,
                lock: find(library, "cuCheckpointProcessLock")?,
                checkpoint: find(library, "cuCheckpointProcessCheckpoint")?,
                restore: find(library, "cuCheckpointProcessRestore")?,
                unlock: find(library, "cuCheckpointProcessUnlock")?,
                restore_thread: find(library, "cuCheckpointProcessGetRestoreThreadId")?,
            })
        }
    }
}

/// The address of a function.
///
/// # Safety
///
/// `F` must be the type of the function that the library has under this name.
unsafe fn find<F: Copy>(library: &'static Library, name: &str) -> Result<F, CudaError> {
    // SAFETY: as promised by the caller.
    let symbol = unsafe { library.get::<F>(name) };
    symbol.map(|symbol| *symbol).map_err(|_| CudaError::NoCall { name: name.to_owned() })
}
