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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use tempfile::TempDir;

    /// Stands for NVIDIA's program, which is not on machines without its driver: a daemon that
    /// does nothing, and a control that asks whether it is there.
    const CONTROL: &str = r#"#!/bin/sh
pipe="$CUDA_MPS_PIPE_DIRECTORY"
file="$pipe/nvidia-cuda-mps-control.pid"
case "$1" in
-d) [ -e "$file" ] && exit 1
    "$0" --serve </dev/null >/dev/null 2>&1 &
    echo $! > "$file"; exit 0 ;;
--serve) while :; do sleep 0.05; done ;;
esac
read question
[ -e "$pipe/hangs" ] && exec sleep 100
pid=$(cat "$file" 2>/dev/null) && grep -q serve "/proc/$pid/cmdline" 2>/dev/null || {
    echo "Cannot find MPS control daemon process"; exit 1; }
case "$question" in
get_server_list) cat "$pipe/servers" 2>/dev/null; exit 0 ;;
quit) kill "$pid"; exit 0 ;;
esac
"#;

    struct Place {
        folder: TempDir,
        daemon: Daemon,
        real: bool,
    }

    impl Place {
        /// With NVIDIA's program where there is one, else with what stands for it.
        fn new() -> Place {
            let folder = tempfile::tempdir().expect("a folder");
            let daemon = Daemon::new(&folder.path().join("mps"), None);
            if daemon.is_installed() {
                return Place { folder, daemon, real: true };
            }
            Place::with_stand_in()
        }

        fn with_stand_in() -> Place {
            let folder = tempfile::tempdir().expect("a folder");
            let program = folder.path().join(PROGRAM);
            std::fs::write(&program, CONTROL).expect("a script");
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&program, mode).expect("it may run");
            let daemon = Daemon::new(&folder.path().join("mps"), None).with_program(&program);
            Place { folder, daemon, real: false }
        }

        fn pipe(&self, name: &str) -> PathBuf {
            self.folder.path().join("mps").join("pipe").join(name)
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = self.daemon.stop();
        }
    }

    #[test]
    fn it_is_started_once_and_stopped() {
        let place = Place::new();
        assert!(place.daemon.servers().is_err());
        assert_eq!(place.daemon.tend(), Ok(Tended::Started));
        let pid = place.daemon.pid();
        assert_eq!(place.daemon.tend(), Ok(Tended::Alive));
        assert_eq!(place.daemon.pid(), pid);
        assert_eq!(place.daemon.servers(), Ok(vec![]));
        if !place.real {
            std::fs::write(place.pipe("servers"), "41\n42\n").expect("a list");
            assert_eq!(place.daemon.servers(), Ok(vec![41, 42]));
        }
        assert_eq!(place.daemon.stop(), Ok(()));
        assert!(!place.daemon.lives());
        assert!(!place.pipe("").exists());
    }

    #[test]
    fn a_dead_one_is_started_anew() {
        let place = Place::new();
        place.daemon.tend().expect("it starts");
        let pid = place.daemon.pid().expect("it says who it is");
        kill(Pid::from_raw(pid), Signal::SIGKILL).expect("it can be killed");
        while place.daemon.lives() {
            std::thread::sleep(PAUSE);
        }
        assert_eq!(place.daemon.tend(), Ok(Tended::Recovered));
        assert_ne!(place.daemon.pid(), Some(pid));
        assert_eq!(place.daemon.tend(), Ok(Tended::Alive));
    }

    #[test]
    fn one_that_hangs_is_ended_and_started_anew() {
        let mut place = Place::with_stand_in();
        place.daemon = place.daemon.clone().answering_within(Duration::from_secs(2));
        place.daemon.tend().expect("it starts");
        std::fs::write(place.pipe("hangs"), "").expect("a file");
        assert!(matches!(place.daemon.servers(), Err(MpsError::NoAnswer { .. })));
        assert_eq!(place.daemon.tend(), Ok(Tended::Recovered));
    }

    #[test]
    fn without_the_program_it_says_what_is_missing() {
        let folder = tempfile::tempdir().expect("a folder");
        let daemon = Daemon::new(folder.path(), None).with_program(Path::new("/nowhere/at-all"));
        let error = daemon.tend().expect_err("there is none");
        assert!(error.to_string().contains("comes with the NVIDIA driver"), "{error}");
    }
}
