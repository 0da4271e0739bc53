//! Starting a process without copying its parent: the child borrows the parent's memory until it
//! becomes another program, and the parent stands still meanwhile. A fork copies the parent's page
//! tables and takes a fault for every page touched after it, which takes as long as all the rest of
//! starting a small program.

use nix::errno::Errno;
use nix::libc::{self, c_char, c_int, c_void};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, pthread_sigmask};
use nix::unistd::{Pid, getpid};
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What is started, in a session of its own and in the folder where its parent stands.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// Program and arguments; the program is looked for in the `PATH` of its environment.
    pub words: &'a [OsString],
    /// All of its environment.
    pub environment: &'a [(OsString, OsString)],
    /// Input, output and errors.
    pub files: [BorrowedFd<'a>; 3],
    /// The signal it gets when the thread that started it ends.
    pub orphaned: Signal,
}

/// Enough for a handful of system calls.
const STACK_BYTES: usize = 64 << 10;

/// What the child reads, and where it says what failed.
struct Plan {
    program: *const c_char,
    words: *const *const c_char,
    environment: *const *const c_char,
    files: [RawFd; 3],
    orphaned: c_int,
    parent: libc::pid_t,
    /// The signals that were blocked before.
    mask: libc::sigset_t,
    failed: c_int,
}

/// Start a program.
///
/// # Errors
///
/// If it cannot be; then nothing was started.
pub fn start(what: &Program) -> io::Result<Pid> {
    let files = what.files.map(|file| file.as_raw_fd());
    let first = what.words.first().ok_or(io::ErrorKind::InvalidInput)?;
    if files.iter().any(|file| *file < 3) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let program = text(found(first, what.environment)?.as_os_str())?;
    let words = what.words.iter().map(|word| text(word)).collect::<io::Result<Vec<_>>>()?;
    let pairs = what.environment.iter().map(|(name, value)| {
        let mut pair = name.clone();
        pair.push("=");
        pair.push(value);
        text(&pair)
    });
    let pairs = pairs.collect::<io::Result<Vec<_>>>()?;
    let (words_at, pairs_at) = (pointers(&words), pointers(&pairs));
    let mut before = SigSet::empty();
    // No handler of ours may run in the child.
    pthread_sigmask(SigmaskHow::SIG_BLOCK, Some(&SigSet::all()), Some(&mut before))?;
    let mut plan = Plan {
        program: program.as_ptr(),
        words: words_at.as_ptr(),
        environment: pairs_at.as_ptr(),
        files,
        orphaned: what.orphaned as c_int,
        parent: getpid().as_raw(),
        mask: *SigSet::empty().as_ref(),
        failed: 0,
    };
    let mut stack = vec![0u128; STACK_BYTES / 16];
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the stack is aligned, is the child's alone and outlives it, since CLONE_VFORK lets
    // this thread go on only when the child has become another program or has ended; so do the plan
    // and all that it points to. `child` never returns.
    let pid = unsafe {
        let top = stack.as_mut_ptr_range().end.cast::<c_void>();
        libc::clone(child, top, flags, (&raw mut plan).cast())
    };
    let cloned = Errno::result(pid);
    pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&before), None)?;
    let pid = Pid::from_raw(cloned?);
    if plan.failed != 0 {
        let _ = nix::sys::wait::waitpid(pid, None);
        return Err(io::Error::from_raw_os_error(plan.failed));
    }
    Ok(pid)
}

/// Become another program, or say in the plan what failed.
extern "C" fn child(plan: *mut c_void) -> c_int {
    // SAFETY: `start` passes its plan, which nobody else touches while this thread of it stands
    // still. Only system calls are made that allocate nothing and take no lock; handlers, files and
    // session are the child's own, since neither CLONE_SIGHAND nor CLONE_FILES was given.
    unsafe {
        let plan = &mut *plan.cast::<Plan>();
        plan.failed = become_it(plan);
        libc::_exit(127)
    }
}

/// The error number of what failed; does not return if nothing does.
///
/// # Safety
///
/// Only for a child that shares its parent's memory while the parent stands still.
unsafe fn become_it(plan: &Plan) -> c_int {
    // SAFETY: all pointers are to memory that lives in `start`, see there.
    unsafe {
        for signal in 1..=libc::SIGRTMAX() {
            let mut now: libc::sigaction = std::mem::zeroed();
            let known = libc::sigaction(signal, std::ptr::null(), &raw mut now) == 0;
            let ignored = now.sa_sigaction == libc::SIG_IGN && signal != libc::SIGPIPE;
            if known && !ignored && now.sa_sigaction != libc::SIG_DFL {
                now = std::mem::zeroed();
                libc::sigaction(signal, &raw const now, std::ptr::null_mut());
            }
        }
        for (place, file) in plan.files.iter().enumerate() {
            if libc::dup2(*file, place as c_int) < 0 {
                return Errno::last_raw();
            }
        }
        if libc::setsid() < 0 || libc::prctl(libc::PR_SET_PDEATHSIG, plan.orphaned) != 0 {
            return Errno::last_raw();
        }
        // The parent may have died before the call above, and then no signal ever comes.
        if libc::getppid() != plan.parent {
            return libc::ESRCH;
        }
        libc::sigprocmask(libc::SIG_SETMASK, &raw const plan.mask, std::ptr::null_mut());
        libc::execve(plan.program, plan.words, plan.environment);
        Errno::last_raw()
    }
}

