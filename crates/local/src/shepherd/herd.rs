//! A job and its shepherd: one thread that everything is told to, and that alone decides.

use super::desk::Desk;
use super::environment::Person;
use super::log::Viewers;
use super::sock::{Heed, Seat, hear, serve};
use super::start::{give, start};
use super::{Ready, ending, person, stopping};
use crate::cgroup::Group;
use crate::folder::{Attempt, Running, State, write};
use crate::pause::{Asleep, Outcome, PauseError, Resumed, Scope};
use crate::process::being;
use crate::wire::{Brief, Heard, Says, Stage, Told, send};
use heeler_backend::{Ending, Sign, Way};
use heeler_model::Generation;
use nix::sys::stat::{Mode, umask};
use nix::sys::wait::waitpid;
use std::collections::BTreeMap;
use std::io::BufReader;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// Something that happened.
pub(super) enum Event {
    /// On a connection.
    Heed(Heed),
    /// A process ended: with a code, or below zero by a signal.
    Reaped(i32, i32),
    /// None is left.
    Childless,
    /// The job was suspended, or could not be.
    Suspended(Result<Outcome, PauseError>),
    /// It goes on, or cannot.
    Woken(Result<Resumed, PauseError>, Asleep),
}

impl From<Heed> for Event {
    fn from(heed: Heed) -> Event {
        Event::Heed(heed)
    }
}

/// What the job is doing.
#[derive(Debug)]
pub(super) enum Phase {
    /// It runs.
    Runs { took_ms: u64, resumed: bool },
    /// It is being suspended by another thread, and killed if that takes too long.
    Stops { since: Instant, until: Instant },
    /// It is suspended.
    Sleeps { way: Way, took_ms: u64 },
    /// It is being let go on by another thread, as another attempt.
    Wakes { brief: Box<Brief>, since: Instant, until: Instant },
    /// It is being ended: asked, and killed from then on.
    Ends { verdict: Verdict, since: Instant, kill_at: Instant },
}

/// What is said once nothing is left of it.
#[derive(Debug)]
pub(super) enum Verdict {
    /// How its processes ended.
    Own,
    /// That it was lost.
    Lost,
    /// That it was stopped, and how.
    Stopped(Way),
    /// That it perished in its sleep.
    Perished,
    /// Nothing: it is started again as this attempt.
    Again(Box<Brief>),
}

/// A process of the job's own.
pub(super) struct Rank {
    pub(super) pid: i32,
    pub(super) ended: Option<i32>,
}

/// A job and its shepherd.
pub(super) struct Herd {
    pub(super) brief: Brief,
    pub(super) attempt: Attempt,
    pub(super) home: Generation,
    pub(super) ready: Ready,
    pub(super) ranks: Vec<Rank>,
    /// How the first that failed did.
    pub(super) first_bad: Option<i32>,
    pub(super) phase: Phase,
    /// When what the ranks left behind is killed.
    pub(super) sweep_at: Option<Instant>,
    pub(super) childless: bool,
    pub(super) desk: Arc<Desk>,
    pub(super) saves: bool,
    pub(super) asleep: Asleep,
    pub(super) tried: Vec<String>,
    /// Orders that came while another thread was at work.
    pub(super) waiting: Vec<Told>,
    pub(super) connections: BTreeMap<u64, Arc<UnixStream>>,
    pub(super) server: Option<(u64, Arc<UnixStream>)>,
    /// Where the first server is heard, once the job runs.
    told_by: Option<BufReader<UnixStream>>,
    report: Option<serde_json::Value>,
    /// When the next report may be passed on.
    report_at: Instant,
    pub(super) log: Option<Receiver<()>>,
    person: Option<Person>,
    seat: Seat,
    pub(super) events: Sender<Event>,
    inbox: Receiver<Event>,
    pub(super) asked: Instant,
    over: bool,
}

/// How often what was killed is looked at again: it may have forked meanwhile.
const AGAIN: Duration = Duration::from_millis(100);

