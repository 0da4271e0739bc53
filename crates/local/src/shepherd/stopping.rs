//! What a shepherd is told: to suspend its job, to let it go on, to end it.

use super::desk::Desk;
use super::herd::{Event, Herd, Phase, Verdict};
use crate::folder::{Claim, State, write};
use crate::pause::{self, Asleep, Context, Limits, Move, Outcome, PauseError, Resumed, Scope};
use crate::wire::{Brief, Request, Says, Told, send};
use heeler_backend::{Resume, Sign, Way};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What suspending may take beside what its steps may.
const MARGIN: Duration = Duration::from_secs(5);

impl Herd {
    /// Do what the server says.
    pub(super) fn told(&mut self, told: Told) {
        let busy = matches!(self.phase, Phase::Stops { .. } | Phase::Wakes { .. });
        let latest = match &self.phase {
            Phase::Wakes { brief, .. } => brief.launch.generation,
            _ => self.brief.launch.generation,
        };
        match told {
            Told::Start(_) | Told::Hello => {}
            Told::Lose { generation } if generation == latest => {
                let asleep = matches!(self.phase, Phase::Sleeps { .. });
                let verdict = if asleep { Verdict::Perished } else { Verdict::Lost };
                self.end(verdict, Duration::ZERO);
            }
            Told::End { generation, now: true } if generation == latest => self.cancel(true),
            Told::Stop { .. } | Told::End { .. } | Told::Resume(_) if busy => {
                if matches!(told, Told::End { .. }) {
                    self.hurry();
                }
                self.waiting.push(told);
            }
            Told::End { generation, now: false } if generation == latest => self.cancel(false),
            Told::Stop { generation } if generation == latest => self.stop(),
            Told::Resume(brief) if brief.launch.generation > latest => self.wake(brief),
            Told::Signal { generation, signal } if generation == latest => self.signal(signal),
            // Of an attempt that is over: it was answered when it was.
            Told::Stop { .. }
            | Told::End { .. }
            | Told::Lose { .. }
            | Told::Signal { .. }
            | Told::Resume(_) => {}
        }
    }

    /// End the job because somebody wants that.
    fn cancel(&mut self, now: bool) {
        let grace = Duration::from_secs(self.brief.launch.grace_s);
        match &mut self.phase {
            // What stands still cannot answer.
            Phase::Sleeps { .. } => self.end(Verdict::Own, Duration::ZERO),
            Phase::Ends { verdict, kill_at, .. } => {
                if !matches!(verdict, Verdict::Lost) {
                    *verdict = Verdict::Own;
                }
                if now {
                    *kill_at = Instant::now();
                }
            }
            _ if now => self.end(Verdict::Own, Duration::ZERO),
            _ => self.end(Verdict::Own, grace),
        }
    }

    /// Somebody waits for what another thread is doing to be done.
    fn hurry(&mut self) {
        let grace = Duration::from_secs(self.brief.launch.grace_s);
        if let Phase::Stops { until, .. } | Phase::Wakes { until, .. } = &mut self.phase {
            *until = (*until).min(Instant::now() + grace);
        }
    }

    fn signal(&self, number: i32) {
        let Ok(signal) = Signal::try_from(number) else { return };
        for rank in self.ranks.iter().filter(|rank| rank.ended.is_none()) {
            // Each leads a group of its own; who has left it has left on purpose.
            let _ = nix::sys::signal::killpg(Pid::from_raw(rank.pid), signal);
        }
    }

