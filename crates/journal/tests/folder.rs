//! A journal in a real folder.

use heeler_journal::{Folder, Journal, JournalError, Settings, read_all};

#[test]
fn records_are_there_when_it_is_opened_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("journal");
    let settings = Settings { segment_bytes: 2000, ahead_bytes: 512, keep_all: true };
    let disk = Folder::open(&path).expect("a new folder");
    let mut journal = Journal::open(disk, settings).expect("empty").journal;
    for number in 1..=100_u64 {
        assert_eq!(journal.append(&number.to_le_bytes().repeat(9)).expect("short"), number);
        if number % 7 == 0 {
            journal.sync().expect("a good disk");
        }
        if number % 42 == 0 {
            journal.snapshot(number, &number.to_le_bytes()).expect("a good disk");
        }
    }
    journal.sync().expect("a good disk");
    assert!(journal.bytes_since_snapshot() > 16 * 72);
    let meanwhile = read_all(&path).expect("others may read");
    assert_eq!((meanwhile.snapshot, meanwhile.records.len()), (None, 100));
    drop(journal);
    let opened = Journal::open(Folder::open(&path).expect("free"), settings).expect("good");
    assert_eq!(opened.snapshot, Some((84, 84_u64.to_le_bytes().to_vec())));
    assert_eq!(opened.records.first().expect("records").0, 85);
    assert_eq!(opened.records.last(), Some(&(100, 100_u64.to_le_bytes().repeat(9))));
    assert_eq!(opened.notes, Vec::<String>::new());
    assert_eq!(opened.journal.next_number(), 101);
}

#[test]
fn two_servers_never_share_a_folder() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let held = Folder::open(folder.path()).expect("free");
    let error = Folder::open(folder.path()).expect_err("held");
    assert!(matches!(error, JournalError::Busy { .. }), "{error}");
    assert!(error.to_string().contains("another server"), "{error}");
    drop(held);
    Folder::open(folder.path()).expect("free again");
}

#[test]
fn only_its_owner_can_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("journal");
    let disk = Folder::open(&path).expect("free");
    let _opened = Journal::open(disk, Settings::default()).expect("empty");
    let mode = |path: &std::path::Path| {
        std::fs::metadata(path).expect("there").permissions().mode() & 0o077
    };
    assert_eq!(mode(&path), 0);
    for entry in std::fs::read_dir(&path).expect("a folder") {
        assert_eq!(mode(&entry.expect("a file").path()), 0);
    }
}

#[test]
fn a_folder_that_is_not_there_cannot_be_read() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let error = read_all(&folder.path().join("nowhere")).expect_err("nothing there");
    assert!(error.to_string().contains("nowhere"), "{error}");
}
