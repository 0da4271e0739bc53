//! Two rows in one place at the same time, each keeping some part of what it is worth alone:
//! Gavel's space sharing (Narayanan et al., OSDI 2020). There are as many twos as pairs of classes,
//! so a programme begins with a few of them and takes in those that its prices call for, until none
//! would gain anything worth naming.

#[cfg(test)]
mod tests;

use super::deal::deal_out;
use super::merged::{Merged, SLACK};
use super::{Division, GRAIN, STEPS_MAX, Sharing};
use crate::linear::{Answer, Linear, Status};

/// What rows keep beside others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Beside {
    /// The sort of each row; none for those that are never beside others.
    pub sort_of: Vec<Option<usize>>,
    /// How many sorts there are.
    pub sorts: usize,
    /// The part of its worth alone that a row of one sort keeps beside one of another, by column,
    /// sort and other sort; zero where they cannot be together.
    pub kept: Vec<f64>,
}

/// Two rows in one place, and their part of the time in each column.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// Who; the smaller number first.
    pub rows: (usize, usize),
    /// Their part of the time in each column.
    pub parts: Vec<f64>,
}

/// Members of two classes, or two of one, in a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Two {
    pub(super) classes: (usize, usize),
    pub(super) column: usize,
    /// What each keeps.
    kept: (f64, f64),
}

/// Classes that may be two in a place.
pub(super) struct Paired<'a> {
    pub(super) merged: Merged,
    sort_of: Vec<Option<usize>>,
    beside: &'a Beside,
    /// With up to so many twos, all of them are looked at from the start.
    few: usize,
}

/// What is sought.
enum Aim<'a> {
    /// The highest level that everybody's worth reaches.
    Level,
    /// The highest sum of worths.
    Sum,
    /// As little time in pairs as possible, and small squares, with so much worth to each class or
    /// in all.
    Quiet(&'a [f64], Option<f64>),
}

/// What was found: the shares of classes by column, and the time of twos.
pub(super) struct Found {
    pub(super) answer: Answer,
    pub(super) twos: Vec<(Two, f64)>,
}

/// Two that keep less than this together had better take turns.
const TURNS: f64 = 1.0 + 1e-9;
/// With so many twos, looking at all of them from the start costs less than finding out.
const FEW: usize = 300;
/// Times that twos are taken in, at most.
const ROUNDS_MAX: u32 = 60;
/// What is still to be gained, at most, as a part of what there is.
const GAIN_MIN: f64 = 1e-7;
/// What time in pairs costs, where it is not needed: more than any square saves.
const PAIR_COST: f64 = 2.0;

impl Sharing {
    /// Raise the worth of whoever has the least as far as it goes, where two may be in one place;
    /// then, with as little time in pairs as that needs, the smallest squares.
    pub fn max_min_in_pairs(&self, beside: &Beside) -> Division {
        let paired = Paired::of(self, beside, |_| [0; 3]);
        paired.max_min()
    }

    /// The same with the sum of all worths.
    pub fn max_sum_in_pairs(&self, beside: &Beside) -> Division {
        let paired = Paired::of(self, beside, |_| [0; 3]);
        let best = paired.solve(&Aim::Sum, Vec::new());
        let sum = best.answer.worth * (1.0 - SLACK);
        let floors = vec![0.0; paired.merged.rows.len()];
        paired.second(&best, &Aim::Quiet(&floors, Some(sum)))
    }
}

