//! How a job ends: its ranks together, nothing left behind, and its status on disk before anybody
//! is told.

use super::herd::{Event, Herd, Phase, Verdict};
use super::stopping::{kill_all, signal_all};
use crate::folder::{Exit, State};
use crate::wire::Says;
use heeler_backend::{Ending, Sign};
use nix::errno::Errno;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// How long background processes that the ranks left behind have to end.
const SWEEP: Duration = Duration::from_secs(1);
/// How long what was printed last is waited for.
const PRINTED: Duration = Duration::from_secs(2);
/// How often writing the status is tried, once a second, while nobody else can be told.
const TRIES: u32 = 600;

impl Herd {
    /// End the job: ask, and kill when its grace is over.
    pub(super) fn end(&mut self, verdict: Verdict, grace: Duration) {
        let since = Instant::now();
        // What finished before it could be asked to go is not run a second time.
        let finished = self.all_ended() && self.first_bad.is_none();
        let verdict = match verdict {
            Verdict::Stopped(_) | Verdict::Again(_) if finished => Verdict::Own,
            verdict => verdict,
        };
        self.phase = Phase::Ends { verdict, since, kill_at: since + grace };
        let scope = self.scope();
        if grace.is_zero() {
            kill_all(&scope);
        } else {
            signal_all(&scope, Signal::SIGTERM);
            // What stopped itself would not notice.
            signal_all(&scope, Signal::SIGCONT);
        }
    }

    /// Whether every rank has ended, though what they started may still run.
    pub(super) fn all_ended(&self) -> bool {
        self.ranks.iter().all(|rank| rank.ended.is_some())
    }

    /// A process is gone.
    pub(super) fn reaped(&mut self, pid: i32, status: i32) {
        // Zero stands for one that could not be named: it is a rank that is not there any more.
        let gone = |rank: i32| pid == 0 && crate::process::being(rank).is_none();
        let rank = self
            .ranks
            .iter_mut()
            .find(|rank| rank.ended.is_none() && (rank.pid == pid || gone(rank.pid)));
        let Some(rank) = rank else { return };
        rank.ended = Some(status);
        if status != 0 && self.first_bad.is_none() {
            self.first_bad = Some(status);
            let politely = matches!(status, 143 | -15);
            self.desk.note(|known| known.politely = politely);
        }
        let all = self.all_ended();
        if all && self.sweep_at.is_none() {
            signal_all(&self.scope(), Signal::SIGTERM);
            self.sweep_at = Some(Instant::now() + SWEEP);
        }
        match self.phase {
            Phase::Sleeps { .. } => self.end(Verdict::Perished, Duration::ZERO),
            Phase::Runs { .. } if status != 0 && !all => {
                self.end(Verdict::Own, Duration::from_secs(self.brief.launch.grace_s));
            }
            _ => {}
        }
    }

    /// Nothing is left: say how it ended, unless another thread has to be heard first.
    pub(super) fn finish(&mut self) {
        let verdict = match &mut self.phase {
            Phase::Stops { until, .. } | Phase::Wakes { until, .. } => {
                // It will notice soon that nothing is left, unless it hangs.
                *until = (*until).min(Instant::now() + PRINTED);
                self.childless_but_busy();
                return;
            }
            Phase::Ends { verdict, since, .. } => {
                Some((std::mem::replace(verdict, Verdict::Own), since.elapsed()))
            }
            Phase::Sleeps { .. } => Some((Verdict::Perished, Duration::ZERO)),
            Phase::Runs { .. } => None,
        };
        if let Some(log) = self.log.take() {
            // It is closed, not sent to: an error is the good case.
            let _ = log.recv_timeout(PRINTED);
        }
        let (verdict, took) = verdict.unwrap_or((Verdict::Own, Duration::ZERO));
        let (job, generation) = (self.brief.launch.job, self.brief.launch.generation);
        let took_ms = took.as_millis() as u64;
        let sign = match verdict {
            Verdict::Own => Sign::Ended { job, generation, ending: self.own_ending(), ago_ms: 0 },
            Verdict::Lost => Sign::Ended { job, generation, ending: Ending::Lost, ago_ms: 0 },
            Verdict::Stopped(way) => Sign::Stopped { job, generation, way, took_ms },
            Verdict::Perished => Sign::Perished { job },
            Verdict::Again(brief) => {
                self.brief = *brief;
                return self.once_more();
            }
        };
        self.pass_report();
        self.conclude(sign);
    }

    /// The other thread that hangs is not waited for.
    fn childless_but_busy(&mut self) {
        let now = Instant::now();
        let hangs = match &self.phase {
            Phase::Stops { until, .. } | Phase::Wakes { until, .. } => *until <= now,
            _ => false,
        };
        if hangs {
            let verdict = Verdict::Own;
            self.phase = Phase::Ends { verdict, since: now, kill_at: now };
            self.finish();
        }
    }

    /// Start the job's processes anew in the attempt that its sleeping ones could not go on as.
    fn once_more(&mut self) {
        let launch = &self.brief.launch;
        self.attempt = State(self.brief.state.clone()).attempt(launch.job, launch.generation);
        self.desk = Arc::default();
        self.first_bad = None;
        self.sweep_at = None;
        self.saves = false;
        self.childless = false;
        if let Some(group) = &self.ready.group {
            // Where it cannot be entered again, its processes are found without it.
            let _ = group.enter();
        }
        self.begin();
    }

    fn own_ending(&self) -> Ending {
        match self.first_bad {
            None => Ending::Exited { code: 0 },
            Some(code) if code > 0 => Ending::Exited { code },
            Some(signal) => {
                let group = self.ready.group.as_ref();
                let out_of_memory =
                    signal == -9 && group.is_some_and(crate::cgroup::Group::out_of_memory);
                Ending::Killed { signal: -signal, out_of_memory }
            }
        }
    }

    /// Write down how it ended, and only then say so.
    pub(super) fn conclude(&mut self, sign: Sign) {
        let ranks = self.ranks.iter().map(|rank| rank.ended).collect();
        let exit = Exit { sign, ranks, tried: std::mem::take(&mut self.tried) };
        let mut tries = 0;
        while self.attempt.write_exit(&exit).is_err() && self.server.is_none() && tries < TRIES {
            // The disk may be full for a while, and nobody else knows.
            tries += 1;
            std::thread::sleep(Duration::from_secs(1));
        }
        let _ = std::fs::remove_file(self.sock());
        self.say(&Says::Sign(exit.sign));
        self.is_over();
    }
}

/// Take note of every process that ends, until there is none.
pub(super) fn reap(events: &Sender<Event>) {
    loop {
        let event = match waitpid(None, None) {
            Ok(WaitStatus::Exited(pid, code)) => Event::Reaped(pid.as_raw(), code),
            Ok(WaitStatus::Signaled(pid, signal, _)) => {
                Event::Reaped(pid.as_raw(), -(signal as i32))
            }
            // Ended by a signal that has no name.
            Err(Errno::EINVAL) => Event::Reaped(0, -nix::libc::SIGRTMIN()),
            Ok(_) | Err(Errno::EINTR) => continue,
            Err(_) => Event::Childless,
        };
        let last = matches!(event, Event::Childless);
        if events.send(event).is_err() || last {
            return;
        }
    }
}
