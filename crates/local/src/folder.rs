//! What lies on disk for each job, and who may write it. An attempt belongs to whoever links its
//! `claim` first: a shepherd that starts it, or a server that declares that it never will.

use heeler_backend::Sign;
use heeler_model::{Generation, JobId};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The longest path a Unix socket can have, without the zero at its end.
pub(crate) const LONGEST_SOCKET: usize = 107;
/// The longest that is added to the state's folder: `/jobs/4294967295/4294967295/sock`.
pub(crate) const BELOW_STATE: usize = 32;

/// Who has an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Claim {
    /// The shepherd; none, if the attempt will never be started.
    pub(crate) shepherd: Option<Being>,
    /// The attempt that the shepherd was first started for, where its socket is; this one, if
    /// none is named.
    pub(crate) home: Option<Generation>,
    /// The cgroup of the job's processes.
    pub(crate) cgroup: Option<PathBuf>,
}

/// A process that cannot be taken for another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Being {
    /// Its number.
    pub(crate) pid: i32,
    /// When it was started, in the kernel's ticks since the machine was.
    pub(crate) start: u64,
    /// Which start of the machine that was.
    pub(crate) boot: String,
}

/// What runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Running {
    /// The ranks, in order.
    pub(crate) ranks: Vec<Being>,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Exit {
    /// What the server is told.
    pub(crate) sign: Sign,
    /// How each rank ended: its code, or its signal below zero.
    pub(crate) ranks: Vec<Option<i32>>,
    /// Ways to suspend it that were tried, and why they were not possible.
    #[serde(default)]
    pub(crate) tried: Vec<String>,
}

/// The folder of a whole state.
#[derive(Clone, Debug)]
pub(crate) struct State(pub(crate) PathBuf);

impl State {
    /// Of jobs that are not over.
    pub(crate) fn jobs(&self) -> PathBuf {
        self.0.join("jobs")
    }

    /// Of claims that shepherds without a job have ready.
    pub(crate) fn ready(&self) -> PathBuf {
        self.0.join("ready")
    }

    /// Of jobs that are over, with what they printed.
    pub(crate) fn kept(&self) -> PathBuf {
        self.0.join("kept")
    }

    /// Of a job.
    pub(crate) fn job(&self, job: JobId) -> PathBuf {
        self.jobs().join(job.to_string())
    }

    /// Of an attempt.
    pub(crate) fn attempt(&self, job: JobId, generation: Generation) -> Attempt {
        Attempt(self.job(job).join(generation.to_string()))
    }

    /// Attempts of a job, the oldest first.
    pub(crate) fn attempts(&self, job: JobId) -> Vec<(Generation, Attempt)> {
        let numbers = numbers(&self.job(job)).into_iter().map(Generation);
        numbers.map(|generation| (generation, self.attempt(job, generation))).collect()
    }
}

/// Numbers that are the names of what is in a folder, in order.
pub(crate) fn numbers(folder: &Path) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<u32> =
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    found.sort_unstable();
    found
}

/// The folder of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attempt(pub(crate) PathBuf);

impl Attempt {
    pub(crate) fn launch(&self) -> PathBuf {
        self.0.join("launch.json")
    }

    pub(crate) fn sock(&self) -> PathBuf {
        self.0.join("sock")
    }

    pub(crate) fn script(&self) -> PathBuf {
        self.0.join("script")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.0.join("out.log")
    }

    pub(crate) fn started(&self) -> PathBuf {
        self.0.join("started.json")
    }

    fn exit_file(&self) -> PathBuf {
        self.0.join("exit.json")
    }

    /// Make the folder. Others may pass through it (to a socket or a script that is theirs) when
    /// jobs run as other users, and see nothing.
    pub(crate) fn make(&self) -> io::Result<()> {
        make_folder(&self.0)
    }

    /// Who has it.
    pub(crate) fn claim(&self) -> Option<Claim> {
        let claim: Claim = read(&self.0.join("claim"))?;
        let own = || self.0.file_name()?.to_str()?.parse().ok().map(Generation);
        Some(Claim { home: claim.home.or_else(own), ..claim })
    }

    /// See to it that nobody ever starts it; says whether that worked.
    pub(crate) fn void(&self) -> io::Result<bool> {
        self.make()?;
        self.take(&Claim { shepherd: None, home: None, cgroup: None })
    }

    /// Take it, unless somebody has; says whether that worked.
    pub(crate) fn take(&self, claim: &Claim) -> io::Result<bool> {
        let mine = self.0.join(format!("claim.{}", std::process::id()));
        write(&mine, claim)?;
        let taken = self.take_with(&mine);
        fs::remove_file(&mine)?;
        taken
    }

    /// Take it with a claim that was written before. A link is there with all that is in it or
    /// not at all, and only one can be made.
    pub(crate) fn take_with(&self, claim: &Path) -> io::Result<bool> {
        match fs::hard_link(claim, self.0.join("claim")) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// How it ended.
    pub(crate) fn exit(&self) -> Option<Exit> {
        read(&self.exit_file())
    }

    /// How long ago that was written down.
    pub(crate) fn ended_ago_ms(&self) -> u64 {
        let written = self.exit_file().metadata().and_then(|file| file.modified()).ok();
        let ago = written.and_then(|at| at.elapsed().ok());
        ago.map_or(0, |ago| ago.as_millis() as u64)
    }

    /// Write how it ended so that it is there after a power loss.
    pub(crate) fn write_exit(&self, exit: &Exit) -> io::Result<()> {
        let draft = self.0.join("exit.json.new");
        let file = write(&draft, exit)?;
        file.sync_all()?;
        fs::rename(&draft, self.exit_file())?;
        File::open(&self.0)?.sync_all()
    }

    /// What was started.
    pub(crate) fn running(&self) -> Option<Running> {
        read(&self.started())
    }
}

/// Make a folder and those above it that only their owner can look into.
pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    let mode = if nix::unistd::geteuid().is_root() { 0o711 } else { 0o700 };
    fs::DirBuilder::new().recursive(true).mode(mode).create(path)
}

/// Read a value, if it is there whole.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// Write a value that only its owner may read.
pub(crate) fn write<T: Serialize>(path: &Path, value: &T) -> io::Result<File> {
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(&serde_json::to_vec(value)?)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_claim_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        let attempt = State(folder.path().into()).attempt(JobId(3), Generation(1));
        attempt.make().expect("a folder");
        let being = Being { pid: 1, start: 2, boot: "b".into() };
        let mine = Claim { shepherd: Some(being), home: None, cgroup: None };
        assert!(attempt.take(&mine).expect("it can be written"));
        assert!(!attempt.void().expect("it can be written"));
        assert_eq!(attempt.claim(), Some(Claim { home: Some(Generation(1)), ..mine }));
        assert_eq!(fs::read_dir(&attempt.0).expect("it is there").count(), 1);
    }

    #[test]
    fn attempts_come_in_order() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = State(folder.path().into());
        for generation in [10, 9, 2] {
            state.attempt(JobId(1), Generation(generation)).make().expect("a folder");
        }
        fs::create_dir(state.job(JobId(1)).join("checkpoint")).expect("a folder");
        let found: Vec<u32> = state.attempts(JobId(1)).into_iter().map(|(it, _)| it.0).collect();
        assert_eq!(found, [2, 9, 10]);
    }
}
