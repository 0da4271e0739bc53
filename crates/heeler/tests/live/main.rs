//! The live commands as a person uses them: the real binary, a real server with emulated GPUs in a
//! temporary folder, real processes.

mod answers;
mod commands;
mod killing;
mod mistakes;
mod network;
mod recipes;
mod replaying;
mod restart;

use nix::unistd::Pid;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// A server in a folder of its own, ended with the test.
struct Place {
    folder: TempDir,
}

impl Place {
    /// A folder without a server.
    fn empty() -> Place {
        Place { folder: TempDir::new().expect("a temporary folder") }
    }

    /// A folder with a server of eight GPUs.
    fn new() -> Place {
        let place = Place::empty();
        place.up();
        place
    }

    fn up(&self) {
        let said = self.run("up --emulate 8xA100 --background").good();
        assert!(said.contains("the server answers at"), "{said}");
    }

    /// The process of the server, which the folder's lock names.
    fn server(&self) -> Pid {
        let ended = self.run("up --emulate 8xA100");
        let (_, rest) = ended.err.split_once("(process ").expect("a server works here");
        let number = rest.split(')').next().and_then(|text| text.parse().ok());
        Pid::from_raw(number.expect("a number"))
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).expect("a temporary file");
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap_or_default()
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_heeler"));
        command.current_dir(self.path()).env("HEELER_STATE", self.path().join("state"));
        command.env_remove("HEELER_SERVER").env_remove("HEELER_TOKEN");
        command
    }

    /// Run a command; words are split as a shell does.
    fn run(&self, line: &str) -> Ended {
        let words = shell_words::split(line).expect("a line that a shell understands");
        Ended::of(&self.command().args(words).output().expect("the program runs"))
    }

    fn json(&self, line: &str) -> serde_json::Value {
        let value: serde_json::Value = serde_json::from_str(&self.run(line).good()).expect("JSON");
        assert_eq!(value["version"], "v1", "{value}");
        value
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Jobs first: they outlive their server.
        self.run("cancel all");
        self.run("down");
    }
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
        assert_eq!(self.code, Some(0), "{}{}", self.out, self.err);
        self.out
    }

    /// What it said of a mistake.
    #[track_caller]
    fn mistake(self) -> String {
        assert_eq!(self.code, Some(2), "{}{}", self.out, self.err);
        self.err
    }
}
