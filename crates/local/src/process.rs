//! Processes as the kernel lists them: told apart by number and time of start, found by a mark in
//! their environment, and never signalled on a number alone.

use crate::folder::{Being, Claim, Running};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Which start of the machine this is.
pub(crate) fn boot() -> &'static str {
    static BOOT: OnceLock<String> = OnceLock::new();
    BOOT.get_or_init(|| {
        let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        id.trim().to_owned()
    })
}

/// A process that is there now.
pub(crate) fn being(pid: i32) -> Option<Being> {
    let (_, start) = stat(pid)?;
    Some(Being { pid, start, boot: boot().to_owned() })
}

/// Whether it is still there, and not merely waiting for its end to be noticed.
pub(crate) fn is_alive(being: &Being) -> bool {
    let there = stat(being.pid);
    being.boot == boot()
        && there.is_some_and(|(state, start)| start == being.start && !matches!(state, 'Z' | 'X'))
}

/// Its state and when it was started.
fn stat(pid: i32) -> Option<(char, u64)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold blanks and brackets; what follows the last bracket does not.
    let mut fields = text.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?.chars().next()?;
    Some((state, fields.nth(18)?.parse().ok()?))
}

/// Kill what a shepherd that is gone left behind: its ranks, everything in its cgroup, and
/// whatever carries its mark. Says whether all of it is gone.
pub(crate) fn kill_left(claim: &Claim, running: Option<&Running>, mark: &str) -> bool {
    let begun = Instant::now();
    loop {
        if let Some(cgroup) = &claim.cgroup {
            // The folder may be gone, and then nothing is in it.
            let _ = fs::write(cgroup.join("cgroup.kill"), "1");
        }
        let ranks = running.into_iter().flat_map(|running| &running.ranks).cloned();
        let mut left: Vec<Being> = ranks.filter(is_alive).collect();
        left.extend(marked(mark));
        if left.is_empty() {
            let _ = claim.cgroup.as_ref().map(fs::remove_dir);
            return true;
        }
        for one in &left {
            if is_alive(one) {
                let _ = kill(Pid::from_raw(one.pid), Signal::SIGKILL);
            }
        }
        if begun.elapsed() > Duration::from_secs(20) {
            return false;
        }
        // The kernel takes a moment to end what was killed, and tells nobody but its parent.
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Processes that have a variable of exactly this value in their environment.
fn marked(mark: &str) -> Vec<Being> {
    let me = std::process::id() as i32;
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let carries = |pid: &i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    };
    let found = pids.filter(|pid| *pid != me && carries(pid)).filter_map(being);
    found.filter(is_alive).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn another_process_of_the_same_number_is_another() {
        let me = being(std::process::id() as i32).expect("this one is there");
        assert!(is_alive(&me));
        assert!(!is_alive(&Being { start: me.start + 1, ..me.clone() }));
        assert!(!is_alive(&Being { boot: "another".into(), ..me }));
    }

    #[test]
    fn what_carries_the_mark_is_killed_and_nothing_else() {
        let mark = format!("HEELER_SOCKET=test-{}", std::process::id());
        let (name, value) = mark.split_once('=').expect("a variable");
        let sleep = |value: &str| Command::new("sleep").arg("60").env(name, value).spawn();
        let mut ours = sleep(value).expect("sleep runs");
        let mut other = sleep("other").expect("sleep runs");
        let nobody = Claim { shepherd: None, home: None, cgroup: None };
        // Until its program is loaded, a process still has its parent's environment.
        while marked(&mark).is_empty() {
            std::thread::yield_now();
        }
        assert!(kill_left(&nobody, None, &mark));
        assert!(!ours.wait().expect("it ends").success());
        assert_eq!(other.try_wait().expect("it can be asked"), None);
        other.kill().expect("it can be killed");
        other.wait().expect("it ends");
    }
}
