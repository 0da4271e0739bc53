//! How a snapshot is written: `magic, version u32, upto u64, length u64, checksum u32` and its
//! bytes, under a temporary name until it is safe. Version 1 had a checksum of the bytes alone.

use crate::error::JournalError;
use crate::format::{VERSION, u32_at, u64_at, version};

const MAGIC: &[u8; 8] = b"heelerSN";
const HEADER_BYTES: usize = 32;

/// The name of a snapshot.
pub(crate) fn name(upto: u64) -> String {
    format!("{upto:020}.snapshot")
}

/// The last record that a snapshot of this name holds.
pub(crate) fn upto_of(name: &str) -> Option<u64> {
    name.strip_suffix(".snapshot")?.parse().ok()
}

/// The bytes of a file.
pub(crate) fn write(upto: u64, snapshot: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES + snapshot.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&upto.to_le_bytes());
    bytes.extend_from_slice(&(snapshot.len() as u64).to_le_bytes());
    let checksum = crc32c::crc32c_append(crc32c::crc32c(&bytes), snapshot);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes.extend_from_slice(snapshot);
    bytes
}

/// The snapshot in a file, and the file's version.
pub(crate) fn read(file: &str, bytes: Vec<u8>) -> Result<(Vec<u8>, u32), JournalError> {
    let version = version(file, MAGIC, &bytes)?;
    let Some((header, snapshot)) = bytes.split_at_checked(HEADER_BYTES) else {
        return Err(JournalError::corrupt(file, bytes.len(), "its header is cut short"));
    };
    let length = u64_at(header, 20).unwrap_or(0);
    if u64_at(header, 12) != upto_of(file) || length != snapshot.len() as u64 {
        let what = format!("it should have {length} bytes and has {}", snapshot.len());
        return Err(JournalError::corrupt(file, 12, what));
    }
    let covered = if version == 1 { 0 } else { crc32c::crc32c(&header[..28]) };
    if u32_at(header, 28) != Some(crc32c::crc32c_append(covered, snapshot)) {
        return Err(JournalError::corrupt(file, HEADER_BYTES, "its checksum is not right"));
    }
    let mut bytes = bytes;
    bytes.drain(..HEADER_BYTES);
    Ok((bytes, version))
}
