//! Opening: find what is there, cut what was never acknowledged, bring old formats up to date, and
//! make all of it durable before anybody acts on it.

use crate::disk::{Disk, DiskFile, write_all};
use crate::error::JournalError;
use crate::format::{Group, HEADER_BYTES, Header, segment_name};
use crate::journal::{Current, Journal, Opened, Settings};
use crate::read::{Index, Segment, Tail, read_snapshot};
use crate::snapshot;

/// Records of an old format are written anew in groups of about this size.
const UPGRADE_BYTES: usize = 1 << 20;

impl<D: Disk> Journal<D> {
    /// Open a journal, or begin one in an empty folder.
    pub fn open(disk: D, settings: Settings) -> Result<Opened<D>, JournalError> {
        let mut journal = Journal {
            disk,
            settings,
            snapshots: Vec::new(),
            segments: Vec::new(),
            current: None,
            group: Group::new(1),
            stored: 0,
            next: 1,
            sequence: 1,
            since_snapshot_bytes: 0,
        };
        let index = Index::of(&mut journal.disk)?;
        let mut notes = Vec::new();
        let (snapshot, mut old) = journal.newest(&index, &mut notes)?;
        let upto = snapshot.as_ref().map_or(0, |(upto, _)| *upto);
        let mut tail = index.tail(&mut journal.disk, upto)?;
        old |= tail.old;
        journal.segments = index.segments;
        journal.sequence = journal.segments.last().map_or(0, |last| last.sequence) + 1;
        for name in &index.unfinished {
            journal.remove(name)?;
        }
        journal.stored = upto.max(tail.next - 1);
        journal.next = journal.stored + 1;
        journal.group.reset(journal.next);
        let read = tail.records.iter().map(|(_, record)| record.len() as u64 + 24);
        journal.since_snapshot_bytes = read.sum();
        journal.settle(&tail, &mut notes)?;
        if old {
            journal.upgrade(&mut notes)?;
        }
        journal.sync_names()?;
        if journal.segments.is_empty() {
            journal.begin(journal.next)?;
        }
        let records = std::mem::take(&mut tail.records);
        Ok(Opened { journal, snapshot, records, notes })
    }

    /// The newest whole snapshot, and whether any is of an old format. Damaged ones are set aside.
    #[allow(clippy::type_complexity, reason = "named nowhere else")]
    fn newest(
        &mut self,
        index: &Index,
        notes: &mut Vec<String>,
    ) -> Result<(Option<(u64, Vec<u8>)>, bool), JournalError> {
        let (mut newest, mut old) = (None, false);
        for &upto in index.snapshots.iter().rev() {
            match read_snapshot(&mut self.disk, upto) {
                Ok((bytes, version)) => {
                    old |= version < crate::VERSION;
                    newest.get_or_insert((upto, bytes));
                    self.snapshots.insert(0, upto);
                }
                Err(error @ JournalError::Corrupt { .. }) => {
                    let name = snapshot::name(upto);
                    let aside = format!("{name}.damaged");
                    let moved = self.disk.rename(&name, &aside);
                    moved.map_err(|error| JournalError::io("rename", &name, error))?;
                    notes
                        .push(format!("{error}; it was set aside as {aside}, an older one serves"));
                }
                Err(error) => return Err(error),
            }
        }
        Ok((newest, old))
    }

    /// Go on with the last segment: cut what is torn, and make sure of the last group, which after
    /// a crash of the server alone may be in memory only. It is written again, for if a sync of it
    /// had failed, the system may take it for written when it is not.
    fn settle(&mut self, tail: &Tail, notes: &mut Vec<String>) -> Result<(), JournalError> {
        notes.extend(tail.torn_note());
        if tail.name.is_empty() {
            return Ok(());
        }
        let fault = |doing, error| JournalError::io(doing, &tail.name, error);
        let mut file = self.disk.open(&tail.name, false).map_err(|e| fault("open", e))?;
        let mut length = tail.length;
        if tail.torn > 0 {
            file.set_len(tail.end as u64).map_err(|error| fault("cut", error))?;
            length = tail.end;
        }
        if !tail.old {
            let (byte, group) = &tail.last;
            write_all(&mut file, *byte as u64, group).map_err(|error| fault("write", error))?;
        }
        file.sync().map_err(|error| fault("sync", error))?;
        let goes_on = !tail.old && tail.next == self.next;
        if goes_on {
            self.current = Some(Current {
                file,
                name: tail.name.clone(),
                salt: tail.salt,
                end: tail.end as u64,
                length: length as u64,
            });
        }
        Ok(())
    }

    /// Write everything that is of an old format in the present one. All records go into one
    /// segment that appears at once and voids the old ones, so it does not matter where this is
    /// interrupted.
    fn upgrade(&mut self, notes: &mut Vec<String>) -> Result<(), JournalError> {
        let index = Index::of(&mut self.disk)?;
        let oldest = self.snapshots.first().copied().unwrap_or(0);
        let newest = self.snapshots.last().copied().unwrap_or(0);
        let mut tail = None;
        let mut failure = None;
        for base in [0, oldest, newest] {
            match index.tail(&mut self.disk, base) {
                Ok(found) => {
                    tail = Some((base, found));
                    break;
                }
                Err(error) => failure = Some(error),
            }
        }
        let Some((base, tail)) = tail else {
            return Err(failure.expect("one of three was tried"));
        };
        for upto in self.snapshots.clone() {
            let (bytes, version) = read_snapshot(&mut self.disk, upto)?;
            if version < crate::VERSION {
                self.put(&snapshot::name(upto), &snapshot::write(upto, &bytes))?;
            }
        }
        if tail.old {
            self.rewrite(base + 1, &tail)?;
        }
        notes.push(format!("the journal was brought to format version {}", crate::VERSION));
        Ok(())
    }

    /// One new segment in place of all others.
    fn rewrite(&mut self, first: u64, tail: &Tail) -> Result<(), JournalError> {
        let header = Header { sequence: self.sequence, first, salt: self.disk.salt() };
        self.sequence += 1;
        let mut bytes = header.bytes();
        let mut group = Group::new(first);
        for (number, record) in &tail.records {
            group.push(record)?;
            if group.len() > UPGRADE_BYTES {
                bytes.extend_from_slice(group.seal(header.salt));
                group.reset(number + 1);
            }
        }
        if !group.is_empty() {
            bytes.extend_from_slice(group.seal(header.salt));
        }
        debug_assert!(bytes.len() >= HEADER_BYTES);
        let name = segment_name(header.sequence, first);
        let file = self.put(&name, &bytes)?;
        let before = std::mem::take(&mut self.segments);
        let (sequence, end) = (header.sequence, bytes.len() as u64);
        self.segments.push(Segment { sequence, first, name: name.clone() });
        self.current = Some(Current { file, name, salt: header.salt, end, length: end });
        for segment in before {
            self.remove(&segment.name)?;
        }
        Ok(())
    }

    fn remove(&mut self, name: &str) -> Result<(), JournalError> {
        self.disk.remove(name).map_err(|error| JournalError::io("remove", name, error))
    }

    fn sync_names(&mut self) -> Result<(), JournalError> {
        self.disk.sync_names().map_err(|error| JournalError::io("sync", "the journal", error))
    }
}
