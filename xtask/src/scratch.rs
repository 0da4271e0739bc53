//! Folders for work that leaves nothing behind.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A new, empty folder that goes when this value goes.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Make a folder; `name` is part of what it is called.
    pub fn new(name: &str) -> io::Result<Scratch> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = MADE.fetch_add(1, Ordering::Relaxed);
            let folder = format!("heeler-{name}-{}-{number}", std::process::id());
            let path = std::env::temp_dir().join(folder);
            match std::fs::create_dir(&path) {
                // A run that was killed may have left its folder; take the next number.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(()) => return Ok(Scratch { path: path.canonicalize()? }),
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Write a file in it, with the folders above it.
    pub fn write(&self, file: &str, text: &str) -> io::Result<()> {
        let path = self.path.join(file);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(path, text)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A leftover in the system's own folder for such things harms nobody.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
