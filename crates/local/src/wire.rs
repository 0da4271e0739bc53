//! What a server and a shepherd say to each other, and what a job says to its shepherd: one JSON
//! value a line.

use crate::inventory::Part;
use heeler_backend::{Launch, Sign, Way, Window};
use heeler_model::Generation;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

/// The longest line that is read from a job: nobody may fill a shepherd's memory.
pub(crate) const LONGEST_LINE: u64 = 256 << 10;
/// The longest line that is read from the server's user.
pub(crate) const LONGEST_ORDER: u64 = 64 << 20;

/// Everything a shepherd needs to know of an attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Brief {
    /// What to run.
    pub(crate) launch: Launch,
    /// Where, as the processes see it.
    pub(crate) parts: Vec<Part>,
    /// The state's folder.
    pub(crate) state: PathBuf,
    /// Bytes of output after which a new file is begun.
    pub(crate) log_bytes: u64,
    /// Full files that are kept.
    pub(crate) log_files: u32,
    /// Milliseconds at least between two reports that are passed on.
    pub(crate) report_ms: u64,
    /// Whether the GPUs are made up.
    pub(crate) emulated: bool,
    /// Variables that let it share a GPU.
    pub(crate) sharing: std::collections::BTreeMap<String, String>,
}

/// What a shepherd is told by its server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Told {
    /// Start this.
    Start(Box<Brief>),
    /// Say how things are; who says so is the server from now on.
    Hello,
    /// Let the suspended processes go on as this attempt.
    Resume(Box<Brief>),
    /// Clear the GPUs.
    Stop {
        /// The attempt that is meant.
        generation: Generation,
    },
    /// End for good.
    End {
        /// The attempt that is meant.
        generation: Generation,
        /// Whether to kill at once.
        now: bool,
    },
    /// Kill at once, and say that it was lost.
    Lose {
        /// The attempt that is meant.
        generation: Generation,
    },
    /// Pass a signal on.
    Signal {
        /// The attempt that is meant.
        generation: Generation,
        /// Its number.
        signal: i32,
    },
}

/// What a shepherd says to its server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Says {
    /// Something happened.
    Sign(Sign),
    /// How things are.
    State {
        /// The latest attempt.
        generation: Generation,
        /// What it is doing.
        stage: Stage,
    },
    /// Somebody else has the attempt.
    Taken,
    /// It could not go on, and still sleeps; or nothing is left of it.
    NotResumed {
        /// The attempt that was asked for.
        generation: Generation,
        /// Why.
        message: String,
    },
}

/// What an attempt is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Stage {
    /// Its processes run, or are being let go on.
    Runs {
        /// Milliseconds from the order until they did.
        took_ms: u64,
        /// Whether they went on where they had stopped.
        resumed: bool,
    },
    /// It is being suspended or ended.
    Stops,
    /// It is suspended.
    Sleeps {
        /// How.
        way: Way,
        /// Milliseconds until its GPUs were free.
        took_ms: u64,
    },
}

/// The first thing that somebody says who connects to a shepherd.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Heard {
    /// A job reports.
    Report(serde_json::Value),
    /// A job has saved itself, because it was asked to.
    Saved(serde_json::Value),
    /// Somebody wants to see and use the terminal.
    Attach(Window),
    /// The server says something.
    Server(Told),
}

/// What a job is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "request", rename_all = "kebab-case")]
pub(crate) enum Request {
    /// Save, and end if it says so.
    Save {
        /// Whether to end afterwards.
        stop: bool,
        /// Seconds until it is ended otherwise.
        grace_s: u64,
    },
}

/// Send a value as a line, all at once so that lines of several threads do not mix.
pub(crate) fn send<T: Serialize>(mut stream: &UnixStream, value: &T) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    stream.write_all(&line)
}
