//! This machine as a world: orders in, signs out, nothing that waits.

use crate::cgroup::Groups;
use crate::core::{Core, Intent, Kept, Link};
use crate::folder::{Attempt, BELOW_STATE, LONGEST_SOCKET, make_folder, numbers, read};
use crate::inventory::Machine;
use crate::keeper::{Found, find, keep};
use crate::pool::Pool;
use crate::process::boot;
use crate::setup::{LocalError, Setup};
use crate::wire::{Heard, Told, send};
use crate::{logs, pause, tidy};
use heeler_backend::{
    Backend, Ending, Expected, Inventory, Launch, Look, Order, Piece, Resume, Sign, Tell, Window,
};
use heeler_model::{Generation, JobId, NodeId};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

type Jobs<'a> = MutexGuard<'a, BTreeMap<JobId, Kept>>;

/// This machine as a world.
pub struct Local {
    core: Arc<Core>,
    notes: Vec<String>,
    rebooted: bool,
}

impl Local {
    /// Look at the machine and get shepherds ready. Nothing is started or ended before
    /// [`Backend::adopt`].
    pub fn new(mut setup: Setup, tell: Tell) -> Result<Local, LocalError> {
        let path = setup.state.clone();
        let wrong = |source| LocalError::Folder { path: path.clone(), source };
        make_folder(&setup.state.join("jobs")).map_err(wrong)?;
        make_folder(&setup.state.join("ready")).map_err(wrong)?;
        // Shepherds do not stand where the server does.
        setup.state = std::fs::canonicalize(&setup.state).map_err(wrong)?;
        let length = setup.state.as_os_str().len();
        let most = LONGEST_SOCKET - BELOW_STATE;
        if length > most {
            return Err(LocalError::TooLong { path: setup.state, length, most });
        }
        let machine = Machine::find(setup.emulate.as_deref())?;
        let mut notes = Vec::new();
        let cgroup = if setup.cgroups { cgroup(&mut notes) } else { None };
        let pool = Pool::new(&setup, cgroup);
        let before = std::fs::read_to_string(setup.state.join("boot"));
        let rebooted = before.is_ok_and(|before| before != boot());
        let (kept, keep_s) = (setup.state.join("kept"), setup.keep_s);
        let ready = setup.state.join("ready");
        std::thread::spawn(move || {
            tidy::sweep(&kept, Duration::from_secs(keep_s));
            tidy::clear_ready(&ready);
        });
        let core = Arc::new(Core::new(setup, machine, pool, tell));
        Ok(Local { core, notes, rebooted })
    }

    /// Look after a job from now on.
    fn look_after(&self, mut jobs: Jobs<'_>, job: JobId, mut kept: Kept) {
        let link = Arc::new(Link::default());
        kept.link = Some(Arc::clone(&link));
        jobs.insert(job, kept);
        drop(jobs);
        keep(&self.core, job, link);
    }

    fn start(&self, launch: Launch) {
        let (job, generation) = (launch.job, launch.generation);
        let resume = launch.resume;
        let brief = self.core.brief(launch);
        let mut jobs = self.core.jobs();
        let Some(kept) = jobs.get_mut(&job) else {
            let mut kept = Kept::new(generation, Intent::Run, Some(brief));
            kept.ordered = Some(Instant::now());
            return self.look_after(jobs, job, kept);
        };
        if generation <= kept.generation {
            return self.repeat(jobs, job);
        }
        let (older, link) = (kept.generation, kept.link.clone());
        let sleeps = kept.intent == Intent::Sleep && !kept.done;
        let mut fresh = Kept::new(generation, Intent::Run, Some(brief.clone()));
        fresh.ordered = Some(Instant::now());
        match link {
            None => self.look_after(jobs, job, fresh),
            Some(link) => {
                fresh.link = Some(Arc::clone(&link));
                *kept = fresh;
                drop(jobs);
                link.tell(if sleeps && resume == Resume::Processes {
                    Told::Resume(brief)
                } else {
                    Told::End { generation: older, now: true }
                });
            }
        }
    }

