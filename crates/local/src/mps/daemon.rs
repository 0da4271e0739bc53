//! The daemon itself: started with folders of its own, asked now and then whether it lives, and
//! started anew when it does not. It outlives the server, as the jobs under it do.

use super::{MpsError, folders};
use heeler_backend::Identity;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = "nvidia-cuda-mps-control";
const PAUSE: Duration = Duration::from_millis(5);

/// What looking after the daemon came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tended {
    /// It lives.
    Alive,
    /// There was none, and now there is.
    Started,
    /// It was dead or did not answer, and was started anew.
    Recovered,
}

/// A daemon of one user. Its server serves one user's processes only; another user's wait until
/// those are done, so each user has a daemon.
#[derive(Clone, Debug)]
pub struct Daemon {
    program: PathBuf,
    folder: PathBuf,
    identity: Option<Identity>,
    answer: Duration,
}

impl Daemon {
    /// The daemon that lives in this folder, as this user where that may be chosen.
    pub fn new(folder: &Path, identity: Option<Identity>) -> Daemon {
        Daemon {
            program: PathBuf::from(PROGRAM),
            folder: folder.to_owned(),
            identity,
            answer: Duration::from_secs(10),
        }
    }

    /// The same with another control program.
    #[must_use]
    pub fn with_program(mut self, program: &Path) -> Daemon {
        program.clone_into(&mut self.program);
        self
    }

    /// The same with another limit on how long an answer may take.
    #[must_use]
    pub fn answering_within(mut self, answer: Duration) -> Daemon {
        self.answer = answer;
        self
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether the control program is there.
    pub fn is_installed(&self) -> bool {
        if self.program.components().count() > 1 {
            return self.program.is_file();
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(&self.program).is_file())
    }

    /// Make sure that it lives: start it if there is none, anew if it is dead or hangs.
    pub fn tend(&self) -> Result<Tended, MpsError> {
        if !self.is_installed() {
            let program = self.program.display().to_string();
            return Err(MpsError::NotInstalled { program });
        }
        if self.servers().is_ok() {
            return Ok(Tended::Alive);
        }
        let before = self.pid().is_some();
        self.clear()?;
        self.start()?;
        Ok(if before { Tended::Recovered } else { Tended::Started })
    }

    /// The servers it has started: none until the first client comes. This is its heartbeat.
    pub fn servers(&self) -> Result<Vec<i32>, MpsError> {
        let answer = self.ask("get_server_list")?;
        Ok(answer.split_whitespace().filter_map(|word| word.parse().ok()).collect())
    }

    /// End it, if it lives; its clients, if there are any, lose their GPU.
    pub fn stop(&self) -> Result<(), MpsError> {
        // It may be dead, or hang; what is left is ended by signal then.
        let _ = self.ask("quit");
        let begun = Instant::now();
        while self.lives() && begun.elapsed() < self.answer {
            std::thread::sleep(PAUSE);
        }
        self.clear()
    }

    fn start(&self) -> Result<(), MpsError> {
        for folder in folders(&self.folder).values() {
            let made = std::fs::create_dir_all(folder);
            made.map_err(|error| failed(&format!("making {folder}"), &error))?;
            if let Some(identity) = self.identity {
                let (uid, gid) = (identity.uid.into(), identity.gid.into());
                nix::unistd::chown(folder.as_str(), Some(uid), Some(gid))
                    .map_err(|error| failed(&format!("giving {folder} away"), &error))?;
            }
        }
        let status = self
            .command()
            .arg("-d")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .map_err(|error| failed("starting the daemon", &error))?;
        if !status.success() {
            return Err(failed("starting the daemon", &status));
        }
        let begun = Instant::now();
        loop {
            match self.servers() {
                Ok(_) => return Ok(()),
                Err(error) if begun.elapsed() > self.answer => return Err(error),
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.envs(folders(&self.folder)).env_remove("CUDA_VISIBLE_DEVICES");
        if let Some(identity) = self.identity {
            command.uid(identity.uid).gid(identity.gid);
        }
        command
    }

    /// Ask the daemon something, through the control program.
    fn ask(&self, question: &str) -> Result<String, MpsError> {
        let asking = || format!("asking {question:?}");
        let mut child = self
            .command()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| failed(&asking(), &error))?;
        // A program that ends without reading says so by its status.
        let input = child.stdin.take();
        let _ = input.map(|mut input| writeln!(input, "{question}"));
        let begun = Instant::now();
        let status = loop {
            match child.try_wait().map_err(|error| failed(&asking(), &error))? {
                Some(status) => break status,
                None if begun.elapsed() > self.answer => {
                    // It is our own child, and it hangs.
                    let _ = child.kill();
                    let _ = child.wait();
                    let (command, within_ms) = (question.to_owned(), self.answer.as_millis());
                    return Err(MpsError::NoAnswer { command, within_ms });
                }
                None => std::thread::sleep(PAUSE),
            }
        };
        let mut text = String::new();
        if let Some(mut output) = child.stdout.take() {
            output.read_to_string(&mut text).map_err(|error| failed(&asking(), &error))?;
        }
        if !status.success() {
            return Err(failed(&asking(), &format!("{status}: {}", text.trim())));
        }
        Ok(text)
    }

    /// The daemon's process, by the file it writes.
    fn pid(&self) -> Option<i32> {
        let file = self.folder.join("pipe").join(format!("{PROGRAM}.pid"));
        std::fs::read_to_string(file).ok()?.trim().parse().ok()
    }

    /// Whether the process of the file is there and is the daemon: numbers are used again.
    fn lives(&self) -> bool {
        let name = self.pid().map(|pid| std::fs::read(format!("/proc/{pid}/cmdline")));
        let wanted = self.program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.and_then(Result::ok)
            .is_some_and(|line| String::from_utf8_lossy(&line).contains(&wanted))
    }

    /// End a daemon that does not answer, and take away what it left: a new one refuses to start
    /// beside old pipes.
    fn clear(&self) -> Result<(), MpsError> {
        if let Some(pid) = self.pid().filter(|_| self.lives()) {
            // It may have gone meanwhile.
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        match std::fs::remove_dir_all(self.folder.join("pipe")) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(failed("clearing its pipes", &error))
            }
            _ => Ok(()),
        }
    }
}

fn failed(what: &str, message: &impl ToString) -> MpsError {
    MpsError::Failed { what: what.to_owned(), message: message.to_string() }
}
