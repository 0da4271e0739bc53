//! Becoming somebody else between fork and exec, with all of their groups.

use nix::unistd::{Gid, Uid, setgroups, setresgid, setresuid};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Let a command's process run as a user, with that group and those others. Needs the right to.
pub fn become_user(command: &mut Command, user: Uid, group: Gid, groups: Vec<Gid>) -> &mut Command {
    let act = move || {
        setgroups(&groups)?;
        setresgid(group, group, group)?;
        setresuid(user, user, user)?;
        Ok(())
    };
    // SAFETY: the closure runs in the child after fork, where only async-signal-safe functions may
    // be called. It makes three system calls, allocates nothing and takes no lock; the list of
    // groups was made before the fork and is only read.
    unsafe { command.pre_exec(act) }
}
