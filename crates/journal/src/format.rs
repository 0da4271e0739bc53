//! How a segment is written: a header, then groups of records, then zeros.
//!
//! A group is `checksum u32, length u32, first u64, count u32` and then `length` bytes with
//! `count` records, each a `u32` length and its bytes; all integers little-endian. The checksum
//! (CRC-32C) begins with the segment's salt, so neither stale bytes of another file nor bytes that
//! somebody put into a record pass for a group. A group is written only when the one before it is
//! safe: one that is not whole was never acknowledged, unless another follows it.

use crate::error::JournalError;
use std::ops::{Range, RangeInclusive};

/// The format that is written.
pub const VERSION: u32 = 2;

/// How every segment begins.
pub(crate) const MAGIC: &[u8; 8] = b"heelerJL";

/// Bytes of a segment's header.
pub(crate) const HEADER_BYTES: usize = 44;

/// Bytes of a group before its records.
const GROUP_BYTES: usize = 20;

/// The longest record. Reading is bounded by it, and a batch of ten thousand jobs is far below.
pub(crate) const RECORD_LIMIT: usize = 256 << 20;

/// The longest group, so that its length fits its field with room to spare.
pub(crate) const GROUP_LIMIT: usize = 1 << 30;

/// How far ahead a group's number may be for it to be looked at: no segment holds more records.
pub(crate) const AHEAD: u64 = 1 << 32;

/// What a segment says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// Its place among the segments.
    pub(crate) sequence: u64,
    /// The number of its first record. Records from there on in segments before it are void.
    pub(crate) first: u64,
    /// What its checksums begin with.
    pub(crate) salt: u64,
}

impl Header {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&(HEADER_BYTES as u32).to_le_bytes());
        bytes.extend_from_slice(&self.sequence.to_le_bytes());
        bytes.extend_from_slice(&self.first.to_le_bytes());
        bytes.extend_from_slice(&self.salt.to_le_bytes());
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        bytes
    }

    pub(crate) fn read(bytes: &[u8]) -> Option<Header> {
        let bytes = bytes.get(..HEADER_BYTES)?;
        let whole = crc32c::crc32c(&bytes[..40]) == u32_at(bytes, 40)?;
        let header = Header {
            sequence: u64_at(bytes, 16)?,
            first: u64_at(bytes, 24)?,
            salt: u64_at(bytes, 32)?,
        };
        whole.then_some(header)
    }
}

/// The version of a file that begins with this magic.
pub(crate) fn version(file: &str, magic: &[u8; 8], bytes: &[u8]) -> Result<u32, JournalError> {
    let version = u32_at(bytes, 8).filter(|_| bytes.starts_with(magic));
    match version {
        Some(version) if version > VERSION => {
            Err(JournalError::Newer { file: file.to_owned(), version, known: VERSION })
        }
        Some(version) if version > 0 => Ok(version),
        _ => Err(JournalError::corrupt(file, 0, "it does not begin like a file of a journal")),
    }
}

/// The name of a segment.
pub(crate) fn segment_name(sequence: u64, first: u64) -> String {
    format!("{sequence:010}-{first:020}.log")
}

/// A segment's place and its first number by its name; those of version 1 come before all others.
pub(crate) fn segment_of(name: &str) -> Option<(u64, u64)> {
    let stem = name.strip_suffix(".log")?;
    let number = |text: &str| text.parse::<u64>().ok();
    match stem.split_once('-') {
        Some((sequence, first)) => Some((number(sequence)?, number(first)?)),
        None => Some((0, number(stem)?)),
    }
}

/// Records that are written together.
#[derive(Debug)]
pub(crate) struct Group {
    bytes: Vec<u8>,
    first: u64,
    count: u32,
}

impl Group {
    pub(crate) fn new(first: u64) -> Group {
        Group { bytes: vec![0; GROUP_BYTES], first, count: 0 }
    }

