//! A file of the simulated disk.

use super::state::State;
use crate::disk::DiskFile;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

/// An open file of a simulated disk.
#[derive(Debug)]
pub struct SimFile {
    pub(super) state: Arc<Mutex<State>>,
    pub(super) life: u64,
    pub(super) inode: usize,
}

impl SimFile {
    fn lock(&self) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.state.lock().expect("nobody panics while holding a simulated disk");
        state.operate(self.life)?;
        Ok(state)
    }
}

impl DiskFile for SimFile {
    fn read(&mut self) -> io::Result<Vec<u8>> {
        Ok(self.lock()?.read(self.inode))
    }

    fn write_at(&mut self, byte: u64, bytes: &[u8]) -> io::Result<usize> {
        self.lock()?.write(self.inode, byte as usize, bytes)
    }

    fn set_len(&mut self, bytes: u64) -> io::Result<()> {
        let mut state = self.lock()?;
        state.set_len(self.inode, bytes as usize);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.lock()?.sync(self.inode)
    }
}
