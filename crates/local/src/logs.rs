//! Reading what jobs printed, in all their stretches, as one stream of bytes.

use crate::folder::{State, numbers};
use crate::wire::Brief;
use heeler_backend::{Labels, Piece};
use heeler_model::JobId;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Full files of an attempt: where they begin, and which they are, in order.
pub(crate) fn full(folder: &Path) -> Vec<(u64, PathBuf)> {
    let place = |path: &Path| {
        path.file_name()?.to_str()?.strip_prefix("out.")?.strip_suffix(".log")?.parse().ok()
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<(u64, PathBuf)> =
        entries.filter_map(|path| Some((place(&path)?, path))).collect();
    found.sort();
    found
}

/// Where the file that is being written begins, and how long it is.
pub(crate) fn current(folder: &Path) -> (u64, u64) {
    let start = full(folder).last().map_or(0, |(start, path)| start + length(path));
    (start, length(&folder.join("out.log")))
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |found| found.len())
}

/// What a job printed from a place on.
pub(crate) fn read(state: &State, job: JobId, from: u64, most: usize) -> io::Result<Piece> {
    let here = [state.job(job), state.kept().join(job.to_string())];
    let Some(folder) = here.iter().find(|folder| folder.is_dir()) else {
        return Ok(Piece { from, bytes: Vec::new() });
    };
    let attempts: Vec<PathBuf> =
        numbers(folder).iter().map(|number| folder.join(number.to_string())).collect();
    let own = attempts.iter().rev().find(|attempt| attempt.join("output").is_file());
    if let Some(attempt) = own {
        return read_own(attempt, from, most);
    }
    let mut before = 0;
    for attempt in &attempts {
        let mut files = full(attempt);
        let (start, _) = current(attempt);
        files.push((start, attempt.join("out.log")));
        for (start, path) in files {
            let (first, last) = (before + start, before + start + length(&path));
            if from < last {
                let place = from.max(first);
                let mut file = File::open(&path)?;
                file.seek(SeekFrom::Start(place - first))?;
                return piece(file, place, most);
            }
        }
        let (start, length) = current(attempt);
        before += start + length;
    }
    Ok(Piece { from: from.min(before), bytes: Vec::new() })
}

/// What stands in a file of the user's own. The server may be allowed to read what the user is
/// not, so only a plain file that belongs to the user is read.
fn read_own(attempt: &Path, from: u64, most: usize) -> io::Result<Piece> {
    let path = fs::read_to_string(attempt.join("output"))?;
    let flags = nix::libc::O_NONBLOCK | nix::libc::O_NOCTTY;
    let mut file = fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let found = file.metadata()?;
    let owner: Option<u32> = crate::folder::read(&attempt.join("owner"));
    if !found.is_file() || owner.is_some_and(|owner| owner != found.uid()) {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "the output file is not a plain file of the job's own user",
        ));
    }
    file.seek(SeekFrom::Start(from))?;
    piece(file, from, most)
}

fn piece(file: File, from: u64, most: usize) -> io::Result<Piece> {
    let mut bytes = Vec::new();
    file.take(most as u64).read_to_end(&mut bytes)?;
    Ok(Piece { from, bytes })
}

/// A path with what stands for numbers and names filled in.
pub(crate) fn expand(pattern: &str, brief: &Brief) -> String {
    let launch = &brief.launch;
    let node = brief.parts.first().map_or("localhost", |part| part.node.as_str());
    let labels = Labels {
        job: launch.job.0,
        array: launch.array,
        name: &launch.name,
        user: &launch.user,
        node: Some(node),
    };
    labels.fill(pattern)
}
