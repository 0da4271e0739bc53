//! How long jobs run, drawn from what is known of them: what they report of their own progress,
//! earlier runs of the same, what their owner says, and how such words have held before. A time
//! limit is never exceeded.

use heeler_engine::Job;
use heeler_model::{Span, Time};
use heeler_sim::Before;
use std::collections::BTreeMap;

/// So many earlier runs of the same are enough to go by.
const ALIKE_MIN: usize = 3;
/// So many runs are enough to judge people's words by, or to stand for anybody's.
const OTHERS_MIN: usize = 8;
/// Runs that are remembered of one kind.
const RUNS_MAX: usize = 256;
/// How far jobs are off that count their own steps, as a standard deviation of the logarithm.
const REPORTED_SPREAD: f64 = 0.1;
/// The same for what owners expect, where nobody knows how good they are at it.
const EXPECTED_SPREAD: f64 = 0.4;
/// The same where nothing is known.
const UNKNOWN_SPREAD: f64 = 1.0;
/// How long a job is taken to run of which nothing is known.
const UNKNOWN_S: f64 = 3600.0;
/// Whoever runs longer than anything known is taken to run so much longer still, in the median.
const LONGER: f64 = 0.25;

/// What is known of a job that is not over, beside what the engine knows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hint {
    /// Jobs with equal keys are runs of the same: of one user, by name and size.
    pub alike: u64,
    /// A key of its owner.
    pub owner: u64,
    /// How long its owner thinks it runs.
    pub expected: Option<Span>,
    /// How long it may run.
    pub limit: Option<Span>,
    /// How long it has run of what it would have to run again if it were lost.
    pub ran: Span,
    /// How long it still runs by its own count of steps.
    pub left: Option<Span>,
    /// What has to pass before it may start, if it is held; nothing, if nobody can say.
    pub before: Option<Before>,
    /// The line of which only so many may run at once, if it is in one.
    pub line: Option<u32>,
}

/// A run that ended well.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ran {
    /// As in [`Hint`].
    pub alike: u64,
    /// As in [`Hint`].
    pub owner: u64,
    /// How long it ran.
    pub ran: Span,
    /// How long its owner thought it would.
    pub expected: Option<Span>,
    /// How long it could have.
    pub limit: Option<Span>,
}

/// How long jobs ran.
#[derive(Clone, Debug, Default)]
pub struct Past {
    alike: BTreeMap<u64, Vec<f64>>,
    owners: BTreeMap<u64, Vec<f64>>,
    all: Vec<f64>,
    /// Run times as parts of what was expected, and of limits.
    of_expected: Vec<f64>,
    of_limit: Vec<f64>,
}

/// What a length was drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Basis {
    Reported,
    Alike,
    Expected,
    Limit,
    Owner,
    Others,
    Nothing,
}

impl Past {
    /// The past of these runs; of each kind the first are kept, so the latest should come first.
    pub fn of(runs: impl IntoIterator<Item = Ran>) -> Past {
        let mut past = Past::default();
        let keep = |list: &mut Vec<f64>, value: f64| {
            if list.len() < RUNS_MAX {
                list.push(value);
            }
        };
        for run in runs {
            let ran = run.ran.secs_f64();
            keep(past.alike.entry(run.alike).or_default(), ran);
            keep(past.owners.entry(run.owner).or_default(), ran);
            keep(&mut past.all, ran);
            let part =
                |of: Option<Span>| of.filter(|of| !of.is_zero()).map(|of| ran / of.secs_f64());
            if let Some(part) = part(run.expected) {
                keep(&mut past.of_expected, part);
            } else if let Some(part) = part(run.limit) {
                keep(&mut past.of_limit, part);
            }
        }
        let lists = past.alike.values_mut().chain(past.owners.values_mut());
        let more = [&mut past.all, &mut past.of_expected, &mut past.of_limit];
        lists.chain(more).for_each(|list| list.sort_unstable_by(f64::total_cmp));
        past
    }

    /// What a job's length can be drawn from.
    pub(super) fn basis(&self, hint: &Hint) -> Basis {
        let enough = |list: Option<&Vec<f64>>, least| list.is_some_and(|list| list.len() >= least);
        match hint {
            _ if hint.left.is_some() => Basis::Reported,
            _ if enough(self.alike.get(&hint.alike), ALIKE_MIN) => Basis::Alike,
            _ if hint.expected.is_some() => Basis::Expected,
            _ if hint.limit.is_some() => Basis::Limit,
            _ if enough(self.owners.get(&hint.owner), ALIKE_MIN) => Basis::Owner,
            _ if self.all.len() >= OTHERS_MIN => Basis::Others,
            _ => Basis::Nothing,
        }
    }

