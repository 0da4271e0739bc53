//! What a child process does between fork and exec: a session of its own, a terminal of its own,
//! and dying with its parent. Only calls that are safe after a fork are made.

use nix::libc;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getpid, getppid, setsid};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// How a child begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Birth {
    /// Whether it leads a session of its own, so that no terminal's signals reach it.
    pub session: bool,
    /// Whether its standard input is the terminal that its session talks to. Needs `session`.
    pub terminal: bool,
    /// The signal it gets when its parent dies. The kernel sends it when the *thread* that
    /// started the child ends, so that thread has to live as long as the child.
    pub orphaned: Option<Signal>,
}

/// Let a command's process begin so.
pub fn arrange(command: &mut Command, birth: Birth) -> &mut Command {
    let parent = getpid();
    // SAFETY: the closure runs in the child after fork, where only async-signal-safe functions may
    // be called. It makes the system calls setsid, ioctl, prctl and getppid, allocates nothing,
    // takes no lock, and touches only values that were copied into it.
    unsafe { command.pre_exec(move || begin(birth, parent)) }
}

fn begin(birth: Birth, parent: Pid) -> io::Result<()> {
    if birth.session {
        setsid()?;
    }
    if birth.terminal {
        // SAFETY: TIOCSCTTY takes an integer, no pointer; file descriptor 0 is open in the child,
        // and if it is no terminal the call fails with ENOTTY.
        let code = unsafe { libc::ioctl(0, libc::TIOCSCTTY, 0) };
        if code != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    if let Some(signal) = birth.orphaned {
        nix::sys::prctl::set_pdeathsig(signal)?;
        // The parent may have died before the call above, and then no signal ever comes.
        if getppid() != parent {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;

    /// Field `number` of a process's stat line, counted after its name.
    fn stat(pid: u32, number: usize) -> String {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("its stat line");
        let after = text.rsplit_once(") ").expect("a name in brackets").1.to_owned();
        after.split(' ').nth(number).expect("enough fields").to_owned()
    }

    #[test]
    fn a_child_leads_a_session_of_its_own() {
        let mut command = Command::new("sleep");
        let birth = Birth { session: true, ..Birth::default() };
        let mut child = arrange(command.arg("60"), birth).spawn().expect("sleep runs");
        assert_eq!(stat(child.id(), 3), child.id().to_string());
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
    }

    #[test]
    fn a_child_dies_with_the_thread_that_started_it() {
        let starter = std::thread::spawn(|| {
            let birth = Birth { orphaned: Some(Signal::SIGKILL), ..Birth::default() };
            arrange(Command::new("sleep").arg("60"), birth).spawn().expect("sleep runs")
        });
        let mut child = starter.join().expect("the thread ends");
        let status = child.wait().expect("it ends");
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
    }

    #[test]
    fn what_is_no_terminal_is_refused() {
        let mut command = Command::new("true");
        let birth = Birth { session: true, terminal: true, ..Birth::default() };
        let error = arrange(command.stdin(Stdio::null()), birth).spawn().expect_err("no terminal");
        assert_eq!(error.raw_os_error(), Some(libc::ENOTTY));
    }
}
