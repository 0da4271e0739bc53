//! Thousands of seeded lives of a journal on a disk that fails: whatever was synced is there
//! afterwards, whatever was not is there wholly or not at all, and numbers have no gaps.
//! `HEELER_SEEDS` says how many; a failure names its seed.

use heeler_journal::{
    Journal, JournalError, Loss, Opened, Settings, SimDisk, SimFaults, read_from,
};

/// Small segments, so that every life has many.
const SETTINGS: Settings = Settings { segment_bytes: 4096, ahead_bytes: 1024, keep_all: false };

/// A stream of numbers of a test's own, apart from the disk's.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn one_in(&mut self, bound: u64) -> bool {
        self.below(bound) == 0
    }
}

/// What must be there.
#[derive(Default)]
struct Truth {
    /// Everything that was synced, record 1 first.
    synced: Vec<Vec<u8>>,
    /// Groups of which nobody knows: one in flight when all stopped, one that could not be cut.
    unsure: Vec<Vec<Vec<u8>>>,
}

/// Everything up to a record, as a snapshot would hold it.
fn state(records: &[Vec<u8>]) -> Vec<u8> {
    records.iter().flat_map(|it| crc32c::crc32c(it).to_le_bytes()).collect()
}

impl Truth {
    /// Check what a journal holds, and learn which of the uncertain groups made it.
    fn check(&mut self, opened: &Opened<SimDisk>, seed: u64) {
        let upto = opened.snapshot.as_ref().map_or(0, |(upto, _)| *upto);
        for (place, (number, _)) in opened.records.iter().enumerate() {
            assert_eq!(*number, upto + 1 + place as u64, "seed {seed}: numbers have a gap");
        }
        let held = upto as usize + opened.records.len();
        assert_eq!(opened.journal.next_number(), held as u64 + 1, "seed {seed}: next number");
        let mut whole = self.synced.clone();
        if held != whole.len() {
            let more = held.checked_sub(whole.len());
            let more = more.unwrap_or_else(|| panic!("seed {seed}: synced records are gone"));
            let tail = &opened.records[opened.records.len() - more..];
            let found = self.unsure.iter().find(|group| {
                group.len() == more && group.iter().zip(tail).all(|(it, (_, kept))| it == kept)
            });
            let found = found.unwrap_or_else(|| panic!("seed {seed}: a group is half there"));
            whole.extend(found.iter().cloned());
        }
        let after = whole[upto as usize..].iter();
        assert!(after.eq(opened.records.iter().map(|(_, it)| it)), "seed {seed}: other records");
        if let Some((_, snapshot)) = &opened.snapshot {
            assert_eq!(*snapshot, state(&whole[..upto as usize]), "seed {seed}: other state");
        }
        self.synced = whole;
        self.unsure.clear();
    }
}

/// Open it, however often the machine stops meanwhile.
fn recover(disk: &SimDisk, truth: &mut Truth, chance: &mut Chance, seed: u64) -> Journal<SimDisk> {
    let mut disk = disk.clone();
    disk.set_faults(SimFaults::default());
    loop {
        let loss = if chance.one_in(3) { Loss::Process } else { Loss::Power };
        disk = disk.restart(loss);
        if chance.one_in(4) {
            disk.stop_after(chance.below(12));
        }
        match Journal::open(disk.clone(), SETTINGS) {
            Ok(opened) => {
                truth.check(&opened, seed);
                // Whatever was shown must stay, even if the power goes at once.
                if !disk.stopped() && !chance.one_in(4) {
                    return opened.journal;
                }
            }
            Err(error) => assert!(disk.stopped(), "seed {seed}: cannot be opened: {error}"),
        }
    }
}

fn faults(chance: &mut Chance) -> SimFaults {
    let rate = |chance: &mut Chance| if chance.one_in(2) { 0 } else { chance.below(60) as u32 };
    SimFaults {
        short_permille: rate(chance),
        write_permille: rate(chance),
        sync_permille: rate(chance),
        capacity_bytes: chance.one_in(3).then(|| 6_000 + chance.below(30_000)),
    }
}

