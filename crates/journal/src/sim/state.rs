//! What is on the simulated disk, what is only in memory, and what becomes of it.

use super::{Loss, SimFaults};
use std::collections::BTreeMap;
use std::io;

/// The disk writes whole sectors, each wholly or not at all.
const SECTOR_BYTES: usize = 512;

/// A change of names.
#[derive(Clone, Debug)]
pub(super) enum NameChange {
    Made(String, usize),
    Renamed(String, String, usize),
    Removed(String),
}

/// A change of a file's contents.
#[derive(Clone, Debug)]
enum Change {
    Write(usize, Vec<u8>),
    Length(usize),
}

/// A file, whatever its name.
#[derive(Clone, Debug, Default)]
struct Inode {
    /// As the running system sees it.
    seen: Vec<u8>,
    /// As it is on the disk.
    safe: Vec<u8>,
    /// What is to be written to the disk.
    pending: Vec<Change>,
}

#[derive(Debug)]
pub(super) struct State {
    chance: u64,
    inodes: Vec<Inode>,
    seen: BTreeMap<String, usize>,
    safe: BTreeMap<String, usize>,
    pending: Vec<NameChange>,
    pub(super) faults: SimFaults,
    pub(super) left: Option<u64>,
    pub(super) operations: u64,
    pub(super) life: u64,
}

impl State {
    pub(super) fn new(seed: u64) -> State {
        State {
            chance: seed,
            inodes: Vec::new(),
            seen: BTreeMap::new(),
            safe: BTreeMap::new(),
            pending: Vec::new(),
            faults: SimFaults::default(),
            left: None,
            operations: 0,
            life: 0,
        }
    }