    /// Clear the job off its GPUs.
    fn stop(&mut self) {
        let (job, generation) = (self.brief.launch.job, self.brief.launch.generation);
        match self.phase {
            // It has ended by itself, and will say so when what it left behind is gone.
            Phase::Runs { .. } if self.all_ended() => return,
            Phase::Runs { .. } => {}
            Phase::Sleeps { way, took_ms } => {
                self.say(&Says::Sign(Sign::Stopped { job, generation, way, took_ms }));
                return;
            }
            _ => return,
        }
        let mut ways = self.brief.launch.ways.clone();
        // Whoever has to leave its GPUs does, in the end.
        if !ways.contains(&Way::Requeued) {
            ways.push(Way::Requeued);
        }
        let grace = Duration::from_secs(self.brief.launch.grace_s);
        let save = Save {
            desk: Arc::clone(&self.desk),
            jobs: self.jobs(),
            speaks: self.saves,
            grace_s: self.brief.launch.grace_s,
            scope: self.scope(),
        };
        // Somebody who says that a script saves itself when it is asked politely is believed.
        let alone = !ways.iter().any(|way| matches!(way, Way::Checkpointed | Way::Frozen));
        let asks = self.saves || (alone && ways.contains(&Way::Saved));
        let parts = Parts::of(&self.brief, self.scope());
        let limits = Limits::default();
        let most = grace * 2 + limits.lock + limits.memory + limits.freeze + MARGIN;
        let since = Instant::now();
        self.phase = Phase::Stops { since, until: since + most };
        let events = self.events.clone();
        std::thread::spawn(move || {
            let ask = |within: Duration| save.ask(within);
            let context =
                Context { save: asks.then_some(&ask as pause::Save<'_>), ..parts.context() };
            // The one who receives lives as long as the process.
            let _ = events.send(Event::Suspended(pause::suspend(&context, &ways, grace)));
        });
    }

    /// Connections of the job, not of the server.
    fn jobs(&self) -> Vec<Arc<UnixStream>> {
        let server = self.server.as_ref().map(|(id, _)| *id);
        let jobs = self.connections.iter().filter(|(id, _)| Some(**id) != server);
        jobs.map(|(_, stream)| Arc::clone(stream)).collect()
    }

    /// The thread that suspends is done.
    pub(super) fn suspended(&mut self, result: Result<Outcome, PauseError>) {
        // It may have been ended meanwhile.
        let Phase::Stops { since, .. } = self.phase else { return };
        let (job, generation) = (self.brief.launch.job, self.brief.launch.generation);
        let sleeps = result.as_ref().is_ok_and(Outcome::sleeps);
        if sleeps && self.unheard() {
            // A rank ended before all stood still; how it did is known in a moment.
            std::thread::sleep(Duration::from_millis(1));
            let _ = self.events.send(Event::Suspended(result));
            return;
        }
        match result {
            // Whoever has finished or failed by itself has, even if what it left stands still now.
            Ok(_) if sleeps && (self.all_ended() || self.first_bad.is_some()) => {
                self.end(Verdict::Own, Duration::ZERO);
            }
            Ok(outcome) => {
                let (way, took_ms) = (outcome.way, outcome.took_ms);
                // What it cost, for those who want to know; the server is told the sum.
                let _ = write(&self.attempt.0.join("stopped.json"), &outcome);
                self.tried.extend(outcome.tried.iter().map(|tried| tried.why.clone()));
                self.asleep = outcome.asleep;
                if sleeps {
                    self.phase = Phase::Sleeps { way, took_ms };
                    self.say(&Says::Sign(Sign::Stopped { job, generation, way, took_ms }));
                } else {
                    let verdict = Verdict::Stopped(way);
                    self.phase = Phase::Ends { verdict, since, kill_at: Instant::now() };
                }
            }
            Err(PauseError::Gone) => {
                self.phase = Phase::Ends { verdict: Verdict::Own, since, kill_at: Instant::now() };
            }
            Err(error) => {
                self.tried.push(error.to_string());
                self.end(Verdict::Stopped(Way::Requeued), Duration::ZERO);
            }
        }
        self.take_up();
    }

    /// Whether a rank is gone of which it was not heard how it ended.
    fn unheard(&self) -> bool {
        let Ok(there) = self.scope().processes() else { return false };
        let runs = |pid: i32| there.iter().any(|process| process.pid == pid);
        self.ranks.iter().any(|rank| rank.ended.is_none() && !runs(rank.pid))
    }

    /// Do what had to wait.
    fn take_up(&mut self) {
        for told in std::mem::take(&mut self.waiting) {
            self.told(told);
        }
    }

    /// Let the suspended processes go on as another attempt.
    fn wake(&mut self, brief: Box<Brief>) {
        let generation = brief.launch.generation;
        if !matches!(self.phase, Phase::Sleeps { .. }) {
            let message = "its processes are not asleep".to_owned();
            return self.say(&Says::NotResumed { generation, message });
        }
        let attempt = State(brief.state.clone()).attempt(brief.launch.job, generation);
        let cgroup = self.ready.group.as_ref().map(|group| group.path.clone());
        let claim = Claim { shepherd: Some(self.ready.me.clone()), home: Some(self.home), cgroup };
        match attempt.make().and_then(|()| attempt.take(&claim)) {
            Ok(true) => {}
            Ok(false) => return self.say(&Says::Taken),
            Err(error) => {
                let message = format!("{}: {error}", attempt.0.display());
                return self.say(&Says::NotResumed { generation, message });
            }
        }
        let moves = moves(&self.brief, &brief);
        let parts = Parts::of(&self.brief, self.scope());
        let mut asleep = std::mem::take(&mut self.asleep);
        let limits = Limits::default();
        let since = Instant::now();
        self.asked = since;
        let until = since + limits.lock + limits.memory + limits.freeze + MARGIN;
        self.phase = Phase::Wakes { brief, since, until };
        let events = self.events.clone();
        std::thread::spawn(move || {
            let result = pause::resume(&parts.context(), &mut asleep, &moves);
            let _ = events.send(Event::Woken(result, asleep));
        });
    }

    /// The thread that lets it go on is done.
    pub(super) fn woken(&mut self, result: Result<Resumed, PauseError>, asleep: Asleep) {
        let placeholder = Phase::Runs { took_ms: 0, resumed: false };
        let Phase::Wakes { brief, since, until } = std::mem::replace(&mut self.phase, placeholder)
        else {
            return;
        };
        self.attempt =
            State(brief.state.clone()).attempt(brief.launch.job, brief.launch.generation);
        match result {
            Ok(resumed) => {
                let _ = write(&self.attempt.0.join("resumed.json"), &resumed);
                self.brief = *brief;
                self.runs(true);
            }
            Err(error) => {
                self.tried.push(error.to_string());
                self.asleep = asleep;
                self.phase = Phase::Wakes { brief, since, until };
                self.start_again();
            }
        }
        self.take_up();
    }

    /// Its processes cannot go on: end them, and start it from what it saved.
    fn start_again(&mut self) {
        let placeholder = Phase::Runs { took_ms: 0, resumed: false };
        if let Phase::Wakes { mut brief, .. } = std::mem::replace(&mut self.phase, placeholder) {
            brief.launch.resume = Resume::Saved;
            self.brief = (*brief).clone();
            self.end(Verdict::Again(brief), Duration::ZERO);
        }
    }

    /// What another thread does takes too long: fall down the ladder.
    pub(super) fn overdue(&mut self, now: Instant) {
        match &self.phase {
            Phase::Stops { until, .. } if *until <= now => {
                self.tried.push("suspending it took too long".into());
                self.end(Verdict::Stopped(Way::Requeued), Duration::ZERO);
                self.take_up();
            }
            Phase::Wakes { until, .. } if *until <= now => {
                self.tried.push("letting it go on took too long".into());
                self.start_again();
                self.take_up();
            }
            _ => {}
        }
    }
}

/// What a thread needs to suspend a job or to let it go on.
struct Parts {
    scope: Scope,
    real: bool,
    resident: bool,
    packed: bool,
}

impl Parts {
    fn of(brief: &Brief, scope: Scope) -> Parts {
        let launch = &brief.launch;
        let real = !brief.emulated && launch.assignment.gpus() > 0;
        // Memory that stays would be in the way of whoever comes next, unless its owner says so.
        let resident = !real || !launch.ways.contains(&Way::Requeued);
        Parts { scope, real, resident, packed: !launch.assignment.share.is_whole() }
    }

    fn context(&self) -> Context<'static> {
        Context {
            driver: if self.real { pause::driver().ok() } else { None },
            resident: self.resident,
            packed: self.packed && self.real,
            ..Context::of(self.scope.clone())
        }
    }
}

/// Where the memory of each GPU goes.
fn moves(old: &Brief, new: &Brief) -> Vec<Move> {
    let uuids = |brief: &Brief| {
        let all = brief.parts.iter().flat_map(|part| part.uuids.clone());
        all.filter_map(|uuid| uuid.parse().ok()).collect::<Vec<_>>()
    };
    let pairs = uuids(old).into_iter().zip(uuids(new));
    pairs.map(|(old, new)| Move { old, new }).collect()
}

/// How a job is asked to save itself.
struct Save {
    desk: Arc<Desk>,
    jobs: Vec<Arc<UnixStream>>,
    speaks: bool,
    grace_s: u64,
    scope: Scope,
}

impl Save {
    fn ask(&self, within: Duration) -> Result<(), String> {
        if !self.speaks {
            return self.ask_politely(within);
        }
        let request = Request::Save { stop: true, grace_s: self.grace_s };
        let sent = self.jobs.iter().filter(|stream| send(stream, &request).is_ok()).count();
        if sent == 0 {
            return Err("it does not listen any more".into());
        }
        let known = self.desk.wait_gone(within);
        match (known.saved, known.gone) {
            (true, true) => Ok(()),
            (false, true) => Err("it ended without saying that it had saved".into()),
            (true, false) => {
                let ended = pause::end(&self.scope, Signal::SIGTERM, within);
                ended.map(|_| ()).map_err(|error| error.to_string())
            }
            (false, false) => Err(format!("it did not save within {} s", within.as_secs())),
        }
    }

    /// A script that does not talk to us, of which its owner says that it saves when it is asked.
    fn ask_politely(&self, within: Duration) -> Result<(), String> {
        signal_all(&self.scope, Signal::SIGTERM);
        let known = self.desk.wait_gone(within);
        match (known.gone, known.politely) {
            (true, true) => Ok(()),
            (true, false) => Err("it ended otherwise than by being asked to".into()),
            (false, _) => Err(format!("it did not end within {} s", within.as_secs())),
        }
    }
}

/// Send a signal to all processes of a job.
pub(super) fn signal_all(scope: &Scope, signal: Signal) {
    for process in scope.processes().unwrap_or_default() {
        // One that is gone needs no signal.
        let _ = kill(Pid::from_raw(process.pid), signal);
    }
}

/// Kill all processes of a job.
pub(super) fn kill_all(scope: &Scope) {
    if let Some(cgroup) = &scope.cgroup {
        // Where that is not permitted, signals follow.
        let _ = std::fs::write(cgroup.join("cgroup.kill"), "1");
    }
    signal_all(scope, Signal::SIGKILL);
}
