//! Shepherds that are ready: starting one takes longer than starting a job, so some wait already.

use crate::setup::Setup;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long to leave a job that begins alone, while others are ready.
const SETTLING: Duration = Duration::from_millis(10);

/// A shepherd without a job.
pub(crate) struct Idle {
    pub(crate) child: Child,
    pub(crate) stream: UnixStream,
}

/// How shepherds are started.
#[derive(Clone)]
struct Recipe {
    program: PathBuf,
    arguments: Vec<String>,
}

#[derive(Default)]
struct Yard {
    idle: Vec<Idle>,
    closed: bool,
}

/// Shepherds that are ready.
pub(crate) struct Pool {
    recipe: Recipe,
    shared: Arc<(Mutex<Yard>, Condvar)>,
}

impl Pool {
    /// Keep some ready.
    pub(crate) fn new(setup: &Setup, cgroup: Option<PathBuf>) -> Pool {
        let mut arguments = setup.arguments.clone();
        arguments.extend(["--state".into(), setup.state.display().to_string()]);
        if let Some(folder) = cgroup {
            arguments.extend(["--cgroup".into(), folder.display().to_string()]);
        }
        // Shepherds do not stand where the server does.
        let program = std::path::absolute(&setup.program);
        let program = program.unwrap_or_else(|_| setup.program.clone());
        let recipe = Recipe { program, arguments };
        let shared: Arc<(Mutex<Yard>, Condvar)> = Arc::default();
        let (theirs, how, ready) = (Arc::clone(&shared), recipe.clone(), setup.ready);
        std::thread::spawn(move || refill(&theirs, &how, ready));
        Pool { recipe, shared }
    }

    /// One of them, or a new one if none is ready.
    pub(crate) fn take(&self) -> io::Result<Idle> {
        let taken = lock(&self.shared.0).idle.pop();
        match taken {
            Some(idle) => Ok(idle),
            None => self.recipe.start(),
        }
    }

    /// Get others ready in place of those that were taken.
    pub(crate) fn refill(&self) {
        self.shared.1.notify_one();
    }

    /// Let those who wait go.
    pub(crate) fn close(&self) {
        let mut yard = lock(&self.shared.0);
        yard.closed = true;
        let idle = std::mem::take(&mut yard.idle);
        drop(yard);
        self.shared.1.notify_one();
        for Idle { mut child, stream } in idle {
            drop(stream);
            // It ends by itself when it notices; nobody waits for it but the kernel.
            let _ = child.wait();
        }
    }
}

fn lock(yard: &Mutex<Yard>) -> MutexGuard<'_, Yard> {
    yard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Start another whenever one was taken.
fn refill(shared: &(Mutex<Yard>, Condvar), recipe: &Recipe, ready: usize) {
    loop {
        let mut yard = lock(&shared.0);
        while !yard.closed && yard.idle.len() >= ready {
            yard = shared.1.wait(yard).unwrap_or_else(PoisonError::into_inner);
        }
        if yard.closed {
            return;
        }
        let some = !yard.idle.is_empty();
        drop(yard);
        if some {
            // The job that took one is just beginning, and needs the processor more.
            std::thread::sleep(SETTLING);
        }
        let Ok(mut idle) = recipe.start() else {
            // Whoever needs one will be told why it cannot be started; here it is tried again
            // when one is taken.
            let yard = lock(&shared.0);
            drop(shared.1.wait(yard).unwrap_or_else(PoisonError::into_inner));
            continue;
        };
        let mut yard = lock(&shared.0);
        if yard.closed {
            drop(yard);
            drop(idle.stream);
            let _ = idle.child.wait();
            return;
        }
        // The one that has waited longest is surely ready.
        yard.idle.insert(0, idle);
    }
}

impl Recipe {
    fn start(&self) -> io::Result<Idle> {
        let (stream, theirs) = UnixStream::pair()?;
        let mut command = Command::new(&self.program);
        command.arg0("heeler").args(&self.arguments).stdin(OwnedFd::from(theirs)).current_dir("/");
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn()?;
        Ok(Idle { child, stream })
    }
}
