//! A journal that is not as it was written: torn ends are cut and named, anything else is refused
//! with the file, the byte and what to do, and no bit that turns changes a record unseen.

use heeler_journal::{
    Journal, JournalError, Loss, Settings, SimDisk, VERSION, read_from, read_left_of,
};

const SETTINGS: Settings = Settings { segment_bytes: 700, ahead_bytes: 128, keep_all: false };

fn record(number: u64) -> Vec<u8> {
    format!("record {number} {}", "x".repeat(number as usize * 7 % 60)).into_bytes()
}

/// A journal of so many records in groups of one to three, with snapshots where wanted.
fn journal(seed: u64, records: u64, snapshots: &[u64]) -> SimDisk {
    let disk = SimDisk::new(seed);
    let mut journal = Journal::open(disk.clone(), SETTINGS).expect("an empty disk").journal;
    for number in 1..=records {
        journal.append(&record(number)).expect("short");
        if number % 3 == 0 || number % 5 == 0 || number == records {
            journal.sync().expect("a good disk");
        }
        if snapshots.contains(&number) {
            journal.sync().expect("a good disk");
            journal.snapshot(number, format!("state {number}").as_bytes()).expect("a good disk");
        }
    }
    disk.restart(Loss::Process)
}

fn copy(files: &[(String, Vec<u8>)]) -> SimDisk {
    let disk = SimDisk::new(1);
    for (name, bytes) in files {
        disk.put(name, bytes);
    }
    disk
}

#[test]
fn no_bit_that_turns_changes_a_record_unseen() {
    for snapshots in [&[][..], &[12, 25]] {
        let records = 40;
        let files = journal(3, records, snapshots).files();
        let newest = files.iter().rfind(|(name, _)| name.ends_with(".log"));
        let newest = newest.expect("segments").0.clone();
        assert!(files.len() >= 3, "several segments");
        for (name, bytes) in &files {
            for byte in 0..bytes.len() {
                let disk = copy(&files);
                assert!(disk.turn_bit(name, byte, byte as u8));
                let Ok(opened) = Journal::open(disk, SETTINGS) else { continue };
                let upto = opened.snapshot.as_ref().map_or(0, |(upto, bytes)| {
                    assert_eq!(bytes, format!("state {upto}").as_bytes());
                    *upto
                });
                for (place, (number, bytes)) in opened.records.iter().enumerate() {
                    assert_eq!(*number, upto + 1 + place as u64);
                    assert_eq!(*bytes, record(*number), "{name} {byte}");
                }
                let last = upto + opened.records.len() as u64;
                if last < records {
                    // Only the last group can pass for one that was never acknowledged.
                    assert!(*name == newest && last == 39, "{name} {byte}: {last} of {records}");
                    assert!(opened.notes[0].contains(&newest), "{:?}", opened.notes);
                }
            }
        }
    }
}

#[test]
fn a_torn_end_is_cut_and_named() {
    let whole = journal(3, 11, &[]).files();
    let (name, bytes) = whole.last().expect("a segment").clone();
    let end = bytes.iter().rposition(|&byte| byte != 0).expect("records") + 1;
    for torn in 1..30 {
        let disk = copy(&whole);
        let mut bytes = bytes.clone();
        bytes[end - torn..].fill(0);
        disk.put(&name, &bytes);
        let opened = Journal::open(disk.clone(), SETTINGS).expect("a torn end is no damage");
        assert_eq!(opened.records.len(), 10);
        assert!(opened.notes[0].starts_with(&format!("{name}: ")), "{:?}", opened.notes);
        assert!(opened.notes[0].contains("from byte "), "{:?}", opened.notes);
        let mut journal = opened.journal;
        journal.append(&record(11)).expect("short");
        journal.sync().expect("a good disk");
        let again = Journal::open(disk.restart(Loss::Power), SETTINGS).expect("good");
        assert_eq!((again.records.len(), again.notes.len()), (11, 0));
        assert_eq!(again.records[10].1, record(11));
    }
}

#[test]
fn damage_in_the_middle_is_refused_and_located() {
    let files = journal(3, 40, &[]).files();
    let (name, bytes) = &files[1];
    let disk = copy(&files);
    assert!(disk.turn_bit(name, 80, 3));
    let error = Journal::open(disk.clone(), SETTINGS).expect_err("a record is lost");
    let JournalError::Corrupt { file, byte, .. } = &error else { panic!("{error}") };
    assert_eq!((file, *byte), (name, 44), "{error}");
    assert!(error.to_string().contains("keep a copy"), "{error}");
    assert!(read_from(&mut disk.clone()).is_err());
    assert!(disk.turn_bit(name, 80, 3));
    assert_eq!(Journal::open(disk, SETTINGS).expect("as it was").records.len(), 40);

    let disk = copy(&files);
    disk.put(name, &bytes[..bytes.len() / 2]);
    assert!(Journal::open(disk, SETTINGS).is_err(), "half a segment is gone");

    let without: Vec<_> = files.iter().filter(|(other, _)| other != name).cloned().collect();
    let error = Journal::open(copy(&without), SETTINGS).expect_err("a segment is gone");
    assert!(error.to_string().contains("are not there"), "{error}");
}

