//! What is left of jobs that are over: what they printed and saved stays for a while, the rest
//! goes at once.

use crate::core::Core;
use crate::folder::Being;
use heeler_model::JobId;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// What goes when a job is over.
const GOES: [&str; 8] = [
    "launch.json",
    "claim",
    "started.json",
    "exit.json",
    "stopped.json",
    "resumed.json",
    "script",
    "sock",
];

/// Put a job's folder aside, with what is worth keeping.
pub(crate) fn forget(core: &Core, job: JobId) {
    let folder = core.state.job(job);
    for (_, attempt) in core.state.attempts(job) {
        for name in GOES {
            let _ = fs::remove_file(attempt.0.join(name));
        }
        if fs::metadata(attempt.log()).is_ok_and(|found| found.len() == 0)
            && crate::logs::full(&attempt.0).is_empty()
        {
            let _ = fs::remove_file(attempt.log());
        }
        // One in which nothing is left goes, too.
        let _ = fs::remove_dir(&attempt.0);
    }
    let _ = fs::remove_dir(folder.join("checkpoint"));
    if fs::remove_dir(&folder).is_ok() || !folder.is_dir() {
        return;
    }
    let kept = core.state.kept();
    let moved = crate::folder::make_folder(&kept)
        .and_then(|()| fs::rename(&folder, kept.join(job.to_string())));
    if let Err(error) = moved {
        tracing::warn!(job = job.0, %error, "its folder could not be put aside");
    }
}

/// Remove folders of jobs that have been over for longer than they are kept.
pub(crate) fn sweep(kept: &Path, keep: Duration) {
    let now = SystemTime::now();
    for entry in fs::read_dir(kept).into_iter().flatten().flatten() {
        let changed = entry.metadata().and_then(|found| found.modified());
        let age = changed.ok().and_then(|at| now.duration_since(at).ok());
        if age.is_some_and(|age| age > keep) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Remove claims of shepherds that went away without a job.
pub(crate) fn clear_ready(ready: &Path) {
    for entry in fs::read_dir(ready).into_iter().flatten().flatten() {
        // By its name: what is in it may still be being written.
        let name = entry.file_name();
        let named = name.to_str().and_then(|name| name.split_once('-'));
        let shepherd = named.and_then(|(pid, start)| {
            let boot = crate::process::boot().to_owned();
            Some(Being { pid: pid.parse().ok()?, start: start.parse().ok()?, boot })
        });
        if !shepherd.is_some_and(|shepherd| crate::process::is_alive(&shepherd)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
