//! Who serves a state folder: a lock on a file in it, which the kernel drops when its holder ends
//! and can name the holder of. So `heeler down` never signals a stranger.

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

const FILE: &str = "server.lock";

/// The lock, held until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

fn whole_file() -> libc::flock {
    libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    }
}

/// Take the lock of a state folder; nothing, if somebody else has it.
pub(crate) fn take(state: &Path) -> Result<Option<Lock>> {
    let path = state.join(FILE);
    let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
    let file = file.with_context(|| format!("{} cannot be opened", path.display()))?;
    match fcntl(&file, FcntlArg::F_SETLK(&whole_file())) {
        Ok(_) => Ok(Some(Lock { _file: file })),
        Err(Errno::EACCES | Errno::EAGAIN) => Ok(None),
        Err(error) => Err(error).with_context(|| format!("{} cannot be locked", path.display())),
    }
}

/// The process that has the lock of a state folder.
pub(crate) fn holder(state: &Path) -> Result<Option<i32>> {
    let path = state.join(FILE);
    let file = match OpenOptions::new().write(true).open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(error).with_context(|| format!("{} cannot be opened", path.display()));
        }
    };
    let mut lock = whole_file();
    fcntl(&file, FcntlArg::F_GETLK(&mut lock))?;
    let is_free = i32::from(lock.l_type) == libc::F_UNLCK;
    Ok((!is_free && lock.l_pid > 0).then_some(lock.l_pid))
}
