//! Runs commands as a reader would type them: with `sh`, in an empty folder, with `heeler` on the
//! path.

use super::Setup;
use anyhow::{Context, Result};
use std::cell::RefCell;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How much of the output a failure shows.
const EXCERPT_LINES: usize = 30;

/// A place to run the commands of one file.
pub(super) struct Shell<'a> {
    setup: &'a Setup,
    path: OsString,
    /// The folder that the commands see.
    work: PathBuf,
    /// What the present command prints; a file, since a server in the background would keep a pipe
    /// open.
    output: PathBuf,
    /// Where `cargo install` may put things.
    installed: PathBuf,
    /// Where a server that a page starts keeps its things.
    state: PathBuf,
    /// Process groups of commands that left something running.
    background: RefCell<Vec<u32>>,
}

/// How a command ended.
pub(super) struct Outcome {
    /// The exit code; none when it was killed.
    pub(super) code: Option<i32>,
    /// What it printed, errors included.
    pub(super) output: String,
    stopped_after: Option<Duration>,
}

impl<'a> Shell<'a> {
    pub(super) fn new(setup: &'a Setup, place: &Path) -> Result<Shell<'a>> {
        let work = place.join("work");
        std::fs::create_dir(&work)?;
        let rest = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(setup.programs.clone()).chain(std::env::split_paths(&rest));
        let path = std::env::join_paths(folders).context("PATH cannot be extended")?;
        let (output, installed) = (place.join("output"), place.join("installed"));
        let (state, background) = (place.join("state"), RefCell::default());
        Ok(Shell { setup, path, work, output, installed, state, background })
    }

    /// Run a command to its end, or to the end of its time.
    pub(super) fn run(&self, command: &str) -> Result<Outcome> {
        let in_root = command.starts_with("cargo ");
        // What `cargo run` would build was built with the tests.
        let built = command.strip_prefix("cargo run --release -- ");
        let command = &built.map_or_else(|| command.to_owned(), |rest| format!("heeler {rest}"));
        let output = File::create(&self.output)?;
        let mut child = Command::new("sh")
            .args(["-c", command])
            .current_dir(if in_root { &self.setup.root } else { &self.work })
            .env("PATH", &self.path)
            .env("HEELER_REPO", &self.setup.root)
            .env("HEELER_STATE", &self.state)
            .env("CARGO_INSTALL_ROOT", &self.installed)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            // A group of its own, so that all of it can be stopped.
            .process_group(0)
            .spawn()
            .context("sh cannot be started")?;
        if command.split_whitespace().any(|word| word == "&") {
            self.background.borrow_mut().push(child.id());
        }
        let status = wait(&mut child, self.setup.limit)?;
        if status.is_none() {
            stop(child.id(), "KILL");
            child.kill()?;
            child.wait()?;
        }
        Ok(Outcome {
            code: status.and_then(|status| status.code()),
            output: String::from_utf8_lossy(&std::fs::read(&self.output)?).into_owned(),
            stopped_after: status.is_none().then_some(self.setup.limit),
        })
    }
}

impl Drop for Shell<'_> {
    fn drop(&mut self) {
        for group in self.background.borrow().iter() {
            stop(*group, "TERM");
        }
        if self.state.exists() {
            // A page may end with its server up; nothing of it may outlive the page.
            let _ = self.run("heeler cancel all; heeler down");
        }
    }
}

/// The status, unless it takes too long.
fn wait(child: &mut Child, limit: Duration) -> Result<Option<ExitStatus>> {
    let started = Instant::now();
    let mut pause = Duration::from_millis(1);
    while started.elapsed() < limit {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
    Ok(None)
}

/// Stop a process group. It may have ended by itself, which is as good.
fn stop(group: u32, signal: &str) {
    let kill = format!("kill -s {signal} -- -{group}");
    let _ = Command::new("sh").args(["-c", &kill]).stderr(Stdio::null()).status();
}

impl Outcome {
    /// How it ended, in words.
    pub(super) fn end(&self) -> String {
        match (self.stopped_after, self.code) {
            (Some(limit), _) => format!("nothing after {} s, so it was stopped", limit.as_secs()),
            (None, Some(code)) => format!("exit code {code}"),
            (None, None) => "it was killed".into(),
        }
    }

    /// The end of what it printed, indented.
    pub(super) fn excerpt(&self) -> String {
        let lines: Vec<_> = self.output.lines().collect();
        let left_out = lines.len().saturating_sub(EXCERPT_LINES);
        let mut text = match (lines.is_empty(), left_out) {
            (true, _) => "; it printed nothing".into(),
            (false, 0) => "; it printed".to_owned(),
            (false, _) => format!("; it printed, after {left_out} other lines"),
        };
        for line in &lines[left_out..] {
            text += "\n    | ";
            text += line;
        }
        text
    }
}