impl Herd {
    pub(super) fn new(brief: Brief, ready: Ready, server: BufReader<UnixStream>) -> Herd {
        let (events, inbox) = channel();
        let home = brief.launch.generation;
        let attempt = State(brief.state.clone()).attempt(brief.launch.job, home);
        let viewers = Viewers::default();
        let seat = Seat { terminal: Arc::default(), viewers, log: attempt.log() };
        let stream = server.get_ref().try_clone().ok().map(|stream| (0, Arc::new(stream)));
        Herd {
            attempt,
            home,
            ready,
            ranks: Vec::new(),
            first_bad: None,
            phase: Phase::Runs { took_ms: 0, resumed: false },
            sweep_at: None,
            childless: false,
            desk: Arc::default(),
            saves: false,
            asleep: Asleep::default(),
            tried: Vec::new(),
            waiting: Vec::new(),
            connections: BTreeMap::new(),
            server: stream,
            told_by: Some(server),
            report: None,
            report_at: Instant::now(),
            log: None,
            person: None,
            seat,
            events,
            inbox,
            asked: Instant::now(),
            over: false,
            brief,
        }
    }

    /// Run the job to its end.
    pub(super) fn run(mut self) -> ExitCode {
        let taken = self.attempt.take_with(&self.ready.claim);
        match taken.and_then(|taken| if taken { self.bind().map(Some) } else { Ok(None) }) {
            Ok(Some(listener)) => {
                self.begin();
                // Only now: until then, whoever comes waits, and the job does not.
                serve(listener, self.seat.clone(), self.events.clone());
            }
            Ok(None) => {
                self.say(&Says::Taken);
                self.over = true;
            }
            Err(error) => self.not_started(format!("{}: {error}", self.attempt.0.display())),
        }
        if let Some(server) = self.told_by.take().filter(|_| !self.over) {
            hear(0, server, true, self.seat.clone(), self.events.clone());
        }
        while !self.over {
            let event = match self.deadline() {
                Some(at) => self.inbox.recv_timeout(at.saturating_duration_since(Instant::now())),
                None => self.inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            if let Ok(event) = event {
                self.take(event);
            }
            self.tick();
        }
        self.ready.leave();
        ExitCode::SUCCESS
    }

    fn bind(&mut self) -> std::io::Result<UnixListener> {
        let path = self.attempt.sock();
        let usual = umask(Mode::from_bits_truncate(0o177));
        let listener = UnixListener::bind(&path);
        umask(usual);
        self.person = person::find(self.brief.launch.identity)?;
        give(&path, self.person.as_ref())?;
        listener
    }

    /// Start the job's processes, for the first time or anew.
    pub(super) fn begin(&mut self) {
        let launch = &self.brief.launch;
        if let Some(group) = &self.ready.group {
            let each = u64::from(launch.assignment.gpus().max(1));
            group.limit(u64::from(launch.cpu_milli) * each, u64::from(launch.memory_mb) * each);
        }
        let mut pids = Vec::new();
        let person = self.person.as_ref();
        let sock = self.sock();
        let started = start(&self.brief, (&self.attempt, &sock), person, &mut pids);
        self.ranks = pids.iter().map(|pid| Rank { pid: *pid, ended: None }).collect();
        match started {
            Ok(outlet) => {
                self.runs(false);
                let viewers = &self.seat.viewers;
                let printed = outlet.follow(&self.brief, &self.attempt, viewers);
                let printed = printed.unwrap_or_default();
                self.log = printed.log;
                let mut seat = self.seat.terminal.lock().unwrap_or_else(PoisonError::into_inner);
                *seat = printed.terminal;
            }
            Err(message) => {
                // It would be killed with them.
                let _ = self.ready.group.as_ref().map(Group::leave);
                // Some ranks may run though others could not be started.
                stopping::kill_all(&self.scope());
                while waitpid(None, None).is_ok() {}
                self.not_started(message);
                return;
            }
        }
        if let Some(group) = &self.ready.group {
            let _ = group.leave();
        }
        self.childless = false;
        let events = self.events.clone();
        std::thread::spawn(move || ending::reap(&events));
    }

    /// The job's processes run: say so.
    pub(super) fn runs(&mut self, resumed: bool) {
        let took_ms = self.asked.elapsed().as_millis() as u64;
        self.phase = Phase::Runs { took_ms, resumed };
        let (job, generation) = (self.brief.launch.job, self.brief.launch.generation);
        self.say(&Says::Sign(Sign::Started { job, generation, took_ms, resumed }));
        // For finding what is left if this process is killed; the job runs all the same.
        let ranks = self.ranks.iter().filter_map(|rank| being(rank.pid)).collect();
        let _ = write(&self.attempt.started(), &Running { ranks });
        let _ = write(&self.attempt.launch(), &self.brief);
    }

    /// Where its socket is, whichever attempt this is.
    pub(super) fn sock(&self) -> std::path::PathBuf {
        State(self.brief.state.clone()).attempt(self.brief.launch.job, self.home).sock()
    }

    fn not_started(&mut self, message: String) {
        self.conclude(Sign::Ended {
            job: self.brief.launch.job,
            generation: self.brief.launch.generation,
            ending: Ending::NotStarted { message },
            ago_ms: 0,
        });
    }

    /// The job's processes, wherever they went.
    pub(super) fn scope(&self) -> Scope {
        Scope {
            keeper: Some(self.ready.me.pid),
            ranks: self.ranks.iter().map(|rank| rank.pid).collect(),
            cgroup: self.ready.group.as_ref().map(|group| group.path.clone()),
        }
    }

    /// Say something to the server, if there is one.
    pub(super) fn say(&mut self, says: &Says) {
        if let Some((_, stream)) = &self.server
            && send(stream, says).is_err()
        {
            self.server = None;
        }
    }

    pub(super) fn is_over(&mut self) {
        self.over = true;
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Heed(Heed::Joined(id, stream)) => {
                self.connections.insert(id, stream);
            }
            Event::Heed(Heed::Left(id)) => {
                self.connections.remove(&id);
                self.server.take_if(|(server, _)| *server == id);
            }
            Event::Heed(Heed::Heard(_, Heard::Report(report))) => {
                self.saves |=
                    report.get("saves").and_then(serde_json::Value::as_bool) == Some(true);
                self.report = Some(report);
            }
            Event::Heed(Heed::Heard(_, Heard::Saved(_))) => {
                self.desk.note(|known| known.saved = true);
            }
            Event::Heed(Heed::Heard(id, Heard::Server(Told::Hello))) => self.greet(id),
            Event::Heed(Heed::Heard(_, Heard::Server(told))) => self.told(told),
            Event::Heed(Heed::Heard(_, Heard::Attach(_))) => {}
            Event::Reaped(pid, status) => self.reaped(pid, status),
            Event::Childless => {
                self.childless = true;
                self.desk.note(|known| known.gone = true);
            }
            Event::Suspended(result) => self.suspended(result),
            Event::Woken(result, asleep) => self.woken(result, asleep),
        }
    }

