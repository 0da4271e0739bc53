//! What can be looked at in a world from any thread, beside the loop that gives it orders: what a
//! job printed, and its terminal.

use heeler_model::JobId;
use std::io;
use std::os::unix::net::UnixStream;

/// A piece of what a job printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// Where the first byte stands, counted from the first that the job ever printed. It is later
    /// than what was asked for if older output was thrown away.
    pub from: u64,
    /// The bytes; none, if there are no more yet.
    pub bytes: Vec<u8>,
}

impl Piece {
    /// Where the next piece begins.
    pub fn next(&self) -> u64 {
        self.from + self.bytes.len() as u64
    }
}

/// The size of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Window {
    /// Its rows.
    pub rows: u16,
    /// Its columns.
    pub columns: u16,
}

/// What can be looked at in a world. Calls may read files, and do not wait for jobs.
pub trait Look: Send + Sync {
    /// What a job printed, in all its stretches: at most so many bytes from there on.
    fn output(&self, job: JobId, from: u64, most: usize) -> io::Result<Piece>;

    /// A stream to the terminal of a running job. What is read from it are the terminal's bytes,
    /// what was printed lately first; what is written to it are frames as [`frame`] and
    /// [`resized`] make them. It ends when the job does.
    fn terminal(&self, job: JobId, window: Window) -> io::Result<UnixStream>;
}

/// What is typed into a terminal, as it is sent: a zero byte, the length in four bytes (the
/// greatest first), and the bytes. At most 64 KiB at once.
pub fn frame(typed: &[u8]) -> Vec<u8> {
    framed(0, typed)
}

/// The news that a terminal has another size, as it is sent: a one byte, the length 4, and rows
/// and columns in two bytes each, the greatest first.
pub fn resized(window: Window) -> Vec<u8> {
    let (rows, columns) = (window.rows.to_be_bytes(), window.columns.to_be_bytes());
    framed(1, &[rows[0], rows[1], columns[0], columns[1]])
}

fn framed(kind: u8, bytes: &[u8]) -> Vec<u8> {
    let mut all = Vec::with_capacity(5 + bytes.len());
    all.push(kind);
    all.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    all.extend_from_slice(bytes);
    all
}

/// A world where nothing can be looked at.
pub(crate) struct Blind;

impl Look for Blind {
    fn output(&self, _: JobId, _: u64, _: usize) -> io::Result<Piece> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "this world keeps no output"))
    }

    fn terminal(&self, _: JobId, _: Window) -> io::Result<UnixStream> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "this world has no terminals"))
    }
}
