//! `heeler up`: the server of this machine, in front or in the background.

use super::{lock, serve};
use crate::client::{Address, Client, socket_in, state_folder};
use crate::mistake::Mistake;
use crate::show;
use anyhow::{Context, Result, bail};
use clap::Args;
use heeler_api::ServerView;
use std::fs::OpenOptions;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  heeler up                                    this machine's GPUs
  heeler up --emulate 8xA100 --background      eight GPUs that are made up, on any machine
  heeler up --recipe tiresias --state ./state
  heeler up --listen 0.0.0.0:7070 --cert cert.pem --key key.pem

Jobs outlive the server: after `heeler down`, or after it was killed, `heeler up` finds them again.
What was handed in is safe on disk before it is answered.";

/// How long a server in the background may take to answer.
const START: Duration = Duration::from_secs(60);

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Up {
    /// The folder for journal, socket and output [default: $HEELER_STATE, else /var/lib/heeler for
    /// root and ~/.local/state/heeler for others]
    #[arg(long, value_name = "FOLDER")]
    state: Option<PathBuf>,
    /// Make up GPUs: 8xA100, or 2x8xA100 for two nodes [default: those that this machine has]
    #[arg(long, value_name = "GPUS", value_parser = emulated)]
    pub(super) emulate: Option<String>,
    /// The recipe that decides in a new state folder; an old one knows its own (`heeler recipe`)
    #[arg(long, short, value_name = "RECIPE", default_value = "heeler")]
    pub(super) recipe: String,
    /// The seed of all chance in a new state folder [default: drawn by lot]
    #[arg(long, value_name = "N")]
    pub(super) seed: Option<u64>,
    /// Also listen for those who come over the network, with tokens
    #[arg(long, value_name = "ADDRESS")]
    pub(super) listen: Option<SocketAddr>,
    /// The certificate chain for TLS, a PEM file
    #[arg(long, value_name = "FILE", requires_all = ["listen", "key"])]
    pub(super) cert: Option<PathBuf>,
    /// Its private key, a PEM file
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(super) key: Option<PathBuf>,
    /// Keep every record of the journal, so that `heeler replay` sees all that ever was
    #[arg(long)]
    pub(super) keep_history: bool,
    /// What is logged, such as info or info,heeler_server=debug
    #[arg(long, value_name = "FILTER", default_value = "info")]
    pub(super) log: String,
    /// Log in JSON
    #[arg(long)]
    pub(super) log_json: bool,
    /// Return when it answers; its log goes to server.log in the state folder
    #[arg(long, short)]
    background: bool,
    /// It was started by one that returned.
    #[arg(long, hide = true)]
    detached: bool,
}

/// Checked here, since it is a mistake of whoever types it.
fn emulated(text: &str) -> Result<String, String> {
    match text.parse::<heeler_local::Emulated>() {
        Ok(_) => Ok(text.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

impl Up {
    pub(crate) fn run(&self) -> Result<()> {
        let state = self.state.clone().unwrap_or_else(state_folder);
        if heeler_recipes::find(&self.recipe).is_none() {
            return Err(crate::arguments::no_such_recipe(&self.recipe).into());
        }
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o755).create(&state);
        made.map_err(|error| {
            Mistake::new(format!("{}: cannot be made: {error}", state.display()))
                .hint("name a folder that you can write to with --state")
        })?;
        let state = state.canonicalize()?;
        if self.background {
            return self.start_apart(&state);
        }
        if self.detached {
            // So that it stays when the terminal goes.
            nix::unistd::setsid().context("the server cannot leave this terminal")?;
        }
        let Some(_lock) = lock::take(&state)? else { return Err(taken(&state)) };
        serve::serve(self, &state)
    }

    /// Start one in the background, and wait until it answers.
    fn start_apart(&self, state: &Path) -> Result<()> {
        if lock::holder(state)?.is_some() {
            return Err(taken(state));
        }
        let path = state.join("server.log");
        let log = OpenOptions::new().create(true).append(true).open(&path);
        let log = log.with_context(|| format!("{} cannot be written", path.display()))?;
        let words =
            std::env::args_os().skip(1).filter(|word| word != "--background" && word != "-b");
        let mut child = Command::new(std::env::current_exe()?)
            .args(words)
            .arg("--detached")
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .context("the server cannot be started")?;
        let client = Client::at(Address::Socket(socket_in(state)))?;
        let begun = Instant::now();
        let server: ServerView = loop {
            if let Ok(server) = client.get("/v1/server") {
                break server;
            }
            if let Some(ended) = child.try_wait()? {
                bail!("the server ended at once ({ended}): {}", last_lines(&path));
            }
            if begun.elapsed() > START {
                bail!("the server does not answer; see {}", path.display());
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        for note in &server.notes {
            eprintln!("note: {note}");
        }
        show::print(&format!(
            "the server answers at {} (process {}); `heeler down` ends it\n",
            socket_in(state).display(),
            child.id()
        ))
    }
}

fn taken(state: &Path) -> anyhow::Error {
    let who = match lock::holder(state) {
        Ok(Some(process)) => format!(" (process {process})"),
        _ => String::new(),
    };
    let mistake = Mistake::new(format!("a server works in {} already{who}", state.display()));
    mistake.hint("`heeler down` ends it; --state names another folder").into()
}

/// What a log ends with.
fn last_lines(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let lines: Vec<&str> = text.lines().rev().take(3).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n  ")
}
