//! Starting a job's processes: its script, its output, its terminal, its ranks.

use super::environment::{self, Person, Rank};
use super::log::{Log, Viewers, follow};
use super::person;
use super::terminal::Terminal;
use crate::folder::{Attempt, State};
use crate::wire::Brief;
use heeler_backend::Resume;
use heeler_sys::birth::{Birth, arrange};
use heeler_sys::identity::become_user;
use heeler_sys::quick;
use nix::sys::signal::Signal;
use nix::unistd::{Gid, Uid, chown};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

/// What becomes of what a job prints.
#[derive(Default)]
pub(super) struct Printed {
    /// Closed when nobody can print any more and all of it is written down.
    pub(super) log: Option<Receiver<()>>,
    /// Its terminal.
    pub(super) terminal: Option<Terminal>,
}

/// Start a job in its attempt's folder, with its shepherd's socket, or say why that cannot be.
/// What was started before it failed has its number in `pids`, to be killed.
pub(super) fn start(
    brief: &Brief,
    folders: (&Attempt, &Path),
    person: Option<&Person>,
    pids: &mut Vec<i32>,
) -> Result<Outlet, String> {
    let (attempt, socket) = folders;
    let launch = &brief.launch;
    let folder = if launch.dir.is_empty() { "/" } else { &launch.dir };
    // Done by the whole shepherd, with the job's rights: processes begin where it stands.
    person::acting_as(person, || std::env::set_current_dir(folder))
        .map_err(|error| format!("the folder {folder}: {error}"))?;
    own_folder(brief, person).map_err(|error| format!("the checkpoint folder: {error}"))?;
    let program = program(brief, attempt, person).map_err(|error| format!("script: {error}"))?;
    let mut outlet = outlet(brief, attempt, person)?;
    let errors = errors(brief, person)?;
    let port = free_port().map_err(|error| format!("no free port: {error}"))?;
    let common = environment::common(brief, person, socket, port);
    for rank in environment::ranks(launch.ranks, &brief.parts) {
        let own = environment::of_rank(&rank, &brief.parts);
        let quick = match (&outlet, person) {
            (Outlet::Terminal(..), _) | (_, Some(_)) => None,
            (outlet, None) => quickly(&program, &common, &own, (outlet, errors.as_ref())),
        };
        if let Some(pid) = quick {
            pids.push(pid);
            continue;
        }
        let mut command = Command::new(&program[0]);
        command.args(&program[1..]).env_clear().envs(&common).envs(own);
        outlet.connect(&mut command).map_err(|error| format!("output: {error}"))?;
        if let Some(file) = &errors {
            command.stderr(file.try_clone().map_err(|error| format!("error: {error}"))?);
        }
        pids.push(spawn(&mut command, &rank, person, launch.terminal)?);
    }
    // The shepherd must not keep the job's folder from being unmounted.
    let _ = std::env::set_current_dir("/");
    Ok(outlet)
}

