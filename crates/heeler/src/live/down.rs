//! `heeler down`: end the server of this machine. Its jobs go on, and the next server finds them.

use super::lock;
use crate::client::address::variable;
use crate::client::state_folder;
use crate::mistake::Mistake;
use crate::show;
use anyhow::{Context, Result, bail};
use clap::Args;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[derive(Args)]
pub(crate) struct Down {
    /// The server's state folder [default: $HEELER_STATE, or the usual one]
    #[arg(long, value_name = "FOLDER")]
    state: Option<PathBuf>,
    /// Only to say that it is of no use here.
    #[arg(long, value_name = "ADDRESS", hide = true)]
    server: Option<String>,
    /// How long to wait for it to end, seconds
    #[arg(long, value_name = "S", default_value_t = 30)]
    timeout: u64,
}

impl Down {
    pub(crate) fn run(&self) -> Result<()> {
        self.check_place()?;
        let state = self.state.clone().unwrap_or_else(state_folder);
        let Some(holder) = lock::holder(&state)? else {
            let mistake = Mistake::new(format!("no server works in {}", state.display()));
            return Err(mistake.hint("say which with --state, or HEELER_STATE").into());
        };
        kill(Pid::from_raw(holder), Signal::SIGTERM)
            .with_context(|| format!("process {holder} cannot be told to end"))?;
        let begun = Instant::now();
        while lock::holder(&state)? == Some(holder) {
            if begun.elapsed() > Duration::from_secs(self.timeout) {
                bail!("process {holder} was told to end and has not in {} s", self.timeout);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        show::print("the server has ended; its jobs go on, and `heeler up` finds them again\n")
    }

    /// Who points elsewhere does not mean the server that happens to be here.
    fn check_place(&self) -> Result<(), Mistake> {
        let elsewhere = match (&self.server, variable("HEELER_SERVER")) {
            (Some(server), _) => format!("--server {server}"),
            (None, Some(server)) if self.state.is_none() => format!("HEELER_SERVER is {server}"),
            _ => return Ok(()),
        };
        let message = format!("{elsewhere}, and `heeler down` ends servers of this machine only");
        let hint = "name the server's folder with --state, or unset HEELER_SERVER; elsewhere, run \
                    `heeler down` on that machine";
        Err(Mistake::new(message).hint(hint))
    }
}
