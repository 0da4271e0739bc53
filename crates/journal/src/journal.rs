//! Writing: records are taken up, written as one group, synced, and cut off again if that fails.

use crate::disk::{Disk, DiskFile, write_all};
use crate::error::JournalError;
use crate::format::{Group, HEADER_BYTES, Header, segment_name};
use crate::read::Segment;
use crate::snapshot;
use std::io;

/// How a journal is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// A segment that is longer gets no more groups.
    pub segment_bytes: u64,
    /// How far ahead a segment is filled with zeros, so that syncing a group has only its own
    /// bytes to write and not the file's length as well.
    pub ahead_bytes: u64,
    /// Whether segments stay when snapshots would let them go, so that the whole history can be
    /// replayed.
    pub keep_all: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { segment_bytes: 16 << 20, ahead_bytes: 1 << 20, keep_all: false }
    }
}

/// A journal that was opened, and what it holds.
#[derive(Debug)]
pub struct Opened<D: Disk> {
    /// The journal, ready for more.
    pub journal: Journal<D>,
    /// The newest whole snapshot and the last record that is in it.
    pub snapshot: Option<(u64, Vec<u8>)>,
    /// The records after it, with their numbers.
    pub records: Vec<(u64, Vec<u8>)>,
    /// What a person should know: what was cut, set aside or upgraded.
    pub notes: Vec<String>,
}

/// A journal.
#[derive(Debug)]
pub struct Journal<D: Disk> {
    pub(crate) disk: D,
    pub(crate) settings: Settings,
    /// Whole snapshots, oldest first.
    pub(crate) snapshots: Vec<u64>,
    /// Segments in their order; the last may be the one that is written.
    pub(crate) segments: Vec<Segment>,
    /// The segment that is written; none, if the next group begins another.
    pub(crate) current: Option<Current<D::File>>,
    /// What was taken up and is not written.
    pub(crate) group: Group,
    /// The last record that is safe.
    pub(crate) stored: u64,
    /// The next record's number.
    pub(crate) next: u64,
    /// The next segment's place. None is used twice, not even one whose making failed.
    pub(crate) sequence: u64,
    pub(crate) since_snapshot_bytes: u64,
}

/// The segment that is written.
#[derive(Debug)]
pub(crate) struct Current<F> {
    pub(crate) file: F,
    pub(crate) name: String,
    pub(crate) salt: u64,
    /// Where the next group goes.
    pub(crate) end: u64,
    /// How long the file is; beyond the end there are zeros.
    pub(crate) length: u64,
}

impl<D: Disk> Journal<D> {
    /// Take up a record; gives its number. It is not written before [`Journal::sync`].
    pub fn append(&mut self, payload: &[u8]) -> Result<u64, JournalError> {
        self.group.push(payload)?;
        self.next += 1;
        Ok(self.next - 1)
    }

    /// Make durable whatever was taken up. If that fails, all of it is gone, and its numbers are
    /// given again; the journal can be used on.
    pub fn sync(&mut self) -> Result<(), JournalError> {
        if self.group.is_empty() {
            return Ok(());
        }
        let written = self.write();
        match &written {
            Ok(bytes) => {
                self.stored = self.next - 1;
                self.since_snapshot_bytes += bytes;
            }
            Err(_) => self.next = self.stored + 1,
        }
        self.group.reset(self.next);
        written.map(|_| ())
    }

    /// Store the state after record `upto` durably; what came long before it may go. The two
    /// newest snapshots stay, with all records after the older: should one be damaged, nothing is
    /// lost.
    pub fn snapshot(&mut self, upto: u64, bytes: &[u8]) -> Result<(), JournalError> {
        if upto > self.stored {
            return Err(JournalError::Ahead { upto, stored: self.stored });
        }
        self.put(&snapshot::name(upto), &snapshot::write(upto, bytes))?;
        self.snapshots.retain(|&older| older < upto);
        self.snapshots.push(upto);
        self.since_snapshot_bytes = 0;
        self.compact();
        Ok(())
    }

    /// The number that the next record gets.
    pub fn next_number(&self) -> u64 {
        self.next
    }

    /// How much was stored since the last snapshot.
    pub fn bytes_since_snapshot(&self) -> u64 {
        self.since_snapshot_bytes
    }

    /// The settings it is kept by.
    pub fn settings(&self) -> Settings {
        self.settings
    }