#[test]
fn a_damaged_snapshot_is_set_aside_for_the_one_before() {
    let disk = journal(3, 40, &[12, 25]);
    let name = format!("{:020}.snapshot", 25);
    assert!(disk.turn_bit(&name, 34, 0));
    let opened = Journal::open(disk.clone(), SETTINGS).expect("the older one serves");
    assert_eq!(opened.snapshot.expect("a snapshot").0, 12);
    assert_eq!(opened.records.len(), 28);
    assert!(opened.notes[0].contains("set aside"), "{:?}", opened.notes);
    let names: Vec<String> = disk.files().into_iter().map(|(name, _)| name).collect();
    assert!(names.contains(&format!("{name}.damaged")));
    let again = Journal::open(disk.restart(Loss::Power), SETTINGS).expect("good");
    assert_eq!(again.notes, Vec::<String>::new());
}

#[test]
fn a_newer_format_is_refused_kindly() {
    let files = journal(3, 5, &[4]).files();
    for (name, bytes) in &files {
        let disk = copy(&files);
        let mut bytes = bytes.clone();
        bytes[8..12].copy_from_slice(&(VERSION + 1).to_le_bytes());
        disk.put(name, &bytes);
        let before = disk.files();
        let error = Journal::open(disk.clone(), SETTINGS).expect_err("unknown");
        assert!(matches!(error, JournalError::Newer { .. }), "{error}");
        assert!(error.to_string().contains("newer program"), "{error}");
        assert_eq!(disk.files(), before, "nothing was touched");
    }
}

#[test]
fn old_segments_go_and_the_last_two_snapshots_stay() {
    let disk = journal(3, 200, &[50, 100, 150]);
    let names: Vec<String> = disk.files().into_iter().map(|(name, _)| name).collect();
    let snapshots: Vec<_> = names.iter().filter(|name| name.ends_with(".snapshot")).collect();
    assert_eq!(snapshots, [&format!("{:020}.snapshot", 100), &format!("{:020}.snapshot", 150)]);
    let history = read_from(&mut disk.clone()).expect("good");
    assert_eq!(history.snapshot.expect("the older").0, 100);
    assert_eq!(history.records.len(), 100);
    let first = names.iter().find(|name| name.ends_with(".log")).expect("segments");
    let first: u64 = first[11..31].parse().expect("a number");
    assert!(first > 80 && first <= 101, "{names:?}");
}

#[test]
fn bytes_of_another_segment_never_pass_for_records() {
    let (mine, other) = (journal(3, 4, &[]).files(), journal(4, 4, &[]).files());
    let (name, bytes) = &mine[0];
    let (same_name, foreign) = &other[0];
    assert_eq!(name, same_name);
    let disk = copy(&mine);
    disk.put(name, &[&bytes[..44], &foreign[44..]].concat());
    let opened = Journal::open(disk, SETTINGS).expect("left over from another file");
    assert_eq!(opened.records, []);
    assert_eq!(opened.notes.len(), 1, "{:?}", opened.notes);
}

#[test]
fn what_comes_before_the_damage_can_be_read() {
    let files = journal(5, 40, &[]).files();
    let (name, bytes) = files.iter().filter(|(name, _)| name.ends_with(".log")).nth(1).unwrap();
    let mut disk = copy(&files);
    assert!(disk.turn_bit(name, bytes.len() / 2, 3));
    assert!(matches!(read_from(&mut disk), Err(JournalError::Corrupt { .. })));
    let left = read_left_of(&mut disk).expect("what is left");
    assert!(!left.records.is_empty() && left.records.len() < 40, "{}", left.records.len());
    for (place, (number, bytes)) in left.records.iter().enumerate() {
        assert_eq!((*number, bytes.clone()), (place as u64 + 1, record(place as u64 + 1)));
    }
    assert!(left.notes[0].contains("DAMAGED") && left.notes[1].contains(name), "{:?}", left.notes);
    let mut whole = copy(&files);
    assert_eq!(read_left_of(&mut whole).expect("a good journal").records.len(), 40);
}
