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
use crate::folder::Attempt;
use crate::wire::{Brief, Heard, LONGEST_LINE, LONGEST_ORDER, Told};
use herd::Herd;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;

/// Be a shepherd. The arguments are `--wait` to be told over standard input what to run, or an
/// attempt's folder; and `--cgroup FOLDER` if jobs are put in control groups there.
pub fn shepherd(arguments: impl IntoIterator<Item = String>) -> ExitCode {
    let mut arguments = arguments.into_iter();
    let (mut folder, mut cgroup) = (None, None);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--wait" => {}
            "--cgroup" => cgroup = arguments.next().map(PathBuf::from),
            _ => folder = Some(Attempt(PathBuf::from(argument))),
        }
    }
    // A process that leads its group already has no need to.
    let _ = nix::unistd::setsid();
    if let Err(error) = nix::sys::prctl::set_child_subreaper(true) {
        eprintln!("heeler shepherd: cannot adopt orphans: {error}");
        return ExitCode::FAILURE;
    }
    let group = cgroup.and_then(|folder| Group::prepare(&folder).ok());
    let (brief, server) = match folder {
        Some(folder) => (crate::folder::read(&folder.launch()), None),
        None => match wait() {
            Ok((brief, stream)) => (Some(brief), Some(stream)),
            Err(_) => (None, None),
        },
    };
    let Some(brief) = brief else {
        // Nobody wanted it, or the folder has nothing to run.
        leave(group);
        return ExitCode::SUCCESS;
    };
    Herd::new(brief, group, server).run()
}

fn leave(group: Option<Group>) {
    if let Some(group) = group
        && group.leave().is_ok()
    {
        group.remove();
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
