//! The project's chores: `ci` runs everything, `tidy` checks the rules of the house, `docs` runs
//! the commands that the documentation shows. All of it is a library, so that tests can use it.

pub mod ci;
pub mod command_line;
pub mod docs;
mod python;
pub mod scratch;
pub mod tidy;
pub mod tree;

use std::path::{Path, PathBuf};
use std::process::Command;

/// The root of the repository.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask lies one level below the root").to_path_buf()
}

/// A cargo command that starts in the root: the same cargo that runs this program.
pub fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}
