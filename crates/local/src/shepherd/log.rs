//! What a job prints, written to files of limited size. Each full file is renamed after the place
//! of its first byte, so that a reader can count on from there when older ones are gone.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Those who look at a terminal.
pub(super) type Viewers = Arc<Mutex<Vec<UnixStream>>>;

/// Files that a job's output goes to.
pub(super) struct Log {
    folder: PathBuf,
    file: File,
    /// Where the file's first byte stands in all that was printed.
    start: u64,
    length: u64,
    most: u64,
    keep: usize,
}

impl Log {
    /// Begin, or go on after what is there.
    pub(super) fn open(folder: &Path, most: u64, keep: u32) -> io::Result<Log> {
        let (start, length) = crate::logs::current(folder);
        let file = begin(folder)?;
        // The newest full file has to stay: its name and length say where the next begins.
        let keep = (keep as usize).max(1);
        Ok(Log { folder: folder.to_owned(), file, start, length, most: most.max(1), keep })
    }

    /// Write some of it. A disk that is full must not stop the job, so what cannot be written is
    /// dropped.
    fn write(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = self.most.saturating_sub(self.length).min(bytes.len() as u64) as usize;
            let (now, later) = bytes.split_at(room);
            if self.file.write_all(now).is_err() {
                return;
            }
            self.length += room as u64;
            bytes = later;
            if self.length >= self.most && !self.turn() {
                return;
            }
        }
    }

    /// Put the full file aside and begin another.
    fn turn(&mut self) -> bool {
        let full = self.folder.join(format!("out.{}.log", self.start));
        let turned = fs::rename(self.folder.join("out.log"), full);
        match turned.and_then(|()| begin(&self.folder)) {
            Ok(file) => {
                self.start += self.file.metadata().map_or(self.length, |found| found.len());
                self.file = file;
                self.length = 0;
                let full = crate::logs::full(&self.folder);
                for (_, path) in full.iter().rev().skip(self.keep) {
                    let _ = fs::remove_file(path);
                }
                true
            }
            Err(_) => false,
        }
    }
}

fn begin(folder: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(folder.join("out.log"))
}

/// Write all that is printed until nobody can print any more, and show it to those who look.
pub(super) fn follow(mut from: impl Read, mut log: Option<Log>, viewers: &Viewers) {
    let mut buffer = vec![0; 64 << 10];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => {
                // Those who come now must see each byte once: either in the file or here.
                let mut viewers = viewers.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(log) = &mut log {
                    log.write(&buffer[..count]);
                }
                viewers.retain_mut(|viewer| viewer.write_all(&buffer[..count]).is_ok());
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // A terminal that nobody has open any more fails instead of ending.
            Err(_) => break,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_files_go_and_places_are_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let printed: Vec<u8> = (0..100).collect();
        let log = Log::open(folder.path(), 16, 2).expect("a file");
        follow(&printed[..], Some(log), &Viewers::default());
        let mut names: Vec<_> = fs::read_dir(folder.path()).expect("it is there").collect();
        names.sort_by_key(|entry| entry.as_ref().expect("an entry").file_name());
        assert_eq!(names.len(), 3, "two full ones and the current one");
        assert_eq!(fs::read(folder.path().join("out.log")).expect("a file"), &printed[96..]);
        assert_eq!(fs::read(folder.path().join("out.80.log")).expect("a file"), &printed[80..96]);
        let log = Log::open(folder.path(), 16, 2).expect("a file");
        assert_eq!((log.start, log.length), (96, 4));
    }
}