    pub(crate) fn push(&mut self, record: &[u8]) -> Result<(), JournalError> {
        let limit = RECORD_LIMIT.min(GROUP_LIMIT.saturating_sub(self.bytes.len()));
        if record.len() > limit {
            return Err(JournalError::TooLong { bytes: record.len(), limit });
        }
        self.bytes.extend_from_slice(&(record.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(record);
        self.count += 1;
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The bytes to write into a segment.
    pub(crate) fn seal(&mut self, salt: u64) -> &mut Vec<u8> {
        let length = (self.bytes.len() - GROUP_BYTES) as u32;
        self.bytes[4..8].copy_from_slice(&length.to_le_bytes());
        self.bytes[8..16].copy_from_slice(&self.first.to_le_bytes());
        self.bytes[16..20].copy_from_slice(&self.count.to_le_bytes());
        let checksum = checksum(salt, &self.bytes[4..]);
        self.bytes[..4].copy_from_slice(&checksum.to_le_bytes());
        &mut self.bytes
    }

    /// Empty it for the next group; the room is used again.
    pub(crate) fn reset(&mut self, first: u64) {
        self.bytes.clear();
        self.bytes.resize(GROUP_BYTES, 0);
        (self.first, self.count) = (first, 0);
    }
}

/// What is in a segment.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// Its records: number and place.
    pub(crate) records: Vec<(u64, Range<usize>)>,
    /// Where the last whole group begins.
    pub(crate) last: usize,
    /// Where it ends.
    pub(crate) end: usize,
    /// The number that would come next.
    pub(crate) next: u64,
    /// Bytes after the last whole group up to the last that is not zero.
    pub(crate) torn: usize,
    /// A whole group after some that is not: something that was safe is not what it was.
    pub(crate) beyond: Option<usize>,
}

/// Read a segment's groups.
pub(crate) fn scan(header: &Header, bytes: &[u8]) -> Scan {
    let mut scan =
        Scan { last: HEADER_BYTES, end: HEADER_BYTES, next: header.first, ..Scan::default() };
    while let Some(count) = group_at(header.salt, bytes, scan.end, scan.next..=scan.next) {
        scan.last = scan.end;
        let mut place = scan.end + GROUP_BYTES;
        for _ in 0..count {
            let length = u32_at(bytes, place).unwrap_or(0) as usize;
            scan.records.push((scan.next, place + 4..place + 4 + length));
            scan.next = scan.next.saturating_add(1);
            place += 4 + length;
        }
        scan.end = place;
    }
    let rest = bytes.get(scan.end..).unwrap_or(&[]);
    scan.torn = rest.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    let mut places = scan.end..scan.end + scan.torn;
    let numbers = scan.next..=scan.next.saturating_add(AHEAD);
    let whole = |at: &usize| group_at(header.salt, bytes, *at, numbers.clone()).is_some();
    scan.beyond = places.find(whole);
    scan
}

/// How many records a whole group at this place has; none, if there is no such group.
fn group_at(salt: u64, bytes: &[u8], at: usize, firsts: RangeInclusive<u64>) -> Option<u32> {
    let length = u32_at(bytes, at + 4)? as usize;
    let count = u32_at(bytes, at + 16)?;
    let end = at.checked_add(GROUP_BYTES)?.checked_add(length)?;
    let fits = count > 0 && length / 4 >= count as usize && length <= GROUP_LIMIT;
    if !fits || !firsts.contains(&u64_at(bytes, at + 8)?) {
        return None;
    }
    let covered = bytes.get(at + 4..end)?;
    if checksum(salt, covered) != u32_at(bytes, at)? {
        return None;
    }
    let mut place = at + GROUP_BYTES;
    for _ in 0..count {
        place = place.checked_add(4)?.checked_add(u32_at(&bytes[..end], place)? as usize)?;
    }
    (place == end).then_some(count)
}

fn checksum(salt: u64, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&salt.to_le_bytes()), bytes)
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at.checked_add(4)?)?.try_into().ok().map(u32::from_le_bytes)
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at.checked_add(8)?)?.try_into().ok().map(u64::from_le_bytes)
}
