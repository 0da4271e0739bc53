//! The few things that a journal needs of a disk, so that it can be tried on a simulated one that
//! fails in every way a real one can.

use std::fmt::Debug;
use std::io;

/// A folder on a disk. Names are plain file names.
pub trait Disk: Debug + Send {
    /// A file of it.
    type File: DiskFile;

    /// The names of all files in it.
    fn list(&mut self) -> io::Result<Vec<String>>;

    /// Open a file for reading and writing; `create` makes an empty one, in place of any other.
    fn open(&mut self, name: &str, create: bool) -> io::Result<Self::File>;

    /// Give a file another name, in place of any other that has it.
    fn rename(&mut self, from: &str, to: &str) -> io::Result<()>;

    /// Remove a file.
    fn remove(&mut self, name: &str) -> io::Result<()>;

    /// Make names durable: what was created, renamed and removed.
    fn sync_names(&mut self) -> io::Result<()>;

    /// A number that nobody can foresee, so that bytes of one file never pass for those of
    /// another.
    fn salt(&mut self) -> u64;
}

/// An open file.
pub trait DiskFile: Debug + Send {
    /// All that is in it.
    fn read(&mut self) -> io::Result<Vec<u8>>;

    /// Write at a place; says how much was written, which may be less.
    fn write_at(&mut self, byte: u64, bytes: &[u8]) -> io::Result<usize>;

    /// Make it this long: cut, or filled up with zeros.
    fn set_len(&mut self, bytes: u64) -> io::Result<()>;

    /// Make its contents and its length durable.
    fn sync(&mut self) -> io::Result<()>;
}

/// Write all of it, however many pieces the disk takes it in.
pub(crate) fn write_all(file: &mut impl DiskFile, byte: u64, bytes: &[u8]) -> io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        match file.write_at(byte + done as u64, &bytes[done..]) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(some) => done += some,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
