//! A job's terminal, and those who look at it and type into it.

use super::log::Viewers;
use heeler_backend::Window;
use heeler_sys::terminal::resize;
use nix::pty::openpty;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::PoisonError;
use std::time::Duration;

/// What somebody who comes later is shown of what was printed before.
const SHOWN: u64 = 64 << 10;
/// How long somebody who does not read may hold up the others.
const STALLED: Duration = Duration::from_secs(2);

/// The outer side of a terminal.
pub(super) struct Terminal(File);

impl Terminal {
    /// Open one, with its inner side.
    pub(super) fn open() -> io::Result<(Terminal, OwnedFd)> {
        let pair = openpty(None, None)?;
        resize(pair.master.as_fd(), 24, 80)?;
        Ok((Terminal(pair.master.into()), pair.slave))
    }

    /// What comes out of it.
    pub(super) fn reader(&self) -> io::Result<File> {
        self.0.try_clone()
    }

    /// Another handle for somebody who types.
    pub(super) fn another(&self) -> io::Result<Terminal> {
        self.0.try_clone().map(Terminal)
    }
}

/// Let somebody look at a terminal and type, until they go.
pub(super) fn attend(
    mut terminal: Terminal,
    mut stream: impl Read,
    viewer: &UnixStream,
    window: Window,
    log: &Path,
    viewers: &Viewers,
) -> io::Result<()> {
    resize(terminal.0.as_fd(), window.rows, window.columns)?;
    viewer.set_write_timeout(Some(STALLED))?;
    {
        // Nothing is printed while this lock is held, so nothing is shown twice or left out.
        let mut viewers = viewers.lock().unwrap_or_else(PoisonError::into_inner);
        let mut shown = viewer.try_clone()?;
        shown.write_all(&latest(log).unwrap_or_default())?;
        viewers.push(shown);
    }
    loop {
        let mut head = [0; 5];
        stream.read_exact(&mut head)?;
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        if length > 64 << 10 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame that is too long"));
        }
        let mut bytes = vec![0; length];
        stream.read_exact(&mut bytes)?;
        match (head[0], bytes.as_slice()) {
            (0, typed) => terminal.0.write_all(typed)?,
            (1, [a, b, c, d]) => {
                let (rows, columns) = (u16::from_be_bytes([*a, *b]), u16::from_be_bytes([*c, *d]));
                resize(terminal.0.as_fd(), rows, columns)?;
            }
            _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "an unknown frame")),
        }
    }
}

/// The latest of what was printed.
fn latest(log: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(SHOWN)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}
