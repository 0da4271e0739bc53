//! Rows that are alike, taken together: all of a class are due the same, so that a programme over
//! classes has the answer of the one over rows, at a cost that follows the number of classes.

use super::{Division, Floor, GRAIN, Row, STEPS_MAX, Sharing};
use crate::linear::{Answer, Linear, Status};
use std::collections::BTreeMap;

/// How much the second programme may take off the level that the first found.
pub(super) const SLACK: f64 = 1e-7;

/// Classes of rows that share.
#[derive(Clone, Debug)]
pub(super) struct Merged {
    pub(super) places: Vec<f64>,
    /// One row of each class.
    pub(super) rows: Vec<Row>,
    /// How many rows are in each class.
    pub(super) counts: Vec<f64>,
    /// The class of each row.
    pub(super) class_of: Vec<usize>,
}

/// What tells rows apart beside their size and worth.
pub(super) type Mark = [u64; 4];

/// Mixes words into one, so that classes are found without comparing with each of them.
fn digest(row: &Row, mark: &Mark) -> u64 {
    let words = row.worth.iter().map(|worth| worth.to_bits()).chain([row.size.to_bits()]);
    words.chain(*mark).fold(0xcbf2_9ce4_8422_2325, |digest: u64, word| {
        (digest.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    })
}

impl Merged {
    /// Rows with the same size, worth and mark become one class.
    pub(super) fn of(sharing: &Sharing, mark: impl Fn(usize) -> Mark) -> Merged {
        let (mut firsts, mut counts): (Vec<usize>, Vec<f64>) = (Vec::new(), Vec::new());
        let mut class_of = Vec::with_capacity(sharing.rows.len());
        let mut known: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (index, row) in sharing.rows.iter().enumerate() {
            let own = mark(index);
            let candidates = known.entry(digest(row, &own)).or_default();
            let same = |class: &&usize| {
                let first = firsts[**class];
                sharing.rows[first] == *row && mark(first) == own
            };
            let class = candidates.iter().find(same).copied().unwrap_or_else(|| {
                candidates.push(counts.len());
                firsts.push(index);
                counts.push(0.0);
                counts.len() - 1
            });
            counts[class] += 1.0;
            class_of.push(class);
        }
        let rows = firsts.iter().map(|first| sharing.rows[*first].clone()).collect();
        Merged { places: sharing.places.clone(), rows, counts, class_of }
    }

    /// The same classes, each worth over a divisor of its class.
    pub(super) fn over(&self, divisors: impl Iterator<Item = f64>) -> Merged {
        let scaled = |(row, by): (&Row, f64)| Row {
            size: row.size,
            worth: row.worth.iter().map(|worth| worth / by).collect(),
        };
        let rows = self.rows.iter().zip(divisors).map(scaled).collect();
        let (places, counts) = (self.places.clone(), self.counts.clone());
        Merged { places, rows, counts, class_of: self.class_of.clone() }
    }

    /// The class with the least gets as much as possible; then the smallest sum of squares.
    pub(super) fn max_min(&self) -> Division {
        let Some(unit) = self.unit() else {
            let parts = vec![vec![0.0; self.places.len()]; self.class_of.len()];
            return Division { level: 0.0, parts, pairs: Vec::new(), is_optimal: true, steps: 0 };
        };
        let scaled = self.over(std::iter::repeat_n(unit, self.rows.len()));
        let best = scaled.highest_level();
        let level = best.worth;
        let floors = vec![level * (1.0 - SLACK); self.rows.len()];
        let division = scaled.least_squares(&floors, &best);
        Division { level: level * unit, ..division }
    }

    /// What to count worth in: solvers count to so many digits after the point, so the level must
    /// be near one. None if somebody is worth nothing anywhere.
    pub(super) fn unit(&self) -> Option<f64> {
        let best_of = |row: &Row| row.worth.iter().copied().fold(0.0, f64::max);
        let unit = self.rows.iter().map(best_of).fold(f64::INFINITY, f64::min);
        (unit > 0.0 && unit.is_finite()).then_some(unit)
    }

    /// Shares that raise the least worth as far as it goes, whichever a solver comes to.
    pub(super) fn highest_level(&self) -> Answer {
        let (need, rise) = (vec![0.0; self.rows.len()], vec![1.0; self.rows.len()]);
        self.interior(&need, Some(&rise)).unwrap_or_else(|| self.highest_level_plainly())
    }

    /// The same by a general solver.
    pub(super) fn highest_level_plainly(&self) -> Answer {
        let level_at = self.rows.len() * self.places.len();
        let mut programme = self.programme(level_at + 1);
        programme.set_worth(level_at, 1.0);
        for (index, row) in self.rows.iter().enumerate() {
            let mut terms = self.terms(index, &row.worth, -1.0);
            terms.push((level_at, 1.0));
            programme.at_most(terms, 0.0);
        }
        programme.maximise(STEPS_MAX)
    }

    /// How few places a column has, beside the others: what squares of shares in it count, so that
    /// the smallest sum of them is a part of each column in proportion to its places.
    pub(super) fn rarity(&self, column: usize) -> f64 {
        let most = self.places.iter().copied().fold(1.0, f64::max);
        most / self.places[column].max(1.0)
    }

    /// Of all shares that are worth no less than a floor to each class, those with the smallest sum
    /// of squares over all rows. There is only one such answer. Where it cannot be found, what was
    /// found before.
    pub(super) fn least_squares(&self, floors: &[f64], before: &Answer) -> Division {
        if let Some(unique) = self.interior(floors, None) {
            return self.second(&unique, before);
        }
        let mut second = self.programme(self.rows.len() * self.places.len());
        for (index, row) in self.rows.iter().enumerate() {
            second.at_most(self.terms(index, &row.worth, -1.0), -floors[index]);
        }
        self.squared(second, before)
    }

    /// The same of all shares that are worth so much in sum.
    pub(super) fn least_squares_of_sum(
        &self,
        floors: &[Floor],
        sum: f64,
        before: &Answer,
    ) -> Division {
        let mut second = self.programme(self.rows.len() * self.places.len());
        self.keep(floors, &mut second, 1.0 - SLACK);
        let rows = self.rows.iter().enumerate().zip(&self.counts);
        let all = rows.flat_map(|((index, row), count)| self.terms(index, &row.worth, -count));
        second.at_most(all.collect(), -sum * (1.0 - SLACK));
        self.squared(second, before)
    }

    /// Whoever has a floor gets at least that.
    fn keep(&self, floors: &[Floor], programme: &mut Linear, least: f64) {
        for (index, floor) in floors.iter().enumerate() {
            if let Some(factors) = floor {
                programme.at_most(self.terms(index, factors, -1.0), -least);
            }
        }
    }

    fn squared(&self, mut second: Linear, before: &Answer) -> Division {
        let columns = self.places.len();
        for (index, count) in self.counts.iter().enumerate() {
            for column in 0..columns {
                second.set_penalty(index * columns + column, *count * self.rarity(column));
            }
        }
        self.second(&second.maximise(STEPS_MAX), before)
    }

    fn second(&self, unique: &Answer, before: &Answer) -> Division {
        let usable = unique.status != Status::Impossible;
        let steps = before.steps + unique.steps;
        let optimal = before.status == Status::Optimal && unique.status == Status::Optimal;
        let parts = self.parts(if usable { &unique.values } else { &before.values }, GRAIN);
        let (level, pairs) = (before.worth, Vec::new());
        Division { level, parts, pairs, is_optimal: optimal, steps }
    }

    /// Raise the sum of all worths as far as it goes, each class above its floor.
    pub(super) fn highest_sum(&self, floors: &[Floor]) -> Answer {
        let mut programme = self.programme(self.rows.len() * self.places.len());
        for (index, row) in self.rows.iter().enumerate() {
            for (variable, worth) in self.terms(index, &row.worth, self.counts[index]) {
                programme.set_worth(variable, worth);
            }
        }
        self.keep(floors, &mut programme, 1.0);
        programme.maximise(STEPS_MAX)
    }

    /// Nobody more than all the time, nothing beyond its places.
    pub(super) fn programme(&self, variables: usize) -> Linear {
        let columns = self.places.len();
        let mut programme = Linear::new(variables);
        for index in 0..self.rows.len() {
            let row = (0..columns).map(|column| (index * columns + column, 1.0)).collect();
            programme.at_most(row, 1.0);
        }
        for (column, places) in self.places.iter().enumerate() {
            let rows = self.rows.iter().zip(&self.counts).enumerate();
            let taken =
                rows.map(|(index, (row, count))| (index * columns + column, row.size * count));
            programme.at_most(taken.collect(), *places);
        }
        programme
    }

    pub(super) fn terms(&self, index: usize, of: &[f64], factor: f64) -> Vec<(usize, f64)> {
        let columns = self.places.len();
        let worth = of.iter().enumerate();
        worth.map(|(column, worth)| (index * columns + column, factor * worth)).collect()
    }

    /// The parts of every row, each those of its class, rounded.
    pub(super) fn parts(&self, values: &[f64], grain: f64) -> Vec<Vec<f64>> {
        let columns = self.places.len();
        let rounded = |part: &f64| (part / grain).round() * grain;
        let of = |(index, row): (usize, &Row)| -> Vec<f64> {
            let own = values[index * columns..(index + 1) * columns].iter();
            // Time where it is worth nothing is no time.
            let each = own.zip(&row.worth);
            each.map(|(part, worth)| if *worth > 0.0 { rounded(part) } else { 0.0 }).collect()
        };
        let classes: Vec<Vec<f64>> = self.rows.iter().enumerate().map(of).collect();
        self.class_of.iter().map(|class| classes[*class].clone()).collect()
    }

    /// What its shares are worth to each class.
    pub(super) fn worths(&self, values: &[f64]) -> Vec<f64> {
        let rows = self.rows.iter().zip(values.chunks(self.places.len().max(1)));
        rows.map(|(row, parts)| row.worth.iter().zip(parts).map(|(w, p)| w * p).sum()).collect()
    }
}