/// One life of a disk, with many of servers.
fn live(seed: u64) -> (u64, u64) {
    let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let disk = SimDisk::new(seed);
    let mut truth = Truth::default();
    let mut refusals = 0;
    for _ in 0..4 + chance.below(6) {
        let mut journal = recover(&disk, &mut truth, &mut chance, seed);
        disk.set_faults(faults(&mut chance));
        disk.stop_after(1 + chance.below(200));
        while !disk.stopped() {
            let group: Vec<Vec<u8>> = (0..1 + chance.below(4))
                .map(|_| vec![chance.below(256) as u8; chance.below(700) as usize])
                .collect();
            for (place, record) in group.iter().enumerate() {
                let number = journal.append(record).expect("records are short");
                assert_eq!(number as usize, truth.synced.len() + 1 + place, "seed {seed}: number");
            }
            match journal.sync() {
                Ok(()) => {
                    truth.synced.extend(group);
                    truth.unsure.clear();
                }
                Err(JournalError::Unsure { .. }) => truth.unsure = vec![group],
                Err(_) if disk.stopped() => truth.unsure.push(group),
                Err(_) => refusals += 1,
            }
            if chance.one_in(8) && !truth.synced.is_empty() {
                let upto = truth.synced.len()
                    - chance.below(3).min(truth.synced.len() as u64 - 1) as usize;
                let _ = journal.snapshot(upto as u64, &state(&truth.synced[..upto]));
            }
        }
    }
    recover(&disk, &mut truth, &mut chance, seed);
    let history = read_from(&mut disk.restart(Loss::Process)).expect("a good journal can be read");
    assert!(history.records.len() <= truth.synced.len());
    (truth.synced.len() as u64, refusals)
}

#[test]
fn what_was_synced_survives_whatever_happens() {
    let seeds = std::env::var("HEELER_SEEDS").ok().and_then(|it| it.parse().ok());
    let (mut records, mut refusals) = (0, 0);
    for seed in 0..seeds.unwrap_or(2000) {
        let (more, refused) = live(seed);
        records += more;
        refusals += refused;
    }
    println!("{records} records survived, {refusals} groups were refused");
    assert!(records > 0 && refusals > 0, "the disk neither kept nor failed: nothing was tried");
}

#[test]
fn a_full_disk_refuses_and_takes_up_again() {
    let disk = SimDisk::new(7);
    let mut journal = Journal::open(disk.clone(), SETTINGS).expect("an empty disk").journal;
    disk.set_faults(SimFaults { capacity_bytes: Some(5_000), ..SimFaults::default() });
    let mut stored = 0;
    let refusal = loop {
        journal.append(&[7; 600]).expect("short");
        match journal.sync() {
            Ok(()) => stored += 1,
            Err(error) => break error,
        }
        assert!(stored < 100, "a full disk takes no more");
    };
    assert!(matches!(refusal, JournalError::Full), "{refusal}");
    assert!(refusal.to_string().contains("free some space"));
    assert!(matches!(journal.snapshot(stored, &[1; 9_000]), Err(JournalError::Full)));
    assert_eq!(journal.next_number(), stored + 1);
    disk.set_faults(SimFaults::default());
    assert_eq!(journal.append(b"again").expect("short"), stored + 1);
    journal.sync().expect("there is room again");
    let opened = Journal::open(disk.restart(Loss::Power), SETTINGS).expect("good");
    assert_eq!(opened.records.len() as u64, stored + 1);
    assert_eq!(opened.notes, Vec::<String>::new());
}

#[test]
fn after_a_failed_sync_nothing_of_the_group_is_left() {
    for seed in 0..200 {
        let disk = SimDisk::new(seed);
        let mut journal = Journal::open(disk.clone(), SETTINGS).expect("an empty disk").journal;
        journal.append(b"first").expect("short");
        journal.sync().expect("a good disk");
        disk.set_faults(SimFaults { sync_permille: 1000, ..SimFaults::default() });
        journal.append(&[9; 2000]).expect("short");
        let failure = journal.sync().expect_err("no sync works");
        // The cut could not be synced, either, and it says so.
        assert!(matches!(failure, JournalError::Unsure { .. }), "{failure}");
        disk.set_faults(SimFaults::default());
        assert_eq!(journal.append(b"second").expect("short"), 2);
        journal.sync().expect("a good disk again");
        let opened = Journal::open(disk.restart(Loss::Power), SETTINGS).expect("good");
        let records: Vec<_> = opened.records.iter().map(|(_, it)| it.as_slice()).collect();
        assert_eq!(records, [b"first".as_slice(), b"second"], "seed {seed}");
    }
}
