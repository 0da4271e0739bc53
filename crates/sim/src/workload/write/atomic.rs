//! Files that are whole or not there: written beside their place under another name, then renamed.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Files that this process has begun.
static PARTS: AtomicU64 = AtomicU64::new(0);

/// Write a file, packed if its name ends in `.gz`, and put it in place when it is complete. If
/// anything goes wrong, what was there before stays.
pub fn replace_file<E: From<io::Error>>(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    // What a link points to is replaced, not the link; a device or a pipe is written to.
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let path = real.as_path();
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        let mut out = BufWriter::new(fs::OpenOptions::new().write(true).open(path)?);
        fill(&mut out)?;
        return Ok(out.flush()?);
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // Two threads may write the same at once.
    let number = PARTS.fetch_add(1, Ordering::Relaxed);
    let part = path.with_file_name(format!(".{name}.{}.{number}.part", std::process::id()));
    let written = write_part(path, &part, fill).and_then(|()| Ok(fs::rename(&part, path)?));
    if written.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&part);
    }
    written
}

fn write_part<E: From<io::Error>>(
    path: &Path,
    part: &Path,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let file = File::create(part)?;
    let mut out = BufWriter::new(file);
    if path.extension().is_some_and(|extension| extension == "gz") {
        let mut packed = GzEncoder::new(&mut out, Compression::default());
        fill(&mut packed)?;
        packed.finish()?;
    } else {
        fill(&mut out)?;
    }
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    Ok(file.sync_all()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::testing::folder;

    #[test]
    fn a_failed_write_leaves_what_was_there() {
        let folder = folder();
        let path = folder.join("f.csv");
        let write = |text: &'static str, fails: bool| {
            replace_file(&path, |out| -> io::Result<()> {
                out.write_all(text.as_bytes())?;
                if fails { Err(io::Error::other("the disk is full")) } else { Ok(()) }
            })
        };
        write("first", false).expect("written");
        assert!(write("second", true).is_err());
        assert_eq!(fs::read_to_string(&path).expect("a file"), "first");
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 1, "nothing is left lying");
        write("third", false).expect("written");
        assert_eq!(fs::read_to_string(&path).expect("a file"), "third");
        let link = folder.join("link.csv");
        std::os::unix::fs::symlink(&path, &link).expect("a link");
        replace_file(&link, |out| out.write_all(b"fourth")).expect("written");
        assert_eq!(fs::read_to_string(&path).expect("a file"), "fourth", "through the link");
        assert!(fs::symlink_metadata(&link).expect("a link").is_symlink());
        fs::remove_dir_all(folder).expect("a folder");
    }
}
