//! What the server's side knows of each job, shared by the threads that look after them.

use crate::folder::State;
use crate::inventory::Machine;
use crate::pool::Pool;
use crate::setup::Setup;
use crate::wire::{Brief, Heard, Told, send};
use heeler_backend::{Launch, Sign, Tell, Way};
use heeler_model::{Generation, JobId};
use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What should become of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Intent {
    /// It should run.
    Run,
    /// It should be suspended.
    Stop,
    /// It should end.
    End,
    /// It sleeps, and should go on doing so.
    Sleep,
    /// Nobody expects it: it should end, and nobody is told.
    Clear,
}

/// What is known of a job.
pub(crate) struct Kept {
    pub(crate) generation: Generation,
    pub(crate) intent: Intent,
    pub(crate) brief: Option<Box<Brief>>,
    /// Its shepherd, and the thread that listens to it.
    pub(crate) link: Option<Arc<Link>>,
    /// What answered the orders of the latest attempt.
    pub(crate) signs: Vec<Sign>,
    /// When the latest order was given.
    pub(crate) ordered: Option<Instant>,
    /// Whether nothing more is to be expected of the latest attempt.
    pub(crate) done: bool,
    /// Whether its folder goes when its shepherd has.
    pub(crate) forget: bool,
}

impl Kept {
    pub(crate) fn new(generation: Generation, intent: Intent, brief: Option<Box<Brief>>) -> Kept {
        Kept {
            generation,
            intent,
            brief,
            link: None,
            signs: Vec::new(),
            ordered: None,
            done: false,
            forget: false,
        }
    }
}

/// The way to a shepherd; orders wait until there is one.
#[derive(Default)]
pub(crate) struct Link(Mutex<Ends>);

#[derive(Default)]
struct Ends {
    stream: Option<UnixStream>,
    waiting: Vec<Told>,
}

/// A shepherd that does not read for so long is as good as dead.
const STALLED: Duration = Duration::from_secs(1);

impl Link {
    fn lock(&self) -> MutexGuard<'_, Ends> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tell the shepherd something, now or when there is one.
    pub(crate) fn tell(&self, told: Told) {
        let mut ends = self.lock();
        match &ends.stream {
            // If it is gone, the thread that listens notices.
            Some(stream) => drop(send(stream, &Heard::Server(told))),
            None => ends.waiting.push(told),
        }
    }

    /// There is a shepherd now.
    pub(crate) fn join(&self, stream: UnixStream) {
        let _ = stream.set_write_timeout(Some(STALLED));
        let mut ends = self.lock();
        for told in std::mem::take(&mut ends.waiting) {
            let _ = send(&stream, &Heard::Server(told));
        }
        ends.stream = Some(stream);
    }

    /// There is none any more.
    pub(crate) fn part(&self) {
        if let Some(stream) = self.lock().stream.take() {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }
}

/// What all threads share.
pub(crate) struct Core {
    pub(crate) setup: Setup,
    pub(crate) state: State,
    pub(crate) machine: Machine,
    pub(crate) pool: Pool,
    tell: Tell,
    jobs: Mutex<BTreeMap<JobId, Kept>>,
    closed: AtomicBool,
}

impl Core {
    pub(crate) fn new(setup: Setup, machine: Machine, pool: Pool, tell: Tell) -> Core {
        let state = State(setup.state.clone());
        let (jobs, closed) = Default::default();
        Core { setup, state, machine, pool, tell, jobs, closed }
    }

    pub(crate) fn jobs(&self) -> MutexGuard<'_, BTreeMap<JobId, Kept>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the server is going away, and shepherds are to be left alone.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// Leave all shepherds alone.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.pool.close();
        for kept in self.jobs().values() {
            if let Some(link) = &kept.link {
                link.part();
            }
        }
    }

    /// What a shepherd has to know.
    pub(crate) fn brief(&self, launch: Launch) -> Box<Brief> {
        Box::new(Brief {
            parts: self.machine.parts(&launch.assignment),
            launch,
            state: self.setup.state.clone(),
            log_bytes: self.setup.log_bytes,
            log_files: self.setup.log_files,
            report_ms: self.setup.report_ms,
            emulated: self.machine.emulated,
            sharing: BTreeMap::new(),
        })
    }

    /// Tell the control plane, unless nobody is there any more.
    pub(crate) fn tell(&self, sign: Sign) {
        if !self.is_closed() {
            (self.tell)(sign);
        }
    }

    /// A shepherd said that something happened. Says whether it was of the latest attempt.
    pub(crate) fn happened(&self, job: JobId, mut sign: Sign) -> bool {
        let mut jobs = self.jobs();
        let Some(kept) = jobs.get_mut(&job) else { return false };
        // An order that came to an older attempt's shepherd is answered for the attempt it meant.
        if kept.intent == Intent::End
            && let Sign::Ended { generation, .. } = &mut sign
        {
            *generation = kept.generation;
        }
        let latest = match &sign {
            Sign::Started { generation, .. }
            | Sign::Stopped { generation, .. }
            | Sign::Ended { generation, .. }
            | Sign::Reported { generation, .. } => *generation == kept.generation,
            // An attempt that was to go on from sleep is started from what it saved instead.
            Sign::Perished { .. } => kept.intent != Intent::Run,
            Sign::NodeDown { .. } | Sign::NodeUp { .. } => true,
        };
        if !latest {
            return false;
        }
        let since = kept.ordered.map(|at| at.elapsed().as_millis() as u64);
        match &mut sign {
            Sign::Reported { .. } => {}
            Sign::Started { took_ms, .. } => {
                *took_ms = since.unwrap_or(*took_ms);
                kept.signs = vec![sign.clone()];
            }
            Sign::Stopped { took_ms, way, .. } => {
                *took_ms = since.unwrap_or(*took_ms);
                let sleeps = matches!(way, Way::Checkpointed | Way::Frozen);
                if sleeps {
                    kept.intent = Intent::Sleep;
                }
                kept.done = !sleeps;
                kept.signs = vec![sign.clone()];
            }
            Sign::Ended { .. } | Sign::Perished { .. } => {
                kept.done = true;
                kept.signs = vec![sign.clone()];
            }
            Sign::NodeDown { .. } | Sign::NodeUp { .. } => {}
        }
        let quiet = kept.intent == Intent::Clear || kept.forget;
        drop(jobs);
        if !quiet {
            self.tell(sign);
        }
        true
    }
}
