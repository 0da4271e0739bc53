//! Whether results will find their place: asked before simulations that may take hours, not after.

use crate::mistake::Mistake;
use anyhow::Result;
use std::fs;
use std::io;
use std::path::Path;

/// Whether a file can be put in this place, which an option such as `--report` names.
pub(super) fn check_file(path: &Path, option: &str) -> Result<()> {
    probe(path).map_err(|error| {
        let message = format!("{} cannot be written: {error}", path.display());
        let hint = format!("{option} names a file in a folder that is there and can be written to");
        Mistake::new(message).hint(hint).into()
    })
}

/// Whether files can be put into a folder.
pub(super) fn check_folder(folder: &Path) -> io::Result<()> {
    let name = format!(".heeler-{}.probe", std::process::id());
    let probe = folder.join(name);
    fs::File::create(&probe)?;
    fs::remove_file(&probe)
}

fn probe(path: &Path) -> io::Result<()> {
    // What a link points to is written to, as when the file is put in its place.
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    match fs::metadata(&real) {
        Ok(found) if found.is_dir() => Err(io::Error::other("it is a folder")),
        // A device or a pipe shows only when it is written to.
        Ok(found) if !found.is_file() => Ok(()),
        _ => {
            let folder = real.parent().filter(|folder| !folder.as_os_str().is_empty());
            check_folder(folder.unwrap_or(Path::new(".")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_take_no_file_are_found_and_nothing_is_left_behind() {
        let folder = std::env::temp_dir().join(format!("heeler-writable-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a temporary folder");
        assert!(check_file(&folder.join("r.html"), "--report").is_ok());
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 0);
        assert!(check_file(&folder, "--report").is_err(), "a folder is no file");
        let said = check_file(&folder.join("none/r.html"), "--report").expect_err("no folder");
        assert!(said.to_string().contains("none/r.html cannot be written"), "{said}");
        assert!(check_file(Path::new("/dev/null"), "--report").is_ok());
        fs::remove_dir_all(&folder).expect("it was made here");
    }
}
