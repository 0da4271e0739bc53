//! Ending a job's processes: asked first, killed when their grace is over, until none is left.

use super::{PauseError, Process, Scope};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::time::{Duration, Instant};

/// How processes were ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// None was there.
    Already,
    /// They went when they were asked.
    Asked,
    /// They were killed.
    Killed,
}

const PAUSE: Duration = Duration::from_millis(2);
/// How long killed processes may take to go: the kernel may be busy for them.
const LAST: Duration = Duration::from_secs(60);

/// End all processes: ask with a signal, wait, kill. With no grace, kill at once.
pub fn end(scope: &Scope, signal: Signal, grace: Duration) -> Result<Ended, PauseError> {
    let processes = scope.processes()?;
    if processes.is_empty() {
        return Ok(Ended::Already);
    }
    if !grace.is_zero() {
        send(&processes, signal);
        // What stands still would not notice.
        send(&processes, Signal::SIGCONT);
        if gone(scope, grace, None)? {
            return Ok(Ended::Asked);
        }
    }
    if let Some(cgroup) = &scope.cgroup {
        // Ends what is frozen and what forks, too; where it is not permitted, signals follow.
        let _ = std::fs::write(cgroup.join("cgroup.kill"), "1");
    }
    if gone(scope, LAST, Some(Signal::SIGKILL))? {
        return Ok(Ended::Killed);
    }
    Err(PauseError::Moving { count: scope.processes()?.len(), within_ms: LAST.as_millis() })
}

/// Wait until none is left, sending a signal to whatever is there each time.
fn gone(scope: &Scope, within: Duration, signal: Option<Signal>) -> Result<bool, PauseError> {
    let begun = Instant::now();
    loop {
        let processes = scope.processes()?;
        if processes.is_empty() {
            return Ok(true);
        }
        if let Some(signal) = signal {
            send(&processes, signal);
        }
        if begun.elapsed() >= within {
            return Ok(false);
        }
        std::thread::sleep(PAUSE);
    }
}

fn send(processes: &[Process], signal: Signal) {
    for process in processes {
        // One that is gone needs no signal.
        let _ = kill(Pid::from_raw(process.pid), signal);
    }
}
