//! A real folder, which one server at a time may have.

use crate::disk::{Disk, DiskFile};
use crate::error::JournalError;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Seek};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The file whose lock says that the folder is in use.
const LOCK: &str = "lock";

/// A folder for a journal. While it is there, nobody else can write to that folder.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// The folder itself, to sync the names in it.
    names: File,
    /// Held as long as the folder is; readers have none.
    _lock: Option<Flock<File>>,
}

impl Folder {
    /// Take a folder, which is made if it is not there, readable by its owner alone.
    pub fn open(path: &Path) -> Result<Folder, JournalError> {
        let shown = path.display().to_string();
        let fault = |doing, source| JournalError::io(doing, &shown, source);
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700).create(path).map_err(|e| fault("make folder", e))?;
        let lock = path.join(LOCK);
        let lock =
            OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(lock);
        let lock = lock.map_err(|error| fault("open the lock in", error))?;
        let lock = match Flock::lock(lock, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => lock,
            Err((_, Errno::EWOULDBLOCK)) => {
                return Err(JournalError::Busy { folder: path.to_owned() });
            }
            Err((_, errno)) => return Err(fault("lock", errno.into())),
        };
        let names = File::open(path).map_err(|error| fault("open folder", error))?;
        Ok(Folder { path: path.to_owned(), names, _lock: Some(lock) })
    }

    /// Look into a folder without taking it; nothing may be written through this.
    pub(crate) fn look(path: &Path) -> Result<Folder, JournalError> {
        let names = File::open(path);
        let shown = path.display().to_string();
        let names = names.map_err(|error| JournalError::io("open folder", &shown, error))?;
        Ok(Folder { path: path.to_owned(), names, _lock: None })
    }
}

impl Disk for Folder {
    type File = File;

    fn list(&mut self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    fn open(&mut self, name: &str, create: bool) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(self._lock.is_some());
        options.create(create).truncate(create).mode(0o600).open(self.path.join(name))
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn sync_names(&mut self) -> io::Result<()> {
        self.names.sync_all()
    }

    fn salt(&mut self) -> u64 {
        // A fresh state is keyed by the operating system's randomness.
        RandomState::new().build_hasher().finish()
    }
}

impl DiskFile for File {
    fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.rewind()?;
        self.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn write_at(&mut self, byte: u64, bytes: &[u8]) -> io::Result<usize> {
        FileExt::write_at(self, bytes, byte)
    }

    fn set_len(&mut self, bytes: u64) -> io::Result<()> {
        File::set_len(self, bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}