    /// Say again what answered the latest order.
    fn repeat(&self, jobs: Jobs<'_>, job: JobId) {
        let signs = jobs.get(&job).map(|kept| kept.signs.clone()).unwrap_or_default();
        drop(jobs);
        for sign in signs {
            self.core.tell(sign);
        }
    }

    /// Pass an order on to the shepherd of the attempt that it means.
    fn pass(&self, job: JobId, generation: Generation, intent: Option<Intent>, told: Told) {
        let mut jobs = self.core.jobs();
        let Some(kept) = jobs.get_mut(&job) else {
            drop(jobs);
            if intent.is_some() {
                // Nobody can say what became of a job that was never heard of.
                self.core.tell(Sign::Ended { job, generation, ending: Ending::Lost, ago_ms: 0 });
            }
            return;
        };
        if generation != kept.generation || kept.done {
            if intent.is_some() {
                self.repeat(jobs, job);
            }
            return;
        }
        if let Some(intent) = intent {
            // What sleeps already has stopped.
            if kept.intent == Intent::Sleep && intent == Intent::Stop {
                return self.repeat(jobs, job);
            }
            kept.intent = intent;
            kept.ordered = Some(Instant::now());
        }
        if let Some(link) = kept.link.clone() {
            drop(jobs);
            link.tell(told);
        }
    }

    fn forget(&self, job: JobId) {
        let mut jobs = self.core.jobs();
        if let Some(kept) = jobs.get_mut(&job)
            && let Some(link) = kept.link.clone()
        {
            kept.forget = true;
            kept.intent = Intent::End;
            let generation = kept.generation;
            drop(jobs);
            return link.tell(Told::End { generation, now: true });
        }
        jobs.remove(&job);
        drop(jobs);
        let core = Arc::clone(&self.core);
        std::thread::spawn(move || tidy::forget(&core, job));
    }

    fn lose(&self, node: NodeId) {
        let jobs = self.core.jobs();
        let there = |kept: &Kept| {
            let brief = kept.brief.as_ref();
            let mut slices =
                brief.into_iter().flat_map(|brief| brief.launch.assignment.placement.slices());
            slices.any(|slice| slice.node == node)
        };
        let lost: Vec<(Arc<Link>, Generation)> = jobs
            .values()
            .filter(|kept| there(kept))
            .filter_map(|kept| Some((kept.link.clone()?, kept.generation)))
            .collect();
        drop(jobs);
        for (link, generation) in lost {
            link.tell(Told::Lose { generation });
        }
    }

    /// See to it that attempts which may have run before the machine was started again never run
    /// a second time: what was written just before a power loss may be gone.
    fn void_uncertain(&self, launch: &Launch) {
        let attempt = self.core.state.attempt(launch.job, launch.generation);
        if self.rebooted
            && matches!(find(&attempt), Found::Unclaimed)
            && let Err(error) = attempt.void()
        {
            tracing::warn!(job = launch.job.0, %error, "an attempt could not be voided");
        }
    }

    /// End what nobody expects.
    fn clear_others(&self, expected: &BTreeSet<JobId>) {
        for job in numbers(&self.core.state.jobs()).into_iter().map(JobId) {
            if expected.contains(&job) {
                continue;
            }
            for (generation, attempt) in self.core.state.attempts(job).into_iter().rev() {
                match find(&attempt) {
                    Found::Unclaimed => {
                        if let Err(error) = attempt.void() {
                            tracing::warn!(job = job.0, %error, "an attempt is not voided");
                        }
                    }
                    Found::Alive(_) | Found::Dead(_) => {
                        let kept = Kept::new(generation, Intent::Clear, None);
                        self.look_after(self.core.jobs(), job, kept);
                        break;
                    }
                    Found::Void | Found::Over(_) => {}
                }
            }
        }
    }
}

