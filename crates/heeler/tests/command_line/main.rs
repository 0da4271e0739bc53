//! The command line as a person uses it: the real binary, real files, what it prints and how it
//! ends.

mod asking;
mod comparing;
mod mistakes;
mod readme;
mod simulating;
mod traces;
mod tuning;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder of one test alone, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("heeler-command-line-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        Folder(folder)
    }

    /// Write a file.
    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.join(name), text).expect("a temporary file");
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    fn has(&self, name: &str) -> bool {
        self.0.join(name).exists()
    }

    /// Run `heeler` here.
    fn run(&self, arguments: &str) -> Ended {
        self.run_words(&arguments.split_whitespace().collect::<Vec<_>>())
    }

    fn run_words(&self, words: &[&str]) -> Ended {
        let output = heeler(&self.0).args(words).output().expect("the program runs");
        Ended::of(&output)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that stays behind does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn heeler(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heeler"));
    command.current_dir(folder);
    command
}

/// How a command ended.
#[derive(Debug)]
struct Ended {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Ended {
    fn of(output: &Output) -> Ended {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text in UTF-8");
        Ended { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }

    /// What it printed, if it went well.
    #[track_caller]
    fn good(self) -> String {
        assert_eq!(self.code, Some(0), "{}", self.err);
        self.out
    }

    /// What it printed as JSON, if it went well.
    #[track_caller]
    fn json(self) -> serde_json::Value {
        serde_json::from_str(&self.good()).expect("JSON")
    }

    /// What it said of a mistake.
    #[track_caller]
    fn mistake(self) -> String {
        assert_eq!(self.code, Some(2), "{}{}", self.out, self.err);
        assert_eq!(self.out, "", "nothing is printed when there is a mistake");
        self.err
    }
}

#[test]
fn every_command_has_help() {
    let folder = Folder::new();
    let help = folder.run("--help").good();
    let simulated = "demo sim compare tune report recipes worlds services trace bench";
    let jobs = "submit run queue show logs cancel hold release suspend resume requeue signal";
    let knowing = "why when whatif top events history usage evictions audit priority time-limit";
    let server = "up down server nodes drain undrain lose recipe tenant quota token";
    let all = [simulated, jobs, knowing, server].join(" ");
    for command in all.split(' ') {
        assert!(help.contains(&format!("  {command} ")), "{help}");
        let own = folder.run(&format!("{command} --help")).good();
        assert!(own.contains("Usage:"), "{own}");
    }
    assert!(folder.run("--version").good().starts_with("heeler "));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let folder = Folder::new();
    let mut command = heeler(&folder.0);
    command.arg("recipes").stdout(std::process::Stdio::piped());
    let mut child = command.spawn().expect("the program runs");
    drop(child.stdout.take());
    let status = child.wait().expect("it ends");
    assert!(status.success(), "{status}");
}