    /// The next random number (splitmix64).
    pub(super) fn random(&mut self) -> u64 {
        self.chance = self.chance.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.chance;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.random() % bound.max(1) as u64) as usize
    }

    fn happens(&mut self, permille: u32) -> bool {
        permille > 0 && self.random() % 1000 < u64::from(permille)
    }

    /// Count an operation, or refuse it: by the dead, or because everything has stopped.
    pub(super) fn operate(&mut self, life: u64) -> io::Result<()> {
        self.operations += 1;
        if life != self.life || self.left == Some(0) {
            return Err(io::Error::other("the simulated machine has stopped"));
        }
        self.left = self.left.map(|left| left - 1);
        Ok(())
    }

    /// Whether the operation that was just counted is the last, and so is done only in part.
    fn last(&self) -> io::Result<()> {
        match self.left {
            Some(0) => Err(io::Error::other("the simulated machine has stopped")),
            _ => Ok(()),
        }
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.seen.keys().cloned().collect()
    }

    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.seen.get(name).copied()
    }

    pub(super) fn new_inode(&mut self) -> usize {
        self.inodes.push(Inode::default());
        self.inodes.len() - 1
    }

    pub(super) fn change(&mut self, change: NameChange) {
        rename(&mut self.seen, &change);
        self.pending.push(change);
    }

    pub(super) fn sync_names(&mut self) -> io::Result<()> {
        let fails = self.happens(self.faults.sync_permille);
        self.last()?;
        // File systems keep a log of names: unlike contents, these are tried again.
        for place in 0..self.pending.len() {
            if !fails || self.below(2) == 0 {
                rename(&mut self.safe, &self.pending[place]);
            }
        }
        if fails {
            return Err(io::Error::other("the disk did not sync"));
        }
        self.pending.clear();
        Ok(())
    }

    pub(super) fn read(&self, inode: usize) -> Vec<u8> {
        self.inodes[inode].seen.clone()
    }

    pub(super) fn write(&mut self, inode: usize, at: usize, bytes: &[u8]) -> io::Result<usize> {
        let mut take = bytes.len();
        let mut failure = self.last().err();
        if failure.is_none() && self.happens(self.faults.write_permille) {
            failure = Some(io::Error::other("the disk did not write"));
        }
        if failure.is_some() || self.happens(self.faults.short_permille) {
            take = self.below(take + 1);
        }
        let grown = (at + take).saturating_sub(self.inodes[inode].seen.len()) as u64;
        let room = self.faults.capacity_bytes.map(|all| all.saturating_sub(self.used()));
        if let Some(room) = room.filter(|&room| grown > room) {
            take -= (grown - room) as usize;
            // What fits is written, and said so; the next attempt finds no room at all.
            if take == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
        }
        let change = Change::Write(at, bytes[..take].to_vec());
        apply(&mut self.inodes[inode].seen, &change);
        self.inodes[inode].pending.push(change);
        failure.map_or(Ok(take), Err)
    }

    /// Bytes of all files that have a name.
    fn used(&self) -> u64 {
        self.seen.values().map(|&inode| self.inodes[inode].seen.len() as u64).sum()
    }

    pub(super) fn set_len(&mut self, inode: usize, bytes: usize) {
        let change = Change::Length(bytes);
        apply(&mut self.inodes[inode].seen, &change);
        self.inodes[inode].pending.push(change);
    }

    pub(super) fn sync(&mut self, inode: usize) -> io::Result<()> {
        let fails = self.happens(self.faults.sync_permille);
        self.last()?;
        if fails {
            // What was to be written is written in part, and nobody will try the rest again,
            // though the running system still sees it. Lengths are kept in the file system's log.
            let lengths = self.inodes[inode].pending.iter();
            let lengths = lengths.filter(|it| matches!(it, Change::Length(_))).cloned().collect();
            self.settle(inode);
            self.inodes[inode].pending = lengths;
            return Err(io::Error::other("the disk did not sync"));
        }
        let file = &mut self.inodes[inode];
        for change in std::mem::take(&mut file.pending) {
            apply(&mut file.safe, &change);
        }
        Ok(())
    }

    /// Some of what was to be written to a file is, in any order of sectors.
    fn settle(&mut self, inode: usize) {
        let pending = std::mem::take(&mut self.inodes[inode].pending);
        let whole = self.below(pending.len() + 1);
        let share = [0, 0, 500, 900, 1000][self.below(5)];
        let mut safe = std::mem::take(&mut self.inodes[inode].safe);
        for (place, change) in pending.iter().enumerate() {
            if place < whole && share > 0 {
                apply(&mut safe, change);
                continue;
            }
            match change {
                Change::Length(_) if self.happens(share) => apply(&mut safe, change),
                Change::Length(_) => {}
                Change::Write(at, bytes) => self.sectors(&mut safe, *at, bytes, share),
            }
        }
        self.inodes[inode].safe = safe;
    }

    /// Some sectors of a write; what lies between them may be what the disk held long ago.
    fn sectors(&mut self, safe: &mut Vec<u8>, at: usize, bytes: &[u8], share: u32) {
        let mut from = at;
        while from < at + bytes.len() {
            let to = ((from / SECTOR_BYTES + 1) * SECTOR_BYTES).min(at + bytes.len());
            let stale = from >= safe.len() && self.happens(20);
            if self.happens(share) {
                let mut part = bytes[from - at..to - at].to_vec();
                if stale {
                    part.fill_with(|| self.random() as u8);
                }
                apply(safe, &Change::Write(from, part));
            }
            from = to;
        }
    }

    pub(super) fn restart(&mut self, loss: Loss) {
        self.life += 1;
        self.left = None;
        if loss == Loss::Process {
            return;
        }
        for change in std::mem::take(&mut self.pending) {
            if self.below(2) == 0 {
                rename(&mut self.safe, &change);
            }
        }
        for inode in 0..self.inodes.len() {
            self.settle(inode);
            self.inodes[inode].seen = self.inodes[inode].safe.clone();
        }
        self.seen = self.safe.clone();
        // Files without a name are gone; their numbers stay, as others' do not move.
        for inode in 0..self.inodes.len() {
            if !self.seen.values().any(|&named| named == inode) {
                self.inodes[inode] = Inode::default();
            }
        }
    }

    pub(super) fn turn_bit(&mut self, name: &str, byte: usize, bit: u8) -> bool {
        let Some(inode) = self.find(name) else { return false };
        let file = &mut self.inodes[inode];
        let mut turned = false;
        for bytes in [&mut file.seen, &mut file.safe] {
            if let Some(byte) = bytes.get_mut(byte) {
                *byte ^= 1 << (bit % 8);
                turned = true;
            }
        }
        turned
    }

    pub(super) fn files(&self) -> Vec<(String, Vec<u8>)> {
        let files = self.seen.iter();
        files.map(|(name, &inode)| (name.clone(), self.inodes[inode].seen.clone())).collect()
    }

    pub(super) fn put(&mut self, name: &str, bytes: &[u8]) {
        let inode = self.new_inode();
        self.inodes[inode].seen = bytes.to_vec();
        self.inodes[inode].safe = bytes.to_vec();
        self.seen.insert(name.to_owned(), inode);
        self.safe.insert(name.to_owned(), inode);
    }
}

fn rename(names: &mut BTreeMap<String, usize>, change: &NameChange) {
    match change {
        NameChange::Made(name, inode) => {
            names.insert(name.clone(), *inode);
        }
        NameChange::Renamed(from, to, inode) => {
            names.remove(from);
            names.insert(to.clone(), *inode);
        }
        NameChange::Removed(name) => {
            names.remove(name);
        }
    }
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Length(length) => bytes.resize(*length, 0),
        Change::Write(at, written) => {
            let end = at + written.len();
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            bytes[*at..end].copy_from_slice(written);
        }
    }
}
