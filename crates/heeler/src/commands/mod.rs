//! The commands, one file each.

pub(crate) mod compare;
pub(crate) mod demo;
mod describe;
pub(crate) mod recipes;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod services;
pub(crate) mod sim;
pub(crate) mod trace;
pub(crate) mod tune;
mod verdict;
pub(crate) mod why;
pub(crate) mod worlds;

use std::path::{Path, PathBuf};

/// All files below a folder, in the order of their names.
pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    let below = |path: PathBuf| if path.is_dir() { files_below(&path) } else { vec![path] };
    paths.into_iter().flat_map(below).collect()
}
