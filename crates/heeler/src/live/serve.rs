//! Where server and world meet: the server of this machine, and what looks after its jobs.

use super::up::Up;
use crate::mistake::Mistake;
use anyhow::Result;
use heeler_local::{Local, Setup};
use heeler_server::{Settings, Tcp};
use std::path::Path;
use std::process::ExitCode;

/// Serve until told to end.
pub(super) fn serve(up: &Up, state: &Path) -> Result<()> {
    heeler_server::log_to_stderr(&up.log, up.log_json).map_err(Mistake::new)?;
    let mut settings = Settings::new(state);
    settings.recipe.clone_from(&up.recipe);
    settings.seed = up.seed;
    settings.accounts = true;
    settings.keep_history = up.keep_history;
    settings.tcp = up.listen.map(|listen| Tcp { listen, tls: up.cert.clone().zip(up.key.clone()) });
    let mut setup = Setup::new(state);
    setup.emulate.clone_from(&up.emulate);
    heeler_server::serve(&settings, move |tell| {
        let world = Local::new(setup, tell).map_err(|error| error.to_string())?;
        Ok(Box::new(world))
    })?;
    Ok(())
}

/// Look after one job's processes. The server starts this, for each job that runs.
pub(crate) fn shepherd(words: Vec<String>) -> ExitCode {
    heeler_local::shepherd(words)
}
