//! Finding what a journal holds: the snapshot to begin with and the records after it. Nothing is
//! changed here; what should be is said, and `open` does it.

use crate::disk::{Disk, DiskFile};
use crate::error::JournalError;
use crate::folder::Folder;
use crate::format::{self, Header, MAGIC, Scan, VERSION, segment_of};
use crate::{old, snapshot};
use std::path::Path;

/// What a journal holds.
#[derive(Debug, Default)]
pub struct Contents {
    /// The state to begin with, and the last record that is in it; none, if the records begin at
    /// 1.
    pub snapshot: Option<(u64, Vec<u8>)>,
    /// The records after it, with their numbers.
    pub records: Vec<(u64, Vec<u8>)>,
    /// What a person should know.
    pub notes: Vec<String>,
}

/// Read a journal from as far back as it goes, without changing anything. A server may go on
/// writing to it meanwhile.
pub fn read_all(path: &Path) -> Result<Contents, JournalError> {
    read_from(&mut Folder::look(path)?)
}

/// Read what is left of a journal: all of it, or what comes before something that is damaged, with
/// a note that says so. Changes nothing.
pub fn read_left(path: &Path) -> Result<Contents, JournalError> {
    read_left_of(&mut Folder::look(path)?)
}

/// Read what is left of a journal on any disk.
pub fn read_left_of<D: Disk>(disk: &mut D) -> Result<Contents, JournalError> {
    let damage = match read_from(disk) {
        Err(error @ JournalError::Corrupt { .. }) => error,
        read => return read,
    };
    let index = Index::of(disk)?;
    let mut furthest: Option<Contents> = None;
    for base in std::iter::once(0).chain(index.snapshots.iter().copied()) {
        let snapshot = match base {
            0 => None,
            upto => match read_snapshot(disk, upto) {
                Ok((bytes, _)) => Some((upto, bytes)),
                Err(_) => continue,
            },
        };
        let records = index.as_far_as_whole(disk, base).0.records;
        let found = Contents { snapshot, records, notes: Vec::new() };
        // Of two that come as far, the one that goes further back tells more.
        let further = furthest.as_ref().is_none_or(|other| other.last() < found.last());
        if found.last() > 0 && further {
            furthest = Some(found);
        }
    }
    let Some(mut left) = furthest else { return Err(damage) };
    let last = left.last();
    left.notes.push(format!("THE JOURNAL IS DAMAGED; this is what was up to record {last}"));
    left.notes.push(damage.to_string());
    Ok(left)
}

/// Read a journal on any disk from as far back as it goes, without changing anything.
pub fn read_from<D: Disk>(disk: &mut D) -> Result<Contents, JournalError> {
    let index = Index::of(disk)?;
    let mut notes = Vec::new();
    let mut failure = None;
    let mut bases: Vec<u64> = index.snapshots.clone();
    bases.insert(0, 0);
    for base in bases {
        let snapshot = match base {
            0 => None,
            upto => match read_snapshot(disk, upto) {
                Ok((bytes, _)) => Some((upto, bytes)),
                Err(error) => {
                    notes.push(error.to_string());
                    failure.get_or_insert(error);
                    continue;
                }
            },
        };
        match index.tail(disk, base) {
            Ok(tail) => {
                notes.extend(tail.torn_note());
                return Ok(Contents { snapshot, records: tail.records, notes });
            }
            Err(error) => failure = Some(error),
        }
    }
    Err(failure.unwrap_or_else(|| JournalError::corrupt("the journal", 0, "it has no beginning")))
}

impl Contents {
    /// The number of the last record that is in it.
    fn last(&self) -> u64 {
        let base = self.snapshot.as_ref().map_or(0, |(upto, _)| *upto);
        self.records.last().map_or(base, |(number, _)| *number)
    }
}

/// The files of a journal.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// The last record in each snapshot, oldest first.
    pub(crate) snapshots: Vec<u64>,
    /// The segments in their order.
    pub(crate) segments: Vec<Segment>,
    /// Files that were not finished.
    pub(crate) unfinished: Vec<String>,
}

/// A segment by its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Segment {
    pub(crate) sequence: u64,
    pub(crate) first: u64,
    pub(crate) name: String,
}

/// The records after some point, and how the last segment ends.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    pub(crate) records: Vec<(u64, Vec<u8>)>,
    /// The number that would come next in the last segment.
    pub(crate) next: u64,
    /// Where in the last segment it would come.
    pub(crate) end: usize,
    /// Bytes there that never became a group.
    pub(crate) torn: usize,
    /// How long the last segment is.
    pub(crate) length: usize,
    /// The last whole group in it, and where it begins.
    pub(crate) last: (usize, Vec<u8>),
    /// The salt of the last segment.
    pub(crate) salt: u64,
    /// The last segment's name.
    pub(crate) name: String,
    /// Whether any segment is of an older version.
    pub(crate) old: bool,
}

