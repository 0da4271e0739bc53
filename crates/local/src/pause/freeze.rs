//! Making a whole tree of processes stand still without a gap: by the freezer of its cgroup where
//! that is permitted, else by signals, repeated until nothing moves and nothing new appears.

use super::{PauseError, Process, Scope};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

/// What holds processes still.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// The freezer of their cgroup.
    Cgroup,
    /// A signal to each.
    Signals,
}

/// Processes that stand still.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frozen {
    /// What holds them.
    pub by: By,
    /// Those that were signalled, in that order; what had stopped by itself is not among them, so
    /// that it does not go on by mistake.
    pub signalled: Vec<i32>,
    /// How many stand still.
    pub count: usize,
}

/// How long processes that only wait for the kernel are waited for: a parent whose child was
/// stopped before it ran its program waits for that child, and never stops by itself.
const PATIENCE: Duration = Duration::from_millis(200);
const PAUSE: Duration = Duration::from_millis(1);

/// Make all processes stand still. What fails is undone.
pub fn freeze(scope: &Scope, within: Duration) -> Result<Frozen, PauseError> {
    let by = match &scope.cgroup {
        Some(cgroup) if set(cgroup, "1") && settled(cgroup, within) => By::Cgroup,
        _ => By::Signals,
    };
    let mut signalled = Vec::new();
    let stopped = stop_all(scope, by, within, &mut signalled);
    if by == By::Signals || stopped.is_err() {
        let _ = scope.cgroup.as_ref().map(|cgroup| set(cgroup, "0"));
    }
    if stopped.is_err() {
        wake(&signalled, |_| true);
    }
    stopped.map(|count| Frozen { by, signalled, count })
}

/// Let processes go on that were made to stand still.
pub fn thaw(scope: &Scope, frozen: &Frozen) -> Result<(), PauseError> {
    if let Some(cgroup) = scope.cgroup.as_ref().filter(|_| frozen.by == By::Cgroup)
        && !set(cgroup, "0")
    {
        return Err(PauseError::Processes {
            what: format!("writing {}", cgroup.join("cgroup.freeze").display()),
            message: "the cgroup stays frozen".to_owned(),
        });
    }
    let there: BTreeSet<i32> = scope.processes()?.iter().map(|process| process.pid).collect();
    wake(&frozen.signalled, |pid| there.contains(&pid));
    Ok(())
}

/// Signal whatever moves, but not what the freezer holds.
fn stop_all(
    scope: &Scope,
    by: By,
    within: Duration,
    signalled: &mut Vec<i32>,
) -> Result<usize, PauseError> {
    let begun = Instant::now();
    let mut known = BTreeSet::new();
    let mut calm = false;
    loop {
        let held = if by == By::Cgroup { scope.members() } else { BTreeSet::new() };
        let processes = scope.processes()?;
        let moves = |process: &&Process| !process.is_still() && !held.contains(&process.pid);
        let moving = || processes.iter().filter(moves);
        for process in moving() {
            match kill(Pid::from_raw(process.pid), Signal::SIGSTOP) {
                Ok(()) if known.insert(process.pid) => signalled.push(process.pid),
                Ok(()) | Err(Errno::ESRCH) => {}
                Err(error) => {
                    return Err(PauseError::Processes {
                        what: format!("stopping process {}", process.pid),
                        message: error.to_string(),
                    });
                }
            }
        }
        let waits = begun.elapsed() > PATIENCE
            && moving().all(|process| process.state == 'D' && known.contains(&process.pid));
        let still = moving().next().is_none() || waits;
        if still && calm {
            // It ended by itself while it was being stopped: that is no sleep.
            return if processes.is_empty() { Err(PauseError::Gone) } else { Ok(processes.len()) };
        }
        if begun.elapsed() > within {
            let count = moving().count();
            return Err(PauseError::Moving { count, within_ms: within.as_millis() });
        }
        // A process may have been born, and its parent have gone, while the list was being read:
        // only a second look at a tree in which nothing moved is sure.
        calm = still;
        if !still {
            std::thread::sleep(PAUSE);
        }
    }
}

/// Children first: a shell that wakes must not find its child stopped, and take that for the
/// user's wish.
fn wake(signalled: &[i32], there: impl Fn(i32) -> bool) {
    for pid in signalled.iter().rev().filter(|pid| there(**pid)) {
        // One that is gone cannot be woken, and need not be.
        let _ = kill(Pid::from_raw(*pid), Signal::SIGCONT);
    }
}

fn set(cgroup: &Path, value: &str) -> bool {
    let file = cgroup.join("cgroup.freeze");
    file.exists() && std::fs::write(file, value).is_ok()
}

fn settled(cgroup: &Path, within: Duration) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < within {
        let events = std::fs::read_to_string(cgroup.join("cgroup.events")).unwrap_or_default();
        if events.lines().any(|line| line == "frozen 1") {
            return true;
        }
        std::thread::sleep(PAUSE);
    }
    false
}
