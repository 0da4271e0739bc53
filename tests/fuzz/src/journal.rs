//! A journal on a disk that holds anything.

use heeler_journal::{Journal, Settings, SimDisk, read_from};

/// What the first segment of a journal is called.
const FIRST: &str = "0000000001-00000000000000000001.log";

const SEPARATOR: &[u8] = b"\n%%";

/// Files of a journal: each begins with a line that is its name, and ends where a line begins with
/// `%%`. Names that are empty stand for the first segment's.
pub(crate) fn journal(data: &[u8]) {
    let disk = SimDisk::new(1);
    for part in split(data) {
        let end = part.iter().position(|byte| *byte == b'\n').unwrap_or(part.len());
        let name = std::str::from_utf8(&part[..end]).unwrap_or("x");
        disk.put(if name.is_empty() { FIRST } else { name }, part.get(end + 1..).unwrap_or(&[]));
    }
    let before = read_from(&mut disk.clone()).map(|contents| contents.records);
    let Ok(opened) = Journal::open(disk.clone(), Settings::default()) else { return };
    let found = opened.records;
    if let Ok(before) = before {
        assert!(before.ends_with(&found), "opening found what only reading did not");
    }
    // What was there stays, and more can be written after it.
    let mut journal = opened.journal;
    let number = journal.append(b"one more").expect("there is room");
    journal.sync().expect("the disk is sound");
    drop(journal);
    let again = Journal::open(disk, Settings::default()).expect("what was opened opens again");
    let mut expected = found;
    expected.push((number, b"one more".to_vec()));
    assert_eq!(again.records, expected);
}

fn split(data: &[u8]) -> Vec<&[u8]> {
    let (mut parts, mut rest) = (Vec::new(), data);
    while let Some(at) = rest.windows(SEPARATOR.len()).position(|bytes| bytes == SEPARATOR) {
        parts.push(&rest[..at]);
        rest = &rest[at + SEPARATOR.len()..];
        // Without a limit, a fuzzer makes thousands of files, and learns nothing from them.
        if parts.len() == 6 {
            return parts;
        }
    }
    parts.push(rest);
    parts
}
