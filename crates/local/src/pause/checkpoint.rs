//! The driver's rung: lock all processes that use a GPU, move their memory to the host, make the
//! tree stand still; and the same backwards. A process has to run while the driver moves it, since
//! its own threads do the work, so the tree is frozen last and thawed first.

use super::driver::{Driver, all_well, each};
use super::ladder::{Log, Refusal, hold};
use super::{Asleep, Context, Move, PauseError, thaw};
use heeler_backend::Way;
use heeler_sys::cuda::State;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

/// How often the tree is looked at for processes that began to use a GPU meanwhile.
const ROUNDS: usize = 4;

/// Take a job off its GPUs. One that has nothing there is only frozen, and called so.
pub(super) fn off(context: &Context<'_>, log: &mut Log) -> Result<(Way, Asleep), Refusal> {
    let none = "the GPUs here are emulated, or their driver cannot move memory off them";
    let driver = context.driver.as_ref().ok_or_else(|| Refusal::plain(none))?;
    if context.packed {
        return Err(Refusal::plain("it shares its GPU through MPS, which the driver cannot move"));
    }
    let processes = context.scope.processes().map_err(Refusal::plain)?;
    let pids: Vec<i32> = processes.iter().map(|process| process.pid).collect();
    room(context.gpu_memory_mb.or_else(|| driver.memory_mb(&pids)))?;
    let mut taking = Taking { context, driver, seen: BTreeSet::new(), asleep: Asleep::default() };
    match taking.all(log) {
        Ok(()) if taking.asleep.checkpointed.is_empty() => Ok((Way::Frozen, taking.asleep)),
        Ok(()) => Ok((Way::Checkpointed, taking.asleep)),
        Err(refusal) => Err(taking.undo(refusal, log)),
    }
}

/// A job that is being taken off its GPUs.
struct Taking<'a> {
    context: &'a Context<'a>,
    driver: &'a Arc<dyn Driver>,
    /// Processes that were asked what they hold.
    seen: BTreeSet<i32>,
    asleep: Asleep,
}

impl Taking<'_> {
    fn all(&mut self, log: &mut Log) -> Result<(), Refusal> {
        for _ in 0..ROUNDS {
            let fresh = self.holders()?;
            if !fresh.is_empty() {
                self.take(&fresh, log)?;
            }
            let count = self.context.scope.processes().map_err(Refusal::plain)?.len();
            let held = log.time("freeze", count, || hold(self.context)).map_err(Refusal::plain)?;
            self.asleep.frozen = held.frozen;
            if self.strangers().map_err(Refusal::plain)?.is_empty() {
                return Ok(());
            }
            self.wake()?;
        }
        let why = format!("new processes used a GPU each of the {ROUNDS} times it was taken off");
        Err(Refusal::plain(why))
    }

    /// Processes that may use a GPU and were not asked yet.
    fn strangers(&self) -> Result<Vec<i32>, PauseError> {
        let pids = self.context.scope.processes()?.into_iter().map(|process| process.pid);
        let new = pids.filter(|pid| !self.seen.contains(pid) && self.driver.may_hold(*pid));
        Ok(new.collect())
    }

    /// Those of them that do. Forked children have a GPU's files open without using it, and the
    /// driver does not know them; but if it knows none at all, something else is wrong.
    fn holders(&mut self) -> Result<Vec<i32>, Refusal> {
        let strangers = self.strangers().map_err(Refusal::plain)?;
        let within = self.context.limits.answer;
        let answers = each(self.driver, &strangers, within, |driver, pid| driver.state(pid));
        self.seen.extend(&strangers);
        let known = |answer: &Result<State, Refusal>| answer.is_ok();
        if self.asleep.checkpointed.is_empty() && !answers.values().any(known) {
            // Only a question went unanswered, so nothing is broken.
            all_well(answers).map_err(|refusal| Refusal::plain(refusal.why))?;
            return Ok(Vec::new());
        }
        Ok(answers.into_iter().filter(|(_, answer)| known(answer)).map(|(pid, _)| pid).collect())
    }

    fn take(&mut self, fresh: &[i32], log: &mut Log) -> Result<(), Refusal> {
        let limits = self.context.limits;
        if self.asleep.memory_max.is_none() {
            self.asleep.memory_max = lift(self.context);
        }
        self.asleep.checkpointed.extend(fresh);
        let lock_ms = u32::try_from(limits.lock.as_millis()).unwrap_or(u32::MAX);
        // The driver's own limit should come first.
        let lock = limits.lock + limits.answer;
        let act = move |driver: &dyn Driver, pid| driver.lock(pid, lock_ms);
        self.done(log.time("lock", fresh.len(), || each(self.driver, fresh, lock, act)))?;
        let act = |driver: &dyn Driver, pid| driver.checkpoint(pid);
        let all = || each(self.driver, fresh, limits.memory, act);
        self.done(log.time("checkpoint", fresh.len(), all))
    }

    /// Whether it went well with all that are still there: processes may end at any time.
    fn done(&self, mut answers: BTreeMap<i32, Result<(), Refusal>>) -> Result<(), Refusal> {
        let there = self.context.scope.processes().map_err(Refusal::plain)?;
        answers.retain(|pid, _| there.iter().any(|process| process.pid == *pid));
        all_well(answers)
    }

    fn wake(&mut self) -> Result<(), Refusal> {
        match self.asleep.frozen.take() {
            Some(frozen) => thaw(&self.context.scope, &frozen).map_err(Refusal::plain),
            None => Ok(()),
        }
    }

    /// Put everything back as it was.
    fn undo(mut self, refusal: Refusal, log: &mut Log) -> Refusal {
        if self.asleep.checkpointed.is_empty() && self.asleep.frozen.is_none() {
            return refusal;
        }
        let count = self.asleep.checkpointed.len();
        let mut inner = Log::default();
        let back = log.time("undo", count, || {
            self.wake()?;
            back(self.context, &self.asleep, &[], &mut inner)
        });
        let Err(more) = back else { return refusal };
        let why = format!("{}; it could not be undone: {}", refusal.why, more.why);
        Refusal { why, broken: true }
    }
}