fn text(word: &OsStr) -> io::Result<CString> {
    CString::new(word.as_bytes()).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// As C wants them: pointers, and nothing after the last.
fn pointers(words: &[CString]) -> Vec<*const c_char> {
    words.iter().map(|word| word.as_ptr()).chain([std::ptr::null()]).collect()
}

/// Where a program is.
fn found(program: &OsStr, environment: &[(OsString, OsString)]) -> io::Result<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return Ok(program.into());
    }
    let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path);
    let path = path.ok_or(io::ErrorKind::NotFound)?;
    let runs = |at: &Path| {
        at.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
    };
    let mut places = std::env::split_paths(path).map(|folder| folder.join(program));
    places.find(|at| runs(at)).ok_or_else(|| io::ErrorKind::NotFound.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::wait::{WaitStatus, waitpid};
    use std::io::Read;
    use std::os::fd::AsFd;

    fn run(words: &[&str], environment: &[(&str, &str)]) -> io::Result<(WaitStatus, String)> {
        let owned = |word: &&str| OsString::from(*word);
        let words: Vec<_> = words.iter().map(owned).collect();
        let pair = |(name, value): &(&str, &str)| (OsString::from(name), OsString::from(value));
        let environment: Vec<_> = environment.iter().map(pair).collect();
        let nothing = std::fs::File::open("/dev/null")?;
        let (mut reader, writer) = io::pipe()?;
        let files = [nothing.as_fd(), writer.as_fd(), writer.as_fd()];
        let orphaned = Signal::SIGKILL;
        let pid = start(&Program { words: &words, environment: &environment, files, orphaned })?;
        drop(writer);
        let mut text = String::new();
        reader.read_to_string(&mut text)?;
        Ok((waitpid(pid, None)?, text))
    }

    #[test]
    fn a_program_has_its_words_its_environment_and_its_session() {
        let script = "echo $1 $COLOUR; cat /proc/self/stat | cut -d' ' -f6; echo $$; exit 3";
        let path = ("PATH", "/usr/bin:/bin");
        let (status, text) =
            run(&["sh", "-c", script, "sh", "one"], &[path, ("COLOUR", "blue")]).expect("it runs");
        assert!(matches!(status, WaitStatus::Exited(_, 3)), "{status:?}");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "one blue");
        assert_eq!(lines[1], lines[2], "it leads its session");
    }

    #[test]
    fn signals_are_as_a_new_program_expects_them() {
        let script = "grep -E 'Sig(Blk|Ign)' /proc/self/status";
        let (_, text) = run(&["/bin/sh", "-c", script], &[]).expect("it runs");
        for line in text.lines() {
            let set = line.split_whitespace().nth(1).expect("a mask");
            let set = u64::from_str_radix(set, 16).expect("a number");
            assert_eq!(set & (1 << 12), 0, "a broken pipe ends it: {line}");
            assert!(line.starts_with("SigIgn") || set == 0, "{line}");
        }
    }

    #[test]
    fn what_cannot_be_started_is_said() {
        for (words, error) in [
            (&["/nowhere/at/all"][..], io::ErrorKind::NotFound),
            (&["nothing-of-this-name"][..], io::ErrorKind::NotFound),
            (&["/dev/null"][..], io::ErrorKind::PermissionDenied),
            (&[][..], io::ErrorKind::InvalidInput),
        ] {
            let said = run(words, &[("PATH", "/usr/bin:/bin")]).expect_err("it cannot be");
            assert_eq!(said.kind(), error, "{words:?}");
        }
    }

    #[test]
    fn it_dies_with_the_thread_that_started_it() {
        let starter = std::thread::spawn(|| {
            let words = ["/bin/sleep", "60"].map(OsString::from);
            let nothing = std::fs::File::open("/dev/null").expect("a file");
            let files = [nothing.as_fd(); 3];
            let orphaned = Signal::SIGKILL;
            start(&Program { words: &words, environment: &[], files, orphaned }).expect("it runs")
        });
        let pid = starter.join().expect("the thread ends");
        let status = waitpid(pid, None).expect("it ends");
        assert!(matches!(status, WaitStatus::Signaled(_, Signal::SIGKILL, _)), "{status:?}");
    }
}
