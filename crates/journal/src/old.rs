//! Version 1 of the format, which is only read: every record for itself, without a salt.
//!
//! A segment was `magic, version u32, first u64, checksum u32` and then records of `length u32,
//! checksum u32, number u64` and bytes; the checksum covered the number and the bytes. Segments
//! were named by their first number alone.

use crate::format::{AHEAD, Scan, u32_at, u64_at};

/// Bytes of a segment's header.
const HEADER_BYTES: usize = 24;

/// Bytes of a record before its own.
const RECORD_BYTES: usize = 16;

/// The number of a segment's first record.
pub(crate) fn first(bytes: &[u8]) -> Option<u64> {
    let whole = crc32c::crc32c(bytes.get(..20)?) == u32_at(bytes, 20)?;
    u64_at(bytes, 12).filter(|_| whole)
}

/// Read a segment's records.
pub(crate) fn scan(first: u64, bytes: &[u8]) -> Scan {
    let mut scan = Scan { last: HEADER_BYTES, end: HEADER_BYTES, next: first, ..Scan::default() };
    while let Some((number, end)) = record_at(bytes, scan.end) {
        if number != scan.next {
            break;
        }
        scan.records.push((number, scan.end + RECORD_BYTES..end));
        scan.next = scan.next.saturating_add(1);
        scan.end = end;
    }
    let rest = bytes.get(scan.end..).unwrap_or(&[]);
    scan.torn = rest.len();
    let mut places = scan.end..scan.end + scan.torn;
    let ahead = |at| u64_at(bytes, at + 8).is_some_and(|it| it.wrapping_sub(scan.next) < AHEAD);
    scan.beyond = places.find(|&at| ahead(at) && record_at(bytes, at).is_some());
    scan
}

/// The number of a whole record at this place, and where it ends.
fn record_at(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let length = u32_at(bytes, at)? as usize;
    let end = at.checked_add(RECORD_BYTES)?.checked_add(length)?;
    let covered = bytes.get(at + 8..end)?;
    let whole = crc32c::crc32c(covered) == u32_at(bytes, at + 4)?;
    Some((u64_at(bytes, at + 8)?, end)).filter(|_| whole)
}