    /// Somebody is the server now.
    fn greet(&mut self, id: u64) {
        self.server = self.connections.get(&id).map(|stream| (id, Arc::clone(stream)));
        let stage = match &self.phase {
            Phase::Runs { took_ms, resumed } => {
                Stage::Runs { took_ms: *took_ms, resumed: *resumed }
            }
            Phase::Sleeps { way, took_ms } => Stage::Sleeps { way: *way, took_ms: *took_ms },
            Phase::Stops { .. } | Phase::Wakes { .. } | Phase::Ends { .. } => Stage::Stops,
        };
        let generation = match &self.phase {
            Phase::Wakes { brief, .. } => brief.launch.generation,
            _ => self.brief.launch.generation,
        };
        self.say(&Says::State { generation, stage });
    }

    /// When something has to be looked at again, if nothing happens.
    fn deadline(&self) -> Option<Instant> {
        let phase = match &self.phase {
            Phase::Ends { kill_at, .. } => Some(*kill_at),
            Phase::Stops { until, .. } | Phase::Wakes { until, .. } => Some(*until),
            Phase::Runs { .. } | Phase::Sleeps { .. } => None,
        };
        let report = self.report.as_ref().and(self.server.as_ref()).map(|_| self.report_at);
        [phase, self.sweep_at, report].into_iter().flatten().min()
    }

    /// Pass on what the job last said of itself.
    pub(super) fn pass_report(&mut self) {
        if self.server.is_some()
            && let Some(report) = self.report.take()
        {
            self.report_at = Instant::now() + Duration::from_millis(self.brief.report_ms);
            let (job, generation) = (self.brief.launch.job, self.brief.launch.generation);
            let said = heeler_backend::Said { report };
            self.say(&Says::Sign(Sign::Reported { job, generation, said }));
        }
    }

    /// Do what is due.
    fn tick(&mut self) {
        let now = Instant::now();
        if self.report.is_some() && self.report_at <= now {
            self.pass_report();
        }
        if self.childless && !self.over {
            self.finish();
            return;
        }
        let due = match &mut self.phase {
            Phase::Ends { kill_at, .. } if *kill_at <= now => {
                *kill_at = now + AGAIN;
                true
            }
            _ => false,
        };
        let swept = self.sweep_at.is_some_and(|at| at <= now);
        if swept {
            self.sweep_at = Some(now + AGAIN);
        }
        if due || swept {
            stopping::kill_all(&self.scope());
        }
        self.overdue(now);
    }
}