/// Put a job back onto its GPUs, or onto others. Can be repeated: what is back stays.
pub(super) fn back(
    context: &Context<'_>,
    asleep: &Asleep,
    moves: &[Move],
    log: &mut Log,
) -> Result<(), Refusal> {
    let there = context.scope.processes().map_err(Refusal::plain)?;
    let there = |pid: &&i32| there.iter().any(|process| process.pid == **pid);
    let pids: Vec<i32> = asleep.checkpointed.iter().filter(there).copied().collect();
    if !pids.is_empty() {
        let driver = context.driver.as_ref().ok_or_else(|| Refusal::plain("the driver is gone"))?;
        let within = context.limits.memory;
        let moves = moves.to_vec();
        let act = move |driver: &dyn Driver, pid| match driver.state(pid)? {
            State::Checkpointed => driver.restore(pid, &moves),
            _ => Ok(()),
        };
        log.time("restore", pids.len(), || all_well(each(driver, &pids, within, act)))?;
        let act = |driver: &dyn Driver, pid| match driver.state(pid)? {
            State::Locked => driver.unlock(pid),
            _ => Ok(()),
        };
        log.time("unlock", pids.len(), || all_well(each(driver, &pids, within, act)))?;
    }
    if let (Some(file), Some(limit)) = (memory_limit(context), &asleep.memory_max) {
        let told = std::fs::write(&file, limit);
        told.map_err(|error| Refusal::plain(format!("writing {}: {error}", file.display())))?;
    }
    Ok(())
}

/// What was on the GPU has to fit into the host's memory, or the kernel kills somebody.
fn room(gpu_memory_mb: Option<u64>) -> Result<(), Refusal> {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let available = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    match (gpu_memory_mb, available.map(|kilobytes| kilobytes / 1024)) {
        (Some(needed), Some(available)) if needed > available => Err(Refusal::plain(format!(
            "it has {needed} MB on its GPUs, and the host has only {available} MB left"
        ))),
        _ => Ok(()),
    }
}

fn memory_limit(context: &Context<'_>) -> Option<PathBuf> {
    context.scope.cgroup.as_ref().map(|cgroup| cgroup.join("memory.max"))
}

/// The driver moves memory into the process, where the job's own limit would kill it: take the
/// limit away, and say what it was.
fn lift(context: &Context<'_>) -> Option<String> {
    let file = memory_limit(context)?;
    let limit = std::fs::read_to_string(&file).ok()?.trim().to_owned();
    (limit != "max" && std::fs::write(&file, "max").is_ok()).then_some(limit)
}