impl<'a> Paired<'a> {
    pub(super) fn of(
        sharing: &Sharing,
        beside: &'a Beside,
        mark: impl Fn(usize) -> [u64; 3],
    ) -> Paired<'a> {
        let sort = |row: usize| beside.sort_of[row].map_or(0, |sort| sort as u64 + 1);
        let merged = Merged::of(sharing, |row| {
            let [first, second, third] = mark(row);
            [sort(row), first, second, third]
        });
        let mut sort_of = vec![None; merged.rows.len()];
        for (class, sort) in merged.class_of.iter().zip(&beside.sort_of) {
            sort_of[*class] = *sort;
        }
        Paired { merged, sort_of, beside, few: FEW }
    }

    /// The same classes, each worth over a divisor of its class.
    pub(super) fn over(&self, divisors: impl Iterator<Item = f64>) -> Paired<'a> {
        let (merged, sort_of) = (self.merged.over(divisors), self.sort_of.clone());
        Paired { merged, sort_of, ..*self }
    }

    pub(super) fn max_min(&self) -> Division {
        let best_of = |worth: &[f64]| worth.iter().copied().fold(0.0, f64::max);
        let bests = self.merged.rows.iter().map(|row| best_of(&row.worth));
        let unit = bests.fold(f64::INFINITY, f64::min);
        if unit <= 0.0 || !unit.is_finite() {
            return self.merged.max_min();
        }
        let scaled = self.over(std::iter::repeat_n(unit, self.merged.rows.len()));
        let best = scaled.highest_level();
        let floors = vec![best.answer.worth * (1.0 - SLACK); self.merged.rows.len()];
        let division = scaled.second(&best, &Aim::Quiet(&floors, None));
        Division { level: division.level * unit, ..division }
    }

    pub(super) fn highest_level(&self) -> Found {
        self.solve(&Aim::Level, Vec::new())
    }

    /// What its shares, alone and beside others, are worth to each class.
    pub(super) fn worths(&self, found: &Found) -> Vec<f64> {
        let mut worths = self.merged.worths(&found.answer.values);
        for (two, time) in &found.twos {
            for (class, kept) in two.sides() {
                let worth = self.merged.rows[class].worth[two.column];
                worths[class] += worth * kept * time / self.merged.counts[class];
            }
        }
        worths
    }

    /// Two classes in a column, if they gain by it.
    fn two(&self, one: usize, other: usize, column: usize) -> Option<Two> {
        let (rows, counts) = (&self.merged.rows, &self.merged.counts);
        let (sort, beside) = (self.sort_of[one]?, self.sort_of[other]?);
        let kept = |a: usize, b: usize| {
            self.beside.kept[(column * self.beside.sorts + a) * self.beside.sorts + b]
        };
        let kept = (kept(sort, beside), kept(beside, sort));
        let runs = |class: usize| rows[class].worth[column] > 0.0;
        let can = rows[one].size == rows[other].size
            && (one != other || counts[one] > 1.0)
            && kept.0 > 0.0
            && kept.1 > 0.0
            && kept.0 + kept.1 > TURNS
            && runs(one)
            && runs(other)
            && self.merged.places[column] > 0.0;
        can.then_some(Two { classes: (one, other), column, kept })
    }

    fn twos(&self) -> impl Iterator<Item = Two> {
        let classes = self.merged.rows.len();
        let able = move |class: &usize| self.sort_of[*class].is_some();
        let columns = self.merged.places.len();
        (0..classes).filter(able).flat_map(move |one| {
            let others = (one..classes).filter(able);
            others.flat_map(move |other| {
                (0..columns).filter_map(move |column| self.two(one, other, column))
            })
        })
    }

    /// Solve, taking in twos by their prices.
    fn solve(&self, aim: &Aim, mut twos: Vec<Two>) -> Found {
        let mut all = matches!(aim, Aim::Quiet(..));
        if !all {
            let few: Vec<Two> = self.twos().take(self.few + 1).collect();
            all = few.len() <= self.few;
            twos = if all { few } else { Vec::new() };
        }
        let mut steps = 0;
        for _ in 0..ROUNDS_MAX {
            let mut answer = self.programme(aim, &twos).maximise(STEPS_MAX);
            steps += answer.steps;
            answer.steps = steps;
            let gaining = if all { Vec::new() } else { self.gaining(aim, &answer) };
            if gaining.is_empty() || answer.status == Status::Impossible {
                let first = self.merged.rows.len() * self.merged.places.len();
                let times = answer.values[first..first + twos.len()].to_vec();
                return Found { answer, twos: twos.into_iter().zip(times).collect() };
            }
            twos.extend(gaining);
        }
        let mut answer = self.programme(aim, &twos).maximise(STEPS_MAX);
        answer.status = Status::Stopped;
        let first = self.merged.rows.len() * self.merged.places.len();
        let times = answer.values[first..first + twos.len()].to_vec();
        Found { answer, twos: twos.into_iter().zip(times).collect() }
    }

    /// For each class and column, the two that would gain most, if any would.
    fn gaining(&self, aim: &Aim, answer: &Answer) -> Vec<Two> {
        let (classes, columns) = (self.merged.rows.len(), self.merged.places.len());
        let mut best: Vec<Option<(f64, Two)>> = vec![None; classes * columns];
        let mut most = vec![0.0_f64; columns];
        for two in self.twos() {
            let gain = self.gain(aim, answer, &two);
            if gain <= 0.0 {
                continue;
            }
            most[two.column] = most[two.column].max(gain);
            let at = &mut best[two.classes.0 * columns + two.column];
            if at.as_ref().is_none_or(|(before, _)| gain > *before) {
                *at = Some((gain, two));
            }
            let at = &mut best[two.classes.1 * columns + two.column];
            if at.as_ref().is_none_or(|(before, _)| gain > *before) {
                *at = Some((gain, two));
            }
        }
        // No more than all places could be used by twos that gain the most.
        let bound: f64 = most.iter().zip(&self.merged.places).map(|(gain, at)| gain * at).sum();
        if bound <= GAIN_MIN * answer.worth.abs() {
            return Vec::new();
        }
        let mut gaining: Vec<Two> = Vec::new();
        for (gain, two) in best.into_iter().flatten() {
            if gain > 1e-3 * most[two.column] && !gaining.contains(&two) {
                gaining.push(two);
            }
        }
        gaining
    }

    /// What more time for a two would bring, at the prices of an answer.
    fn gain(&self, aim: &Aim, answer: &Answer, two: &Two) -> f64 {
        let (classes, columns) = (self.merged.rows.len(), self.merged.places.len());
        let mut gain = -answer.prices[classes + two.column] * self.merged.rows[two.classes.0].size;
        for (class, kept) in two.sides() {
            let worth = self.merged.rows[class].worth[two.column] * kept;
            let count = self.merged.counts[class];
            gain -= answer.prices[class] / count;
            let after = classes + columns;
            gain += match aim {
                Aim::Level => answer.prices[after + class] * worth / count,
                Aim::Sum => worth,
                // Among those that were found to matter, no others are looked for.
                Aim::Quiet(..) => 0.0,
            };
        }
        gain
    }

    fn programme(&self, aim: &Aim, twos: &[Two]) -> Linear {
        let (classes, columns) = (self.merged.rows.len(), self.merged.places.len());
        let first = classes * columns;
        let level_at = first + twos.len();
        let mut programme = Linear::new(level_at + usize::from(matches!(aim, Aim::Level)));
        let mut times: Vec<Vec<(usize, f64)>> = Vec::with_capacity(classes);
        let mut worths: Vec<Vec<(usize, f64)>> = Vec::with_capacity(classes);
        let mut taken: Vec<Vec<(usize, f64)>> = vec![Vec::new(); columns];
        for (class, row) in self.merged.rows.iter().enumerate() {
            times.push((0..columns).map(|column| (class * columns + column, 1.0)).collect());
            worths.push(self.merged.terms(class, &row.worth, 1.0));
            for (column, taken) in taken.iter_mut().enumerate() {
                taken.push((class * columns + column, row.size * self.merged.counts[class]));
            }
        }
        for (index, two) in twos.iter().enumerate() {
            let at = first + index;
            let own = two.classes.0 == two.classes.1;
            for (class, kept) in two.sides().take(if own { 1 } else { 2 }) {
                let times_two = if own { 2.0 } else { 1.0 } / self.merged.counts[class];
                let worth = self.merged.rows[class].worth[two.column] * kept;
                times[class].push((at, times_two));
                worths[class].push((at, worth * times_two));
            }
            taken[two.column].push((at, self.merged.rows[two.classes.0].size));
        }
        for row in times {
            programme.at_most(row, 1.0);
        }
        for (row, places) in taken.into_iter().zip(&self.merged.places) {
            programme.at_most(row, *places);
        }
        self.seek(aim, programme, &worths, twos)
    }

    /// What is sought, in terms of what shares are worth to each class.
    fn seek(
        &self,
        aim: &Aim,
        mut programme: Linear,
        worths: &[Vec<(usize, f64)>],
        twos: &[Two],
    ) -> Linear {
        let columns = self.merged.places.len();
        let first = self.merged.rows.len() * columns;
        let less = |row: &[(usize, f64)], by: f64| -> Vec<(usize, f64)> {
            row.iter().map(|(at, worth)| (*at, -worth * by)).collect()
        };
        let mut sum = vec![0.0; first + twos.len()];
        for (row, count) in worths.iter().zip(&self.merged.counts) {
            row.iter().for_each(|(at, worth)| sum[*at] += worth * count);
        }
        match aim {
            Aim::Level => {
                let level_at = first + twos.len();
                programme.set_worth(level_at, 1.0);
                for row in worths {
                    let mut row = less(row, 1.0);
                    row.push((level_at, 1.0));
                    programme.at_most(row, 0.0);
                }
            }
            Aim::Sum => {
                sum.iter().enumerate().for_each(|(at, worth)| programme.set_worth(at, *worth));
            }
            Aim::Quiet(floors, in_all) => {
                match in_all {
                    Some(least) => {
                        let all: Vec<(usize, f64)> = sum.into_iter().enumerate().collect();
                        programme.at_most(less(&all, 1.0), -least);
                    }
                    None => {
                        for (row, floor) in worths.iter().zip(*floors) {
                            programme.at_most(less(row, 1.0), -floor);
                        }
                    }
                }
                for (class, count) in self.merged.counts.iter().enumerate() {
                    for at in class * columns..(class + 1) * columns {
                        programme.set_penalty(at, *count);
                    }
                }
                for (index, two) in twos.iter().enumerate() {
                    let counts = two.sides().map(|(class, _)| 1.0 / self.merged.counts[class]);
                    programme.set_penalty(first + index, counts.sum());
                    programme.set_worth(first + index, -PAIR_COST);
                }
            }
        }
        programme
    }

    /// Of all that is as good, the quietest; or what was found before.
    fn second(&self, best: &Found, aim: &Aim) -> Division {
        let known = best.twos.iter().map(|(two, _)| *two).collect();
        let quiet = self.solve(aim, known);
        let is_optimal =
            best.answer.status == Status::Optimal && quiet.answer.status == Status::Optimal;
        let steps = best.answer.steps + quiet.answer.steps;
        let usable = quiet.answer.status != Status::Impossible;
        let found = if usable { &quiet } else { best };
        let parts = self.merged.parts(&found.answer.values, GRAIN);
        let pairs = deal_out(&self.merged, &found.twos);
        Division { level: best.answer.worth, parts, pairs, is_optimal, steps }
    }
}

impl Two {
    /// Each with what it keeps.
    fn sides(&self) -> impl Iterator<Item = (usize, f64)> {
        [(self.classes.0, self.kept.0), (self.classes.1, self.kept.1)].into_iter()
    }
}