    /// Write the group and sync it, or cut it off again. Gives how long it is.
    fn write(&mut self) -> Result<u64, JournalError> {
        let long = self.group.len() as u64;
        let limit = self.settings.segment_bytes;
        let full = |it: &Current<_>| it.end > HEADER_BYTES as u64 && it.end + long > limit;
        if self.current.as_ref().is_none_or(full) {
            self.current = None;
            self.begin(self.stored + 1)?;
        }
        let current = self.current.as_mut().expect("a segment was begun");
        let bytes = self.group.seal(current.salt);
        let end = current.end + long;
        let mut length = current.length;
        if end > length {
            length = ahead(end, &self.settings);
            bytes.resize((length - current.end) as usize, 0);
        }
        let mut synced = false;
        let outcome = write_all(&mut current.file, current.end, bytes).and_then(|()| {
            synced = true;
            current.file.sync()
        });
        match outcome {
            Ok(()) => {
                (current.end, current.length) = (end, length);
                Ok(long)
            }
            Err(failure) => Err(self.cut(failure, synced)),
        }
    }

    /// Take back what was written of a group. After a failed sync nobody knows what the system
    /// still holds of the file, so it gets no more groups; the next segment says that it goes on
    /// where this one was good, which voids whatever may be left.
    fn cut(&mut self, failure: io::Error, synced: bool) -> JournalError {
        let Some(mut current) = self.current.take() else {
            return JournalError::io("write", "the journal", failure);
        };
        let name = current.name.clone();
        let cut = current.file.set_len(current.end).and_then(|()| current.file.sync());
        match cut {
            Ok(()) => {
                current.length = current.end;
                if !synced {
                    self.current = Some(current);
                }
                JournalError::io(if synced { "sync" } else { "write" }, &name, failure)
            }
            Err(source) => {
                JournalError::Unsure { file: name, failure: failure.to_string(), source }
            }
        }
    }

    /// Begin a segment with record `first`.
    pub(crate) fn begin(&mut self, first: u64) -> Result<(), JournalError> {
        let sequence = self.sequence;
        self.sequence += 1;
        let header = Header { sequence, first, salt: self.disk.salt() };
        let mut bytes = header.bytes();
        bytes.resize(ahead(HEADER_BYTES as u64, &self.settings) as usize, 0);
        let name = segment_name(sequence, first);
        let file = self.put(&name, &bytes)?;
        self.current = Some(Current {
            file,
            name: name.clone(),
            salt: header.salt,
            end: HEADER_BYTES as u64,
            length: bytes.len() as u64,
        });
        self.segments.push(Segment { sequence, first, name });
        Ok(())
    }

    /// Write a whole file durably, or leave none of that name that was not there before.
    pub(crate) fn put(&mut self, name: &str, bytes: &[u8]) -> Result<D::File, JournalError> {
        let temporary = format!("{name}.tmp");
        let mut write = || {
            let mut file = self.disk.open(&temporary, true)?;
            write_all(&mut file, 0, bytes)?;
            file.sync()?;
            self.disk.rename(&temporary, name)?;
            self.disk.sync_names()?;
            Ok(file)
        };
        write().map_err(|error: io::Error| {
            // If this fails, too, the file is removed when the journal is next opened.
            let _ = self.disk.remove(&temporary);
            JournalError::io("write", name, error)
        })
    }

    /// Let go what is not needed even if the newest snapshot should be damaged. A file that cannot
    /// be removed is tried again the next time.
    fn compact(&mut self) {
        let spare = self.snapshots.len().saturating_sub(2);
        let disk = &mut self.disk;
        let mut gone = self.snapshots.iter().take(spare);
        let gone = gone.by_ref().take_while(|&&upto| disk.remove(&snapshot::name(upto)).is_ok());
        let gone = gone.count();
        self.snapshots.drain(..gone);
        let older = self.snapshots.len().checked_sub(2).map_or(0, |place| self.snapshots[place]);
        if self.settings.keep_all {
            return;
        }
        while self.segments.get(1).is_some_and(|second| second.first <= older + 1)
            && self.disk.remove(&self.segments[0].name).is_ok()
        {
            self.segments.remove(0);
        }
    }
}

/// How long to make a segment that has to hold so many bytes.
fn ahead(bytes: u64, settings: &Settings) -> u64 {
    let step = settings.ahead_bytes.max(1);
    bytes.next_multiple_of(step).min(settings.segment_bytes).max(bytes)
}
