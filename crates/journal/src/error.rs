//! What can go wrong with a journal, in words that say what to do about it.

use std::io;
use std::path::PathBuf;

/// Why the journal could not do something.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Another process has it.
    #[error(
        "{} is in use by another server; stop that one, or give this one another state folder",
        folder.display()
    )]
    Busy {
        /// The folder.
        folder: PathBuf,
    },
    /// It was written by a newer program.
    #[error(
        "{file} has format version {version}, and this program knows versions up to {known}; \
         start the newer program that wrote it, or a newer one than this"
    )]
    Newer {
        /// The file.
        file: String,
        /// Its version.
        version: u32,
        /// The newest version that is known here.
        known: u32,
    },
    /// Something that was once safely written is not what it was.
    #[error("{file} is damaged at byte {byte}: {what}; {remedy}")]
    Corrupt {
        /// The file.
        file: String,
        /// Where in it.
        byte: u64,
        /// What is wrong.
        what: String,
        /// What to do.
        remedy: String,
    },
    /// There is no room. Nothing was stored, and the journal can be used as soon as there is room.
    #[error("the disk of the journal is full; nothing was stored, free some space and try again")]
    Full,
    /// The disk failed, and would not even let the half-written group be taken back. Nothing else
    /// is stored before it is; should the machine lose power until then, it may turn out to be
    /// there.
    #[error(
        "{file} could not be written ({failure}) nor cut back ({source}); \
         what was asked for may or may not have been stored, look at the disk"
    )]
    Unsure {
        /// The file.
        file: String,
        /// What failed first.
        failure: String,
        /// What failed then.
        source: io::Error,
    },
    /// A record that is longer than any may be.
    #[error("a record of {bytes} bytes is longer than the {limit} that one may have")]
    TooLong {
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        limit: usize,
    },
    /// A snapshot of records that are not safely stored.
    #[error("a snapshot up to record {upto} was handed in, but only {stored} are stored")]
    Ahead {
        /// The last record in the snapshot.
        upto: u64,
        /// The last record that is stored.
        stored: u64,
    },
    /// The disk failed. Nothing was stored.
    #[error("cannot {doing} {file}: {source}")]
    Io {
        /// What was tried.
        doing: &'static str,
        /// With which file.
        file: String,
        /// What came of it.
        source: io::Error,
    },
}

impl JournalError {
    /// The error for something that was tried with a file; a lack of room has its own.
    pub(crate) fn io(doing: &'static str, file: &str, source: io::Error) -> Self {
        let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
        if full.contains(&source.kind()) {
            return JournalError::Full;
        }
        JournalError::Io { doing, file: file.to_owned(), source }
    }

    /// The error for something that is not as it was written.
    pub(crate) fn corrupt(file: &str, byte: usize, what: impl Into<String>) -> Self {
        let remedy = "keep a copy of the whole folder, then restore the file from a backup; \
                      `heeler replay FOLDER` reads what comes before the damage, and with \
                      --write-trace keeps it";
        JournalError::Corrupt {
            file: file.to_owned(),
            byte: byte as u64,
            what: what.into(),
            remedy: remedy.to_owned(),
        }
    }
}
