//! The size of a terminal, which can only be set by an untyped call.

use nix::libc;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Tell a terminal, and who runs in it, how large its window is.
pub fn resize(terminal: BorrowedFd<'_>, rows: u16, columns: u16) -> io::Result<()> {
    let size = libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: TIOCSWINSZ reads one `winsize` through the pointer, which lives until the call
    // returns; the file descriptor is borrowed and so open.
    let code = unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) };
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
