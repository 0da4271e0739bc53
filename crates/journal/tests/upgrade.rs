//! A journal of format version 1 is brought to the present one when it is opened, whatever stops it
//! meanwhile. The files in `tests/data/version-1` are what the writer below wrote;
//! `UPDATE_GOLDEN=1` writes them again.

use heeler_journal::{Folder, Journal, Loss, Settings, SimDisk, VERSION, read_all, read_from};
use std::path::{Path, PathBuf};

const SETTINGS: Settings = Settings { segment_bytes: 900, ahead_bytes: 128, keep_all: false };
const RECORDS: u64 = 30;

fn record(number: u64) -> Vec<u8> {
    format!("{{\"number\":{number},\"text\":\"{}\"}}", "ab".repeat(number as usize % 9))
        .into_bytes()
}

/// A segment of version 1, with records from `first` on.
fn old_segment(first: u64, upto: u64) -> (String, Vec<u8>) {
    let mut bytes = b"heelerJL".to_vec();
    bytes.extend_from_slice(&1_u32.to_le_bytes());
    bytes.extend_from_slice(&first.to_le_bytes());
    bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
    for number in first..=upto {
        let payload = record(number);
        let covered = [&number.to_le_bytes()[..], &payload].concat();
        bytes.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&crc32c::crc32c(&covered).to_le_bytes());
        bytes.extend_from_slice(&covered);
    }
    (format!("{first:020}.log"), bytes)
}

fn old_snapshot(upto: u64) -> (String, Vec<u8>) {
    let payload = format!("state after {upto}").into_bytes();
    let mut bytes = b"heelerSN".to_vec();
    bytes.extend_from_slice(&1_u32.to_le_bytes());
    bytes.extend_from_slice(&upto.to_le_bytes());
    bytes.extend_from_slice(&(payload.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&crc32c::crc32c(&payload).to_le_bytes());
    bytes.extend_from_slice(&payload);
    (format!("{upto:020}.snapshot"), bytes)
}

fn old_journal() -> Vec<(String, Vec<u8>)> {
    let mut files = vec![old_segment(6, 15), old_segment(16, 24), old_segment(25, RECORDS)];
    files.push(old_snapshot(7));
    files.push(old_snapshot(18));
    files
}

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/version-1")
}

/// The fixture in a folder that may be changed.
fn working_copy() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, _) in old_journal() {
        std::fs::copy(fixture().join(&name), folder.path().join(&name)).expect("a copy");
    }
    folder
}

fn simulated(seed: u64) -> SimDisk {
    let disk = SimDisk::new(seed);
    for (name, bytes) in old_journal() {
        disk.put(&name, &bytes);
    }
    disk
}

fn assert_records(records: &[(u64, Vec<u8>)], first: u64, last: u64) {
    let expected: Vec<_> = (first..=last).map(|number| (number, record(number))).collect();
    assert_eq!(records, expected);
}

fn version_of(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes[8..12].try_into().expect("four bytes"))
}

#[test]
fn the_fixture_is_what_the_writer_wrote() {
    for (name, bytes) in old_journal() {
        let path = fixture().join(name);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::create_dir_all(fixture()).expect("a folder");
            std::fs::write(&path, &bytes).expect("written");
        }
        assert_eq!(std::fs::read(&path).expect("the fixture"), bytes, "{}", path.display());
    }
}

#[test]
fn version_1_is_brought_up_to_date_and_goes_on() {
    let folder = working_copy();
    let disk = Folder::open(folder.path()).expect("free");
    let opened = Journal::open(disk, SETTINGS).expect("known");
    assert_eq!(opened.snapshot, Some((18, b"state after 18".to_vec())));
    assert_records(&opened.records, 19, RECORDS);
    assert!(opened.notes[0].contains("format version 2"), "{:?}", opened.notes);
    let mut journal = opened.journal;
    assert_eq!(journal.append(&record(31)).expect("short"), 31);
    journal.sync().expect("a good disk");
    drop(journal);

    for entry in std::fs::read_dir(folder.path()).expect("a folder") {
        let path = entry.expect("a file").path();
        if path.extension().is_some() {
            let bytes = std::fs::read(&path).expect("readable");
            assert_eq!(version_of(&bytes), VERSION, "{}", path.display());
        }
    }
    let opened = Journal::open(Folder::open(folder.path()).expect("free"), SETTINGS).expect("good");
    assert_records(&opened.records, 19, 31);
    assert_eq!(opened.notes, Vec::<String>::new());
    let history = read_all(folder.path()).expect("good");
    assert_eq!(history.snapshot, Some((7, b"state after 7".to_vec())));
    assert_records(&history.records, 8, 31);
}

#[test]
fn an_upgrade_may_stop_anywhere() {
    let whole = simulated(0);
    Journal::open(whole.clone(), SETTINGS).expect("known");
    let operations = whole.operations();
    assert!(operations > 20);
    for stop in 0..operations {
        for seed in 0..20 {
            let mut disk = simulated(seed);
            disk.stop_after(stop);
            let _ = Journal::open(disk.clone(), SETTINGS);
            disk = disk.restart(if seed % 4 == 0 { Loss::Process } else { Loss::Power });
            let opened = Journal::open(disk.clone(), SETTINGS).expect("known or good");
            assert_eq!(opened.snapshot, Some((18, b"state after 18".to_vec())));
            assert_records(&opened.records, 19, RECORDS);
            let history = read_from(&mut disk.restart(Loss::Power)).expect("good");
            assert_records(&history.records, 8, RECORDS);
        }
    }
}

#[test]
fn a_torn_end_of_version_1_is_cut_and_damage_refused() {
    let disk = simulated(1);
    let (name, bytes) = old_segment(25, RECORDS);
    disk.put(&name, &bytes[..bytes.len() - 5]);
    let opened = Journal::open(disk, SETTINGS).expect("torn only");
    assert_records(&opened.records, 19, RECORDS - 1);
    assert!(opened.notes[0].starts_with(&name), "{:?}", opened.notes);

    let disk = simulated(1);
    assert!(disk.turn_bit(&name, 50, 1));
    assert!(Journal::open(disk, SETTINGS).is_err());
}
