//! Where server and world meet: the server of this machine, and what looks after its jobs.

use super::up::Up;
use anyhow::Result;
use std::path::Path;
use std::process::ExitCode;

pub(super) fn serve(_: &Up, _: &Path) -> Result<()> {
    anyhow::bail!("no server yet")
}

pub(super) fn shepherd(_: &[String]) -> ExitCode {
    ExitCode::FAILURE
}