impl Tail {
    /// What a person should know of how it ends.
    pub(crate) fn torn_note(&self) -> Option<String> {
        let (name, end, torn) = (&self.name, self.end, self.torn);
        let note = format!(
            "{name}: {torn} bytes from byte {end} on were never wholly written and were left out; \
             nothing in them had been acknowledged"
        );
        (torn > 0).then_some(note)
    }
}

impl Index {
    pub(crate) fn of<D: Disk>(disk: &mut D) -> Result<Index, JournalError> {
        let names = disk.list().map_err(|error| JournalError::io("list", "the journal", error))?;
        let mut index = Index::default();
        for name in names {
            if name.ends_with(".tmp") {
                index.unfinished.push(name);
            } else if let Some(upto) = snapshot::upto_of(&name) {
                index.snapshots.push(upto);
            } else if let Some((sequence, first)) = segment_of(&name) {
                index.segments.push(Segment { sequence, first, name });
            }
        }
        index.snapshots.sort_unstable();
        index.segments.sort();
        Ok(index)
    }

    /// The records after `upto`.
    pub(crate) fn tail<D: Disk>(&self, disk: &mut D, upto: u64) -> Result<Tail, JournalError> {
        match self.as_far_as_whole(disk, upto) {
            (tail, None) => Ok(tail),
            (_, Some(damage)) => Err(damage),
        }
    }

    /// The records after `upto` up to the first that is damaged, and what is wrong there.
    fn as_far_as_whole<D: Disk>(&self, disk: &mut D, upto: u64) -> (Tail, Option<JournalError>) {
        let mut tail = Tail { next: upto.saturating_add(1), ..Tail::default() };
        let Some(start) = self.segments.iter().rposition(|it| it.first <= upto.saturating_add(1))
        else {
            let wanted = upto.saturating_add(1);
            let first = self.segments.first();
            return (tail, first.map(|first| missing(&first.name, wanted, first.first)));
        };
        for (place, segment) in self.segments.iter().enumerate().skip(start) {
            let (bytes, scan) = match read_segment(disk, segment, &mut tail) {
                Ok(read) => read,
                Err(damage) => return (tail, Some(damage)),
            };
            let void = self.segments.get(place + 1).map_or(u64::MAX, |later| later.first);
            let damage = damage(&segment.name, &scan, void);
            tail.last = (scan.last, bytes[scan.last..scan.end].to_vec());
            for (number, range) in scan.records {
                if number > upto && number < void {
                    tail.records.push((number, bytes[range].to_vec()));
                }
            }
            (tail.next, tail.end, tail.torn) = (scan.next, scan.end, scan.torn);
            (tail.length, tail.name) = (bytes.len(), segment.name.clone());
            if damage.is_some() {
                return (tail, damage);
            }
        }
        (tail, None)
    }
}

/// What is wrong with a segment before the one that begins with record `void`. The last segment
/// may be torn, but not so that something safe is lost.
fn damage(name: &str, scan: &Scan, void: u64) -> Option<JournalError> {
    let next = scan.next;
    let what = match (void, scan.beyond) {
        (u64::MAX, None) => return None,
        (u64::MAX, Some(beyond)) => {
            format!("record {next} is not whole, though later ones at byte {beyond} are")
        }
        _ if next < void => format!("records {next} to {} are not there or not whole", void - 1),
        _ => return None,
    };
    Some(JournalError::corrupt(name, scan.end, what))
}

fn missing(name: &str, wanted: u64, first: u64) -> JournalError {
    let what = format!("it begins with record {first}, and record {wanted} is nowhere");
    JournalError::corrupt(name, 0, what)
}

fn read_segment<D: Disk>(
    disk: &mut D,
    segment: &Segment,
    tail: &mut Tail,
) -> Result<(Vec<u8>, Scan), JournalError> {
    let name = &segment.name;
    let bytes = read_file(disk, name)?;
    let damaged = || JournalError::corrupt(name, 0, "its header is not what was written");
    if format::version(name, MAGIC, &bytes)? < VERSION {
        tail.old = true;
        let first = old::first(&bytes).filter(|&first| first == segment.first);
        let scan = old::scan(first.ok_or_else(damaged)?, &bytes);
        return Ok((bytes, scan));
    }
    let header = Header::read(&bytes).ok_or_else(damaged)?;
    if (header.sequence, header.first) != (segment.sequence, segment.first) {
        return Err(damaged());
    }
    tail.salt = header.salt;
    let scan = format::scan(&header, &bytes);
    Ok((bytes, scan))
}

/// A snapshot's bytes, and the version of its file.
pub(crate) fn read_snapshot<D: Disk>(
    disk: &mut D,
    upto: u64,
) -> Result<(Vec<u8>, u32), JournalError> {
    let name = snapshot::name(upto);
    let bytes = read_file(disk, &name)?;
    snapshot::read(&name, bytes)
}

fn read_file<D: Disk>(disk: &mut D, name: &str) -> Result<Vec<u8>, JournalError> {
    let bytes = disk.open(name, false).and_then(|mut file| file.read());
    bytes.map_err(|error| JournalError::io("read", name, error))
}