    /// How long a job still runs, in one future.
    pub(super) fn left(&self, hint: &Hint, chance: &mut Chance) -> Span {
        let ran = hint.ran.secs_f64();
        let (part, wide) = (chance.part(), chance.normal());
        let total = match self.basis(hint) {
            Basis::Reported => {
                let left = hint.left.map_or(0.0, Span::secs_f64);
                ran + left * (REPORTED_SPREAD * wide).exp()
            }
            Basis::Alike => longer_than(&self.alike[&hint.alike], 1.0, ran, part),
            Basis::Owner => longer_than(&self.owners[&hint.owner], 1.0, ran, part),
            Basis::Others => longer_than(&self.all, 1.0, ran, part),
            Basis::Expected => {
                let expected = hint.expected.map_or(UNKNOWN_S, Span::secs_f64);
                match self.of_expected.len() >= OTHERS_MIN {
                    true => longer_than(&self.of_expected, expected, ran, part),
                    false => around(expected, EXPECTED_SPREAD, ran, wide),
                }
            }
            Basis::Limit => {
                let limit = hint.limit.map_or(UNKNOWN_S, Span::secs_f64);
                match self.of_limit.len() >= OTHERS_MIN {
                    true => longer_than(&self.of_limit, limit, ran, part),
                    // Limits are generous, by nobody knows how much.
                    false => ran.min(limit) + (limit - ran).max(0.0) * part,
                }
            }
            Basis::Nothing => around(UNKNOWN_S, UNKNOWN_SPREAD, ran, wide),
        };
        let most = hint.limit.map_or(f64::INFINITY, Span::secs_f64);
        // Nobody ends at the very moment somebody asks.
        Span::from_secs_f64((total.min(most) - ran).clamp(0.001, 1e9))
    }
}

/// One of some sorted values, scaled, that is larger than what has passed.
fn longer_than(sorted: &[f64], scale: f64, passed: f64, part: f64) -> f64 {
    let first = sorted.partition_point(|value| value * scale <= passed);
    let longer = &sorted[first..];
    match longer.len() {
        0 => passed * (1.0 + 2.0 * LONGER * part),
        count => longer[((part * count as f64) as usize).min(count - 1)] * scale,
    }
}

/// A value around another, larger than what has passed.
fn around(middle: f64, spread: f64, passed: f64, wide: f64) -> f64 {
    let drawn = middle * (spread * wide).exp();
    if drawn > passed { drawn } else { passed * (1.0 + LONGER * (spread * wide).exp()) }
}

/// Draws for one job in one future: the same wherever that job comes up in that future.
pub(super) struct Chance {
    state: u64,
}

impl Chance {
    pub(super) fn new(seed: u64, future: u32, job: u32) -> Chance {
        Chance { state: seed ^ (u64::from(future) << 32 | u64::from(job)).wrapping_mul(ODD) }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(ODD);
        let mut bits = self.state;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ bits >> 31
    }

    /// From 0 to 1.
    fn part(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Around zero, as errors are.
    fn normal(&mut self) -> f64 {
        let (radius, angle) = (1.0 - self.part(), self.part());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }
}

/// An odd number with its bits well spread: the golden ratio's.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// How long a job has run of what it would have to run again if it were lost, where only the
/// engine knows.
pub(super) fn ran(job: &Job, now: Time) -> Span {
    let done = job.progress.done_at(now) / job.spec.nominal_pace;
    if done.is_finite() { Span::from_micros(done.max(0.0) as u64) } else { Span::ZERO }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(alike: u64, seconds: u64) -> Ran {
        Ran { alike, owner: 1, ran: Span::from_secs(seconds), ..Ran::default() }
    }

    fn lefts(past: &Past, hint: &Hint) -> Vec<f64> {
        let left = |future| past.left(hint, &mut Chance::new(7, future, 3)).secs_f64();
        let mut all: Vec<f64> = (0..400).map(left).collect();
        all.sort_unstable_by(f64::total_cmp);
        all
    }

    #[test]
    fn the_best_that_is_known_is_drawn_from() {
        let past = Past::of((1..=10).map(|index| run(5, index * 100)));
        let same = Hint { alike: 5, ran: Span::from_secs(500), ..Hint::default() };
        assert_eq!(past.basis(&same), Basis::Alike);
        let left = lefts(&past, &same);
        assert_eq!((left[0], left[399]), (100.0, 500.0), "only runs longer than 500 s are left");
        let counted = Hint { left: Some(Span::from_secs(60)), ..same.clone() };
        let left = lefts(&past, &counted);
        assert!((55.0..65.0).contains(&left[200]), "by its own count: {}", left[200]);
        let declared = Hint { expected: Some(Span::from_secs(1000)), ..Hint::default() };
        let left = lefts(&past, &declared);
        assert!((900.0..1100.0).contains(&left[200]), "as its owner says: {}", left[200]);
        let limited = Hint { limit: Some(Span::from_secs(50)), ..same };
        assert_eq!(lefts(&past, &limited)[399], 0.001, "its time is up");
        assert_eq!(past.basis(&Hint::default()), Basis::Others);
        assert_eq!(Past::default().basis(&Hint::default()), Basis::Nothing);
    }

    #[test]
    fn people_who_say_twice_as_much_are_known_to() {
        let expected = Some(Span::from_secs(200));
        let half = |_| Ran { expected, ..run(5, 100) };
        let past = Past::of((0..8).map(half));
        let hint = Hint { expected: Some(Span::from_secs(1000)), ..Hint::default() };
        assert_eq!(lefts(&past, &hint)[200], 500.0);
    }
}