/// Start a process the quick way; if that fails, for whatever reason, the other one tells why.
fn quickly(
    program: &[OsString],
    common: &BTreeMap<String, String>,
    own: &[(&'static str, String)],
    (outlet, errors): (&Outlet, Option<&File>),
) -> Option<i32> {
    let output = match outlet {
        Outlet::Pipe(_, writer) => writer.as_fd(),
        Outlet::Own(file) => file.as_fd(),
        Outlet::Terminal(_, inside) => inside.as_fd(),
    };
    let nothing = File::open("/dev/null").ok()?;
    let mut environment = common.clone();
    environment.extend(own.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    let pair = |(name, value)| (OsString::from(name), OsString::from(value));
    let environment: Vec<_> = environment.into_iter().map(pair).collect();
    let files = [nothing.as_fd(), output, errors.map_or(output, File::as_fd)];
    let (words, orphaned) = (program, Signal::SIGKILL);
    let started =
        quick::start(&quick::Program { words, environment: &environment, files, orphaned });
    started.ok().map(nix::unistd::Pid::as_raw)
}

fn spawn(
    command: &mut Command,
    rank: &Rank,
    person: Option<&Person>,
    terminal: bool,
) -> Result<i32, String> {
    if let Some(person) = person {
        let groups = person.groups.iter().copied().map(Gid::from_raw).collect();
        let (user, group) = (Uid::from_raw(person.uid), Gid::from_raw(person.gid));
        become_user(command, user, group, groups);
    }
    let terminal = terminal && rank.rank == 0;
    arrange(command, Birth { session: true, terminal, orphaned: Some(Signal::SIGKILL) });
    let program = command.get_program().to_string_lossy().into_owned();
    let child = command.spawn().map_err(|error| format!("{program}: {error}"))?;
    Ok(child.id() as i32)
}

/// Where a job may save itself, below the state's folder; it may name another.
fn own_folder(brief: &Brief, person: Option<&Person>) -> io::Result<()> {
    let path = State(brief.state.clone()).job(brief.launch.job).join("checkpoint");
    if brief.launch.env.contains_key("HEELER_CHECKPOINT_DIR") || path.is_dir() {
        return Ok(());
    }
    fs::DirBuilder::new().mode(0o700).create(&path)?;
    give(&path, person)
}

/// Let a file of ours belong to whom the job runs as.
pub(super) fn give(path: &Path, person: Option<&Person>) -> io::Result<()> {
    if let Some(person) = person {
        chown(path, Some(Uid::from_raw(person.uid)), Some(Gid::from_raw(person.gid)))?;
    }
    Ok(())
}

/// What is run: the command, or the script with it as arguments.
fn program(brief: &Brief, attempt: &Attempt, person: Option<&Person>) -> io::Result<Vec<OsString>> {
    let words = brief.launch.command.iter().map(Into::into);
    let Some(text) = &brief.launch.script else {
        let words: Vec<_> = words.collect();
        let nothing = io::Error::new(io::ErrorKind::InvalidInput, "there is no command");
        return if words.is_empty() { Err(nothing) } else { Ok(words) };
    };
    let path = attempt.script();
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o700).open(&path)?;
    file.write_all(text.as_bytes())?;
    drop(file);
    give(&path, person)?;
    Ok(std::iter::once(path.into()).chain(words).collect())
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// Where processes print to.
pub(super) enum Outlet {
    /// Into a pipe whose other end is written to our files.
    Pipe(io::PipeReader, io::PipeWriter),
    /// Straight into a file of the user's.
    Own(File),
    /// Into a terminal.
    Terminal(Terminal, OwnedFd),
}

fn outlet(brief: &Brief, attempt: &Attempt, person: Option<&Person>) -> Result<Outlet, String> {
    let launch = &brief.launch;
    if launch.terminal {
        let (terminal, inside) = Terminal::open().map_err(|error| format!("terminal: {error}"))?;
        return Ok(Outlet::Terminal(terminal, inside));
    }
    let Some(pattern) = &launch.output else {
        let (reader, writer) = io::pipe().map_err(|error| format!("pipe: {error}"))?;
        return Ok(Outlet::Pipe(reader, writer));
    };
    let expanded = crate::logs::expand(pattern, brief);
    let (path, file) =
        open(brief, &expanded, person).map_err(|error| format!("output {expanded}: {error}"))?;
    let noted = fs::write(attempt.0.join("output"), path.display().to_string());
    let owner = person.map(|person| person.uid);
    let noted = noted.and_then(|()| crate::folder::write(&attempt.0.join("owner"), &owner));
    noted.map_err(|error| format!("output {expanded}: {error}"))?;
    Ok(Outlet::Own(file))
}

/// Where the standard error goes, if not with the output.
fn errors(brief: &Brief, person: Option<&Person>) -> Result<Option<File>, String> {
    let launch = &brief.launch;
    let Some(pattern) = launch.error.as_ref().filter(|_| !launch.terminal) else { return Ok(None) };
    if launch.output.as_ref() == Some(pattern) {
        return Ok(None);
    }
    let expanded = crate::logs::expand(pattern, brief);
    match open(brief, &expanded, person) {
        Ok((_, file)) => Ok(Some(file)),
        Err(error) => Err(format!("error {expanded}: {error}")),
    }
}

/// Open a file of the user's, with the user's rights. What begins again from the beginning writes
/// over; what goes on, or is tried again, adds.
fn open(brief: &Brief, name: &str, person: Option<&Person>) -> io::Result<(PathBuf, File)> {
    let fresh = brief.launch.restarts == 0 && brief.launch.resume == Resume::No;
    person::acting_as(person, || {
        let path = std::env::current_dir()?.join(name);
        let mut options = OpenOptions::new();
        let file = options.append(true).create(true).mode(0o666).open(&path)?;
        if fresh && file.metadata()?.is_file() {
            file.set_len(0)?;
        }
        Ok((path, file))
    })
}

impl Outlet {
    fn connect(&mut self, command: &mut Command) -> io::Result<()> {
        let (input, output, errors) = match self {
            Outlet::Pipe(_, writer) => {
                (Stdio::null(), writer.try_clone()?.into(), writer.try_clone()?.into())
            }
            Outlet::Own(file) => {
                (Stdio::null(), file.try_clone()?.into(), file.try_clone()?.into())
            }
            Outlet::Terminal(_, inside) => {
                let copy = || inside.try_clone().map(Stdio::from);
                (copy()?, copy()?, copy()?)
            }
        };
        command.stdin(input).stdout(output).stderr(errors);
        Ok(())
    }

    /// Write down what is printed from now on. If that cannot be, it is lost, and the job goes on.
    pub(super) fn follow(
        self,
        brief: &Brief,
        attempt: &Attempt,
        viewers: &Viewers,
    ) -> io::Result<Printed> {
        let (from, terminal): (Box<dyn io::Read + Send>, _) = match self {
            Outlet::Own(_) => return Ok(Printed::default()),
            Outlet::Pipe(reader, _) => (Box::new(reader), None),
            Outlet::Terminal(terminal, _) => (Box::new(terminal.reader()?), Some(terminal)),
        };
        let log = Log::open(&attempt.0, brief.log_bytes, brief.log_files);
        let viewers = Viewers::clone(viewers);
        let (written, closed) = channel();
        std::thread::Builder::new().spawn(move || {
            let _written = written;
            follow(from, log.ok(), &viewers);
        })?;
        Ok(Printed { log: Some(closed), terminal })
    }
}
