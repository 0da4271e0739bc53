//! The thread that looks after one job: finds or starts its shepherd, listens to it, and says what
//! became of the job if its shepherd cannot.

use crate::core::{Core, Intent, Link};
use crate::folder::{Attempt, Claim, Exit};
use crate::mps;
use crate::process::{is_alive, kill_left};
use crate::wire::{Brief, Heard, Says, Stage, Told, send};
use heeler_backend::{Ending, Resume, Sign, Way};
use heeler_model::{Generation, JobId};
use std::io::{self, BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a shepherd that lives may take to listen.
const DEAF: Duration = Duration::from_secs(20);
/// How often another shepherd is tried when one goes away before it has begun.
const TRIES: u32 = 5;

/// How an attempt stands on disk.
pub(crate) enum Found {
    /// Nobody has it.
    Unclaimed,
    /// It will never be started.
    Void,
    /// It is over.
    Over(Box<Exit>),
    /// A shepherd has it.
    Alive(Claim),
    /// A shepherd had it, and is gone.
    Dead(Claim),
}

/// Look how an attempt stands.
pub(crate) fn find(attempt: &Attempt) -> Found {
    let over = || attempt.exit().map(|exit| Found::Over(Box::new(exit)));
    if let Some(over) = over() {
        return over;
    }
    let Some(claim) = attempt.claim() else { return Found::Unclaimed };
    match &claim.shepherd {
        None => Found::Void,
        Some(shepherd) if is_alive(shepherd) => Found::Alive(claim),
        // It may have written the end between the two looks.
        Some(_) => over().unwrap_or(Found::Dead(claim)),
    }
}

/// Look after a job until there is nothing to look after.
pub(crate) fn keep(core: &Arc<Core>, job: JobId, link: Arc<Link>) {
    let core = Arc::clone(core);
    let failed = Arc::clone(&core);
    let named = std::thread::Builder::new().name(format!("job {job}")).stack_size(512 << 10);
    let spawned = named.spawn(move || Keeper { core, job, link, tries: 0 }.run());
    if let Err(error) = spawned {
        let generation = failed.jobs().get(&job).map(|kept| kept.generation).unwrap_or_default();
        let ending = Ending::NotStarted { message: format!("no thread: {error}") };
        failed.happened(job, Sign::Ended { job, generation, ending, ago_ms: 0 });
    }
}

struct Keeper {
    core: Arc<Core>,
    job: JobId,
    link: Arc<Link>,
    tries: u32,
}

/// What the latest attempt is.
struct Now {
    generation: Generation,
    intent: Intent,
    brief: Option<Box<Brief>>,
}

impl Keeper {
    fn run(mut self) {
        while let Some(now) = self.now() {
            let attempt = self.core.state.attempt(self.job, now.generation);
            match find(&attempt) {
                Found::Unclaimed => self.unclaimed(&now, &attempt),
                Found::Void => self.never(&now),
                Found::Over(exit) => self.over(&now, exit.sign),
                Found::Dead(claim) => self.dead(&now, &attempt, &claim),
                Found::Alive(claim) => self.join(&claim),
            }
        }
    }

    /// What is to be looked after; nothing, if all is done.
    fn now(&self) -> Option<Now> {
        let mut jobs = self.core.jobs();
        let kept = jobs.get_mut(&self.job)?;
        if kept.done || self.core.is_closed() {
            kept.link = None;
            let forget = kept.forget || kept.intent == Intent::Clear;
            if forget {
                jobs.remove(&self.job);
            }
            drop(jobs);
            if forget && !self.core.is_closed() {
                crate::tidy::forget(&self.core, self.job);
            }
            return None;
        }
        let (generation, intent, brief) = (kept.generation, kept.intent, kept.brief.clone());
        Some(Now { generation, intent, brief })
    }

    fn happened(&self, sign: Sign) {
        self.core.happened(self.job, sign);
    }

    fn ended(&self, now: &Now, ending: Ending) {
        let (job, generation) = (self.job, now.generation);
        self.happened(match now.intent {
            Intent::Sleep => Sign::Perished { job },
            _ => Sign::Ended { job, generation, ending, ago_ms: 0 },
        });
    }

    /// Nobody has the attempt: start it, or see to it that nobody ever does.
    fn unclaimed(&mut self, now: &Now, attempt: &Attempt) {
        // Its processes may sleep with the shepherd of an earlier attempt.
        if let Some(claim) = self.earlier(now.generation) {
            return self.join(&claim);
        }
        let brief = match (now.intent, &now.brief) {
            (Intent::Run, Some(brief)) => brief.clone(),
            _ => {
                if let Err(error) = attempt.void() {
                    tracing::warn!(job = self.job.0, %error, "an attempt could not be voided");
                    self.never(now);
                }
                return;
            }
        };
        self.tries += 1;
        if self.tries > TRIES {
            let message = "its shepherds went away before they had begun".into();
            return self.ended(now, Ending::NotStarted { message });
        }
        if let Err(error) = self.hand_over(brief, attempt) {
            let message = format!("no shepherd: {error}");
            self.ended(now, Ending::NotStarted { message });
        }
    }

    /// A living shepherd of an earlier attempt. What dead ones left behind is killed.
    fn earlier(&self, generation: Generation) -> Option<Claim> {
        for (older, attempt) in self.core.state.attempts(self.job).into_iter().rev() {
            if older >= generation {
                continue;
            }
            match find(&attempt) {
                Found::Alive(claim) => return Some(claim),
                Found::Dead(claim) => {
                    self.kill_left(&attempt, &claim);
                }
                Found::Unclaimed | Found::Void | Found::Over(_) => {}
            }
        }
        None
    }

    /// Give an attempt to a shepherd that is ready, and listen to it.
    fn hand_over(&mut self, mut brief: Box<Brief>, attempt: &Attempt) -> io::Result<()> {
        attempt.make()?;
        if brief.launch.resume == Resume::Processes {
            brief.launch.resume = Resume::Saved;
        }
        self.share(&mut brief);
        let idle = self.core.pool.take()?;
        if send(&idle.stream, &Heard::Server(Told::Start(brief))).is_ok() {
            self.link.join(idle.stream.try_clone()?);
            self.listen(idle.stream);
        }
        self.core.pool.refill();
        self.link.part();
        if !self.core.is_closed() {
            wait(idle.child);
        }
        Ok(())
    }

    /// Let it share its GPUs, if it has only part of them.
    fn share(&self, brief: &mut Brief) {
        let launch = &brief.launch;
        let (share, gpus) = (launch.assignment.share, launch.assignment.gpus());
        if !mps::wanted(share, gpus, brief.emulated) {
            return;
        }
        let uid = launch.identity.map_or(0, |identity| identity.uid);
        let folder = self.core.setup.state.join("mps").join(uid.to_string());
        match mps::Daemon::new(&folder, launch.identity).tend() {
            Ok(_) => {
                brief.sharing = mps::environment(&folder, share, gpus, launch.gpu_memory_mb);
            }
            // It runs all the same: the GPU then goes to its jobs by turns.
            Err(error) => tracing::warn!(job = self.job.0, %error, "no MPS for part of a GPU"),
        }
    }

    /// Talk to a shepherd that lives.
    fn join(&mut self, claim: &Claim) {
        let path = self.sock(claim);
        let begun = Instant::now();
        let alive = || claim.shepherd.as_ref().is_some_and(is_alive);
        loop {
            if let Ok(stream) = UnixStream::connect(&path) {
                let hello = send(&stream, &Heard::Server(Told::Hello));
                if hello.is_ok()
                    && let Ok(ours) = stream.try_clone()
                {
                    self.link.join(ours);
                    self.listen(stream);
                    self.link.part();
                    // It is on its way out, and what it wrote last can be read when it is.
                    while alive() && begun.elapsed() < DEAF && !self.core.is_closed() {
                        std::thread::sleep(Duration::from_millis(2));
                    }
                }
                return;
            }
            if !alive() || self.core.is_closed() {
                return;
            }
            if begun.elapsed() > DEAF {
                tracing::warn!(job = self.job.0, "its shepherd does not listen and is killed");
                kill_shepherd(claim);
                return;
            }
            // It has the attempt, and will open its socket in a moment.
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Hear what a shepherd says until it ends.
    fn listen(&mut self, stream: UnixStream) {
        for line in BufReader::new(stream).lines() {
            let Ok(line) = line else { return };
            let says: Says = match serde_json::from_str(&line) {
                Ok(says) => says,
                Err(error) => {
                    tracing::warn!(job = self.job.0, %error, "a shepherd is not understood");
                    continue;
                }
            };
            match says {
                Says::Sign(sign) => {
                    self.happened(sign);
                    // Not before: it would be in the way of the job that is being started.
                    self.core.pool.refill();
                }
                Says::State { generation, stage } => self.state(generation, stage),
                Says::Taken => return,
                Says::NotResumed { generation, message } => {
                    tracing::warn!(job = self.job.0, %generation, message, "it does not go on");
                    return;
                }
            }
        }
    }

    /// A shepherd was found again and says how things are.
    fn state(&self, theirs: Generation, stage: Stage) {
        let Some(now) = self.now() else { return };
        let (job, generation) = (self.job, now.generation);
        let same = theirs == generation;
        match (stage, now.intent) {
            (_, Intent::Clear) | (Stage::Stops | Stage::Sleeps { .. }, Intent::End) => {
                self.link.tell(Told::End { generation: theirs, now: false });
            }
            (Stage::Runs { took_ms, resumed }, intent) => {
                if same {
                    self.happened(Sign::Started { job, generation, took_ms, resumed });
                }
                match intent {
                    Intent::Stop => self.link.tell(Told::Stop { generation: theirs }),
                    Intent::End => self.link.tell(Told::End { generation: theirs, now: false }),
                    // One that sleeps cannot run, and an older one may not.
                    Intent::Run if !same => {
                        self.link.tell(Told::End { generation: theirs, now: true });
                    }
                    _ => {}
                }
            }
            (Stage::Sleeps { way, took_ms }, Intent::Stop) => {
                self.happened(Sign::Stopped { job, generation, way, took_ms });
            }
            (Stage::Sleeps { .. }, Intent::Run) if !same => match now.brief {
                Some(brief) if brief.launch.resume == Resume::Processes => {
                    self.link.tell(Told::Resume(brief));
                }
                _ => self.link.tell(Told::End { generation: theirs, now: true }),
            },
            (Stage::Sleeps { .. } | Stage::Stops, _) => {}
        }
    }

    /// The attempt will never be started.
    fn never(&self, now: &Now) {
        let (job, generation) = (self.job, now.generation);
        if now.intent != Intent::Stop {
            return self.ended(now, Ending::Lost);
        }
        let saved = now.brief.as_ref().is_some_and(|brief| brief.launch.resume != Resume::No);
        let way = if saved { Way::Saved } else { Way::Requeued };
        self.happened(Sign::Stopped { job, generation, way, took_ms: 0 });
    }

    /// The attempt is over, and this is what its shepherd left to be said.
    fn over(&self, now: &Now, sign: Sign) {
        let sign = match (now.intent, sign) {
            (Intent::Sleep, _) => Sign::Perished { job: self.job },
            // It was to sleep, and did not live to say so.
            (_, Sign::Perished { .. }) => {
                return self.ended(now, Ending::Lost);
            }
            (_, Sign::Ended { job, generation, ending, .. }) => {
                let ago_ms = self.core.state.attempt(job, generation).ended_ago_ms();
                Sign::Ended { job, generation, ending, ago_ms }
            }
            (_, sign) => sign,
        };
        if !self.core.happened(self.job, sign) {
            self.ended(now, Ending::Lost);
        }
    }

    fn sock(&self, claim: &Claim) -> std::path::PathBuf {
        let home = claim.home.unwrap_or_default();
        self.core.state.attempt(self.job, home).sock()
    }

    fn kill_left(&self, attempt: &Attempt, claim: &Claim) -> bool {
        let sock = self.sock(claim);
        let mark = format!("HEELER_SOCKET={}", sock.display());
        kill_left(claim, attempt.running().as_ref(), &mark)
    }

    /// The shepherd is gone and has left nothing to be said.
    fn dead(&self, now: &Now, attempt: &Attempt, claim: &Claim) {
        if !self.kill_left(attempt, claim) {
            tracing::warn!(job = self.job.0, "some of its processes cannot be killed");
        }
        self.ended(now, Ending::Lost);
    }
}

fn kill_shepherd(claim: &Claim) {
    if let Some(shepherd) = claim.shepherd.as_ref().filter(|shepherd| is_alive(shepherd)) {
        let pid = nix::unistd::Pid::from_raw(shepherd.pid);
        let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL);
    }
}

/// Take note of a shepherd's end, so that the kernel can forget it.
fn wait(mut child: Child) {
    let _ = child.wait();
}
