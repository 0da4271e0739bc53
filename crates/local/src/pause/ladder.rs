//! The ladder itself: the ways in the order they are allowed, down to ending the job.

use super::checkpoint;
use super::{Asleep, Context, Move, Outcome, PauseError, Resumed, Step, Tried};
use super::{Ended, end, freeze, thaw, touches_gpu};
use heeler_backend::Way;
use nix::sys::signal::Signal;
use std::time::{Duration, Instant};

/// What was done so far.
#[derive(Default)]
pub(super) struct Log {
    pub(super) steps: Vec<Step>,
}

impl Log {
    /// Do something, and keep what it took.
    pub(super) fn time<T>(&mut self, name: &str, processes: usize, act: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let done = act();
        let took_us = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.steps.push(Step { name: name.to_owned(), processes, took_us });
        done
    }
}

/// Why a way was not possible.
pub(super) struct Refusal {
    pub(super) why: String,
    /// Whether the job cannot run on as it is, so that only ending it is left.
    pub(super) broken: bool,
}

impl Refusal {
    #[expect(clippy::needless_pass_by_value, reason = "it is what errors are mapped with")]
    pub(super) fn plain(why: impl ToString) -> Refusal {
        Refusal { why: why.to_string(), broken: false }
    }
}

/// Clear a job off its GPUs by the first of the ways that is possible. Those that are given are
/// those that are allowed; if none is possible the job runs on, unless the driver left it broken,
/// which the reasons then say.
pub fn suspend(
    context: &Context<'_>,
    ways: &[Way],
    grace: Duration,
) -> Result<Outcome, PauseError> {
    let begun = Instant::now();
    let mut log = Log::default();
    let mut tried = Vec::new();
    let mut broken = false;
    if context.scope.processes()?.is_empty() {
        return Err(PauseError::Gone);
    }
    for way in ways {
        if broken && *way != Way::Requeued {
            continue;
        }
        match climb(context, *way, grace, &mut log) {
            Ok((way, asleep)) => {
                let took_ms = milliseconds(begun);
                return Ok(Outcome { way, took_ms, steps: log.steps, tried, asleep });
            }
            Err(refusal) => {
                broken |= refusal.broken;
                tried.push(Tried { way: *way, why: refusal.why });
            }
        }
        if context.scope.processes()?.is_empty() {
            return Err(PauseError::Gone);
        }
    }
    Err(PauseError::NoWay { tried })
}

fn climb(
    context: &Context<'_>,
    way: Way,
    grace: Duration,
    log: &mut Log,
) -> Result<(Way, Asleep), Refusal> {
    let count = context.scope.processes().map_err(Refusal::plain)?.len();
    match way {
        Way::Saved => {
            let ask = "it never said that it can save itself";
            let save = context.save.ok_or_else(|| Refusal::plain(ask))?;
            log.time("save", count, || save(grace)).map_err(Refusal::plain)?;
            Ok((Way::Saved, Asleep::default()))
        }
        Way::Checkpointed => checkpoint::off(context, log),
        Way::Frozen => {
            let processes = context.scope.processes().map_err(Refusal::plain)?;
            if !context.resident && processes.iter().any(|process| touches_gpu(process.pid)) {
                return Err(Refusal::plain("its memory may not stay on the GPU"));
            }
            let frozen = log.time("freeze", count, || hold(context)).map_err(Refusal::plain)?;
            Ok((Way::Frozen, frozen))
        }
        Way::Requeued => {
            let ended = log.time("end", count, || end(&context.scope, Signal::SIGTERM, grace));
            match ended.map_err(Refusal::plain)? {
                Ended::Already => Err(Refusal::plain(PauseError::Gone)),
                Ended::Asked | Ended::Killed => Ok((Way::Requeued, Asleep::default())),
            }
        }
    }
}

/// Make everything stand still, and nothing else.
pub(super) fn hold(context: &Context<'_>) -> Result<Asleep, PauseError> {
    let frozen = freeze(&context.scope, context.limits.freeze)?;
    Ok(Asleep { frozen: Some(frozen), ..Asleep::default() })
}

/// Let a suspended job go on, perhaps on other GPUs. If it cannot, it stands still again, and
/// `asleep` says how.
pub fn resume(
    context: &Context<'_>,
    asleep: &mut Asleep,
    moves: &[Move],
) -> Result<Resumed, PauseError> {
    let begun = Instant::now();
    let mut log = Log::default();
    let processes = context.scope.processes()?;
    if processes.is_empty() {
        return Err(PauseError::Gone);
    }
    let elsewhere = moves.iter().any(|one| one.old != one.new);
    // Older drivers know no moves, not even those that go nowhere.
    let moves = if elsewhere { moves } else { &[] };
    let on_gpu = || processes.iter().any(|process| touches_gpu(process.pid));
    if elsewhere && asleep.checkpointed.is_empty() && on_gpu() {
        return Err(PauseError::CannotMove);
    }
    if let Some(frozen) = &asleep.frozen {
        log.time("thaw", frozen.count, || thaw(&context.scope, frozen))?;
    }
    if let Err(refusal) = checkpoint::back(context, asleep, moves, &mut log) {
        asleep.frozen = Some(freeze(&context.scope, context.limits.freeze)?);
        return Err(PauseError::StillAsleep { message: refusal.why });
    }
    *asleep = Asleep::default();
    Ok(Resumed { took_ms: milliseconds(begun), steps: log.steps })
}

fn milliseconds(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX)
}
