//! A shepherd: the process that runs one job. It is ready before there is a job, has a session of
//! its own, outlives the server, and is the parent of everything that its job leaves behind.

mod desk;
mod ending;
mod environment;
mod herd;
mod log;
mod person;
mod sock;
mod start;
mod stopping;
mod terminal;

use crate::cgroup::Group;
use crate::folder::{Being, Claim, State, write};
use crate::process::being;
use crate::wire::{Brief, Heard, LONGEST_LINE, LONGEST_ORDER, Told};
use herd::Herd;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;

/// Be a shepherd: wait to be told over standard input what to run, and run it. The arguments are
/// `--state FOLDER`, and `--cgroup FOLDER` if jobs are put in control groups there.
pub fn shepherd(arguments: impl IntoIterator<Item = String>) -> ExitCode {
    let mut arguments = arguments.into_iter();
    let (mut state, mut cgroup) = (None, None);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--state" => state = arguments.next().map(PathBuf::from),
            "--cgroup" => cgroup = arguments.next().map(PathBuf::from),
            _ => {}
        }
    }
    let Some(state) = state else {
        eprintln!("a shepherd is started by the server, which says where its state is");
        return ExitCode::FAILURE;
    };
    // A process that leads its group already has no need to.
    let _ = nix::unistd::setsid();
    if let Err(error) = nix::sys::prctl::set_child_subreaper(true) {
        eprintln!("a shepherd cannot adopt orphans here: {error}");
        return ExitCode::FAILURE;
    }
    let group = cgroup.and_then(|folder| Group::prepare(&folder).ok());
    let ready = match Ready::new(&State(state), group) {
        Ok(ready) => ready,
        Err(error) => {
            eprintln!("a shepherd cannot get ready: {error}");
            return ExitCode::FAILURE;
        }
    };
    match wait() {
        Ok((brief, server)) => Herd::new(brief, ready, server).run(),
        // Nobody wanted it.
        Err(_) => {
            ready.leave();
            ExitCode::SUCCESS
        }
    }
}

/// What can be done before there is a job, so that the job need not wait for it.
struct Ready {
    me: Being,
    group: Option<Group>,
    claim: PathBuf,
}

impl Ready {
    fn new(state: &State, group: Option<Group>) -> std::io::Result<Ready> {
        let gone = || std::io::Error::other("/proc does not know this process");
        let me = being(std::process::id() as i32).ok_or_else(gone)?;
        let claim = state.ready().join(format!("{}-{}", me.pid, me.start));
        let cgroup = group.as_ref().map(|group| group.path.clone());
        write(&claim, &Claim { shepherd: Some(me.clone()), home: None, cgroup })?;
        Ok(Ready { me, group, claim })
    }

    fn leave(&self) {
        let _ = std::fs::remove_file(&self.claim);
        if let Some(group) = &self.group
            && group.leave().is_ok()
        {
            group.remove();
        }
    }
}

/// A line from a connection, unless it is too long or there is none.
fn line(reader: &mut impl BufRead, trusted: bool) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    reader
        .take(if trusted { LONGEST_ORDER } else { LONGEST_LINE })
        .read_until(b'\n', &mut line)
        .ok()?;
    (line.pop() == Some(b'\n')).then_some(line)
}

/// Wait to be told what to run.
fn wait() -> std::io::Result<(Brief, BufReader<UnixStream>)> {
    let stream = UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let mut reader = BufReader::new(stream);
    let nothing = || std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
    let line = line(&mut reader, true).ok_or_else(nothing)?;
    match serde_json::from_slice(&line).map_err(|_| nothing())? {
        Heard::Server(Told::Start(brief)) => Ok((*brief, reader)),
        _ => Err(nothing()),
    }
}
