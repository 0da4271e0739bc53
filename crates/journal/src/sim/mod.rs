//! A disk in memory that fails in every way a real one can, as its seed says: power that goes with
//! some sectors written and others not, names that were not synced, syncs that fail and forget
//! what was to be written, short writes, no room, bits that turn.

mod file;
mod state;

pub use file::SimFile;

use crate::disk::Disk;
use state::{NameChange, State};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

/// What is lost when everything stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The process ended: what it wrote is still there, synced or not.
    Process,
    /// The power went: of what was not synced, any sectors may be there, and others not.
    Power,
}

/// How often something fails: so many times in a thousand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SimFaults {
    /// Writes that take only a part of the bytes, and say so.
    pub short_permille: u32,
    /// Writes that fail after a part of the bytes.
    pub write_permille: u32,
    /// Syncs that fail, after which nobody will write what they should have.
    pub sync_permille: u32,
    /// How many bytes all files may have.
    pub capacity_bytes: Option<u64>,
}

/// A simulated folder. Clones are the same folder; what was opened before a restart is dead.
#[derive(Clone, Debug)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
    life: u64,
}

impl SimDisk {
    /// An empty one, which behaves as the seed says.
    pub fn new(seed: u64) -> SimDisk {
        SimDisk { state: Arc::new(Mutex::new(State::new(seed))), life: 0 }
    }

    /// From now on, things fail so often.
    pub fn set_faults(&self, faults: SimFaults) {
        self.lock().faults = faults;
    }

    /// After so many more operations, everything stops: the last is done in part, and all that
    /// come later fail until a restart.
    pub fn stop_after(&self, operations: u64) {
        self.lock().left = Some(operations);
    }

    /// Whether it has stopped.
    pub fn stopped(&self) -> bool {
        self.lock().left == Some(0)
    }

    /// How many operations there were in all.
    pub fn operations(&self) -> u64 {
        self.lock().operations
    }

    /// Everything stops, and starts again with what is left.
    pub fn restart(&self, loss: Loss) -> SimDisk {
        let mut state = self.lock();
        state.restart(loss);
        SimDisk { state: Arc::clone(&self.state), life: state.life }
    }

    /// Turn a bit of a file, as age and rays do. Says whether there is such a file and place.
    pub fn turn_bit(&self, name: &str, byte: usize, bit: u8) -> bool {
        self.lock().turn_bit(name, byte, bit)
    }

    /// The names and contents of all files.
    pub fn files(&self) -> Vec<(String, Vec<u8>)> {
        self.lock().files()
    }

    /// Put a file there, durably.
    pub fn put(&self, name: &str, bytes: &[u8]) {
        self.lock().put(name, bytes);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics while holding a simulated disk")
    }
}

impl Disk for SimDisk {
    type File = SimFile;

    fn list(&mut self) -> io::Result<Vec<String>> {
        let mut state = self.lock();
        state.operate(self.life)?;
        Ok(state.names())
    }

    fn open(&mut self, name: &str, create: bool) -> io::Result<SimFile> {
        let mut state = self.lock();
        state.operate(self.life)?;
        let inode = match state.find(name) {
            // A file that was there loses its contents; that it does is no matter of names.
            Some(inode) if create => {
                state.set_len(inode, 0);
                inode
            }
            Some(inode) => inode,
            None if create => {
                let inode = state.new_inode();
                state.change(NameChange::Made(name.to_owned(), inode));
                inode
            }
            None => return Err(io::ErrorKind::NotFound.into()),
        };
        Ok(SimFile { state: Arc::clone(&self.state), life: self.life, inode })
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.lock();
        state.operate(self.life)?;
        let inode = state.find(from).ok_or(io::ErrorKind::NotFound)?;
        state.change(NameChange::Renamed(from.to_owned(), to.to_owned(), inode));
        Ok(())
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        let mut state = self.lock();
        state.operate(self.life)?;
        state.find(name).ok_or(io::ErrorKind::NotFound)?;
        state.change(NameChange::Removed(name.to_owned()));
        Ok(())
    }

    fn sync_names(&mut self) -> io::Result<()> {
        let mut state = self.lock();
        state.operate(self.life)?;
        state.sync_names()
    }

    fn salt(&mut self) -> u64 {
        self.lock().random()
    }
}