/// The folder of our control groups, or a note that there is none.
fn cgroup(notes: &mut Vec<String>) -> Option<std::path::PathBuf> {
    match Groups::find() {
        Ok(groups) => {
            if !groups.limits {
                let note = "CPUs and memory of jobs are not limited: the cgroup has no controllers \
                            to pass on; start the server in a delegated one of its own";
                notes.push(note.to_owned());
            }
            Some(groups.folder)
        }
        Err(why) => {
            notes.push(format!("jobs run without control groups, so without limits: {why}"));
            None
        }
    }
}

impl Backend for Local {
    fn inventory(&self) -> Inventory {
        let checkpoints = !self.core.machine.emulated && pause::driver().is_ok();
        self.core.machine.inventory(checkpoints, &self.notes)
    }

    fn adopt(&mut self, expected: Vec<Expected>) {
        let mut seen = BTreeSet::new();
        for one in expected {
            let (intent, launch) = match one {
                Expected::Runs(launch) => (Intent::Run, launch),
                Expected::Stops(launch) => (Intent::Stop, launch),
                Expected::Ends(launch) => (Intent::End, launch),
                Expected::Sleeps { job, generation } => {
                    seen.insert(job);
                    let brief = read(&self.core.state.attempt(job, generation).launch());
                    let kept = Kept::new(generation, Intent::Sleep, brief);
                    self.look_after(self.core.jobs(), job, kept);
                    continue;
                }
            };
            self.void_uncertain(&launch);
            let (job, generation) = (launch.job, launch.generation);
            seen.insert(job);
            let kept = Kept::new(generation, intent, Some(self.core.brief(*launch)));
            self.look_after(self.core.jobs(), job, kept);
        }
        self.clear_others(&seen);
        if let Err(error) = std::fs::write(self.core.setup.state.join("boot"), boot()) {
            tracing::warn!(%error, "the start of the machine could not be noted");
        }
        self.rebooted = false;
    }

    fn carry_out(&mut self, order: Order) {
        match order {
            Order::Start(launch) => self.start(*launch),
            Order::Stop { job, generation } => {
                self.pass(job, generation, Some(Intent::Stop), Told::Stop { generation });
            }
            Order::End { job, generation, now } => {
                self.pass(job, generation, Some(Intent::End), Told::End { generation, now });
            }
            Order::Signal { job, generation, signal } => {
                self.pass(job, generation, None, Told::Signal { generation, signal });
            }
            Order::Forget { job } => self.forget(job),
            Order::Lose { node } => self.lose(node),
        }
    }

    fn readings(&mut self) -> Vec<Vec<BTreeMap<String, f64>>> {
        self.core.machine.readings()
    }

    fn look(&self) -> Arc<dyn Look> {
        Arc::new(Eyes(Arc::clone(&self.core)))
    }
}

/// Those who go on without the server are left alone.
impl Drop for Local {
    fn drop(&mut self) {
        self.core.close();
    }
}

struct Eyes(Arc<Core>);

impl Look for Eyes {
    fn output(&self, job: JobId, from: u64, most: usize) -> io::Result<Piece> {
        logs::read(&self.0.state, job, from, most)
    }

    fn terminal(&self, job: JobId, window: Window) -> io::Result<UnixStream> {
        let alive = |(_, attempt): (Generation, Attempt)| match find(&attempt) {
            Found::Alive(claim) => Some(claim),
            _ => None,
        };
        let claim = self.0.state.attempts(job).into_iter().rev().find_map(alive);
        let nothing = || io::Error::new(io::ErrorKind::NotFound, "the job does not run");
        let home = claim.and_then(|claim| claim.home).ok_or_else(nothing)?;
        let stream = UnixStream::connect(self.0.state.attempt(job, home).sock())?;
        send(&stream, &Heard::Attach(window))?;
        Ok(stream)
    }
}
