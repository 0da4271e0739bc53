//! An interior-point method for sharing alone: Mehrotra's predictor and corrector (1992) over a
//! system that falls apart into one small block for each class, joined by the places of columns.
//! A step costs as much as looking at every share a few times. Where it does not come to an end,
//! it says so, and a general solver has to do.

use super::merged::Merged;
use super::normal::{Direction, Normal, Pull};
use crate::linear::{Answer, Status};

/// Steps allowed; the largest problems tried took thirty.
const STEPS_MAX: u32 = 80;
/// How near to the optimum an answer is, as a part of it, and how well it keeps to the rows.
const NEAR: f64 = 1e-11;
const KEPT: f64 = 1e-10;
/// How near is enough where rounding lets it come no nearer.
const NEAR_ENOUGH: f64 = 1e-9;
/// Complementarity to begin with.
const START: f64 = 0.1;
/// How far to go towards the nearest bound.
pub(super) const REACH: f64 = 0.995;

/// Minimise half the squares less the level: shares by class and column, everybody within its time,
/// worth no less than its need and its rise times the level, columns within their places.
pub(super) struct Problem {
    pub(super) columns: usize,
    /// Worth by class and column, the best of each class one.
    pub(super) worth: Vec<f64>,
    /// What each class needs …
    pub(super) need: Vec<f64>,
    /// … and by how much that rises with the level.
    pub(super) rise: Vec<f64>,
    /// The part of the places of a column that all of a class would take.
    pub(super) take: Vec<f64>,
    /// What squares cost, by class and column.
    pub(super) square: Vec<f64>,
    /// Whether any do.
    has_squares: bool,
    /// Whether there is a level to raise.
    is_raised: bool,
}

/// Where the method is: shares and slacks, each with its price.
#[derive(Clone, Debug, Default)]
pub(super) struct Point {
    pub(super) share: Vec<f64>,
    pub(super) share_price: Vec<f64>,
    pub(super) idle: Vec<f64>,
    pub(super) idle_price: Vec<f64>,
    pub(super) over: Vec<f64>,
    pub(super) over_price: Vec<f64>,
    pub(super) free: Vec<f64>,
    pub(super) free_price: Vec<f64>,
    pub(super) level: f64,
}

impl Merged {
    /// Raise the level as far as it goes, each class its rise times that above its need; or, if
    /// nothing rises, the smallest sum of squares. The prices of classes are with the answer.
    pub(super) fn interior(&self, need: &[f64], rise: Option<&[f64]>) -> Option<Answer> {
        let (problem, scales) = self.problem(need, rise)?;
        let (point, steps) = problem.solve()?;
        let values = self.values(&point.share);
        let prices = point.over_price.iter().zip(&scales).map(|(price, scale)| price / scale);
        let prices = prices.collect();
        Some(Answer { values, worth: point.level, status: Status::Optimal, steps, prices })
    }

    /// Columns with places.
    fn open(&self) -> Vec<usize> {
        (0..self.places.len()).filter(|column| self.places[*column] > 0.0).collect()
    }

    /// What is to be solved, over columns with places, and what the worth of each class was divided
    /// by; none if somebody is worth nothing anywhere.
    pub(super) fn problem(
        &self,
        need: &[f64],
        rise: Option<&[f64]>,
    ) -> Option<(Problem, Vec<f64>)> {
        let open = self.open();
        let best = |class: usize| {
            open.iter().map(|column| self.rows[class].worth[*column]).fold(0.0, f64::max)
        };
        let scales: Vec<f64> = (0..self.rows.len()).map(best).collect();
        if open.is_empty() || scales.iter().any(|scale| *scale <= 0.0) {
            return None;
        }
        let most = self.counts.iter().copied().fold(1.0, f64::max);
        let over = |values: &[f64]| values.iter().zip(&scales).map(|(v, s)| v / s).collect();
        let mut problem = Problem {
            columns: open.len(),
            worth: Vec::with_capacity(self.rows.len() * open.len()),
            need: over(need),
            rise: rise.map_or_else(|| vec![0.0; self.rows.len()], over),
            take: Vec::with_capacity(self.rows.len() * open.len()),
            square: Vec::with_capacity(self.rows.len() * open.len()),
            has_squares: rise.is_none(),
            is_raised: rise.is_some(),
        };
        for (class, row) in self.rows.iter().enumerate() {
            for column in &open {
                problem.worth.push(row.worth[*column] / scales[class]);
                problem.take.push(row.size * self.counts[class] / self.places[*column]);
                let square = self.counts[class] / most * self.rarity(*column);
                problem.square.push(if rise.is_some() { 0.0 } else { square });
            }
        }
        Some((problem, scales))
    }

    /// Shares in all columns, from those in columns with places.
    pub(super) fn values(&self, share: &[f64]) -> Vec<f64> {
        let open = self.open();
        let mut values = vec![0.0; self.rows.len() * self.places.len()];
        for (class, shares) in share.chunks(open.len()).enumerate() {
            for (column, share) in open.iter().zip(shares) {
                values[class * self.places.len() + column] = *share;
            }
        }
        values
    }
}

impl Problem {
    /// Squares are to cost nothing.
    pub(super) fn without_squares(&mut self) {
        self.square.fill(0.0);
        self.has_squares = false;
    }

    pub(super) fn solve(&self) -> Option<(Point, u32)> {
        let mut point = self.start();
        let mut enough: Option<(Point, u32)> = None;
        for step in 1..=STEPS_MAX {
            let mean = point.complementarity();
            let pull = self.residuals(&point);
            // What is still to be gained is the sum of all products; of squares, each counts.
            let sum = if self.is_raised { mean * point.products() } else { mean };
            let (off, kept) = (sum / (1.0 + point.level.abs()), pull.largest() < KEPT);
            if off < NEAR && kept {
                return Some((point, step));
            }
            if off < NEAR_ENOUGH && kept {
                enough = Some((point.clone(), step));
            }
            let Some(normal) = Normal::of(self, &point) else { return enough };
            let predicted =
                normal.direction(self, &point, &pull.towards(&point, (0.0, None), None));
            let (primal, dual) = self.lengths(&point, &predicted, 1.0);
            let ahead = point.moved(&predicted, primal, dual).complementarity();
            let centring = (ahead / mean).powi(3).min(1.0);
            let target = pull.towards(&point, (centring * mean, None), Some(&predicted));
            let corrected = normal.direction(self, &point, &target);
            let (primal, dual) = self.lengths(&point, &corrected, REACH);
            point = point.moved(&corrected, primal, dual);
            if !point.level.is_finite() || primal.max(dual) < 1e-8 {
                return enough;
            }
        }
        enough
    }

    /// Well within all bounds, with prices to match.
    pub(super) fn start(&self) -> Point {
        let classes = self.need.len();
        let columns = self.columns;
        let taken = |column: usize| self.take.iter().skip(column).step_by(columns).sum::<f64>();
        let part = |column: usize| 0.5 * (1.0 / columns as f64).min(1.0 / taken(column));
        let parts: Vec<f64> = (0..columns).map(part).collect();
        let idle = 1.0 - parts.iter().sum::<f64>();
        let worth = |class: usize| {
            let own = &self.worth[class * columns..(class + 1) * columns];
            own.iter().zip(&parts).map(|(worth, part)| worth * part).sum::<f64>()
        };
        let worths: Vec<f64> = (0..classes).map(worth).collect();
        let ratio = |class: usize| (worths[class] - self.need[class]) / self.rise[class];
        let rising = (0..classes).filter(|class| self.rise[*class] > 0.0);
        let level = 0.5 * rising.map(ratio).fold(f64::INFINITY, f64::min);
        let level = if level.is_finite() { level } else { 0.0 };
        let over = |class: usize| {
            (worths[class] - self.need[class] - self.rise[class] * level).max(0.1 * worths[class])
        };
        let over: Vec<f64> = (0..classes).map(over).collect();
        let share: Vec<f64> = (0..classes).flat_map(|_| parts.iter().copied()).collect();
        let free: Vec<f64> = (0..columns).map(|at| 1.0 - parts[at] * taken(at)).collect();
        let price = |slacks: &[f64]| slacks.iter().map(|slack| START / slack).collect();
        Point {
            share_price: price(&share),
            idle_price: vec![START / idle; classes],
            idle: vec![idle; classes],
            over_price: price(&over),
            free_price: price(&free),
            share,
            over,
            free,
            level,
        }
    }

    /// What is missing from each row.
    pub(super) fn residuals(&self, at: &Point) -> Pull {
        let mut pull = Pull::none(self.need.len(), self.columns);
        pull.level = if self.is_raised { 1.0 } else { 0.0 };
        pull.free = at.free.iter().map(|free| 1.0 - free).collect();
        for class in 0..self.need.len() {
            let (mut time, mut worth) = (0.0, 0.0);
            for column in 0..self.columns {
                let cell = class * self.columns + column;
                let share = at.share[cell];
                time += share;
                worth += self.worth[cell] * share;
                pull.free[column] -= self.take[cell] * share;
                pull.share[cell] =
                    at.share_price[cell] - self.square[cell] * share - at.idle_price[class]
                        + self.worth[cell] * at.over_price[class]
                        - self.take[cell] * at.free_price[column];
            }
            pull.idle[class] = 1.0 - time - at.idle[class];
            let wanted = self.need[class] + self.rise[class] * at.level;
            pull.over[class] = worth - wanted - at.over[class];
            pull.level -= self.rise[class] * at.over_price[class];
        }
        pull
    }

    /// How far to go, for shares and for prices: up to the nearest bound.
    pub(super) fn lengths(&self, at: &Point, by: &Direction, reach: f64) -> (f64, f64) {
        let up_to = |values: [&[f64]; 4], steps: [&[f64]; 4]| {
            let pairs = values.into_iter().flatten().zip(steps.into_iter().flatten());
            let ratios = pairs.filter(|(_, step)| **step < 0.0).map(|(value, step)| -value / step);
            (reach * ratios.fold(f64::INFINITY, f64::min)).min(1.0)
        };
        let primal = up_to(
            [&at.share, &at.idle, &at.over, &at.free],
            [&by.share, &by.idle, &by.over, &by.free],
        );
        let dual = up_to(
            [&at.share_price, &at.idle_price, &at.over_price, &at.free_price],
            [&by.share_price, &by.idle_price, &by.over_price, &by.free_price],
        );
        // With squares, shares and prices move together.
        if !self.has_squares { (primal, dual) } else { (primal.min(dual), primal.min(dual)) }
    }
}

impl Point {
    fn complementarity(&self) -> f64 {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let all = dot(&self.share, &self.share_price)
            + dot(&self.idle, &self.idle_price)
            + dot(&self.over, &self.over_price)
            + dot(&self.free, &self.free_price);
        all / self.products()
    }

    fn products(&self) -> f64 {
        (self.share.len() + 2 * self.idle.len() + self.free.len()) as f64
    }

    pub(super) fn moved(&self, by: &Direction, primal: f64, dual: f64) -> Point {
        let go = |values: &[f64], steps: &[f64], length: f64| {
            values.iter().zip(steps).map(|(value, step)| value + length * step).collect()
        };
        Point {
            share: go(&self.share, &by.share, primal),
            share_price: go(&self.share_price, &by.share_price, dual),
            idle: go(&self.idle, &by.idle, primal),
            idle_price: go(&self.idle_price, &by.idle_price, dual),
            over: go(&self.over, &by.over, primal),
            over_price: go(&self.over_price, &by.over_price, dual),
            free: go(&self.free, &by.free, primal),
            free_price: go(&self.free_price, &by.free_price, dual),
            level: self.level + primal * by.level,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Row, Sharing};
    use super::*;
    use proptest::prelude::*;
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    /// Rows with places to share, some columns of no use to some.
    fn sharings() -> impl Strategy<Value = Sharing> {
        (1usize..5).prop_flat_map(|columns| {
            let worth = proptest::collection::vec(
                prop_oneof![1 => Just(0.0), 4 => 0.05f64..20.0],
                columns..=columns,
            );
            let size = prop_oneof![Just(1.0), Just(2.0), Just(8.0)];
            let row = (size, worth).prop_filter_map("it runs somewhere", |(size, worth)| {
                worth.iter().any(|worth| *worth > 0.0).then_some(Row { size, worth })
            });
            let places = proptest::collection::vec(1u32..30, columns..=columns);
            (places, proptest::collection::vec(row, 1..40)).prop_map(|(places, rows)| Sharing {
                places: places.into_iter().map(f64::from).collect(),
                rows,
            })
        })
    }

    #[test]
    fn rounding_is_not_the_end() {
        // Steps cannot be worked out any more when what is left to gain is a billionth.
        let row = |size, worth: [f64; 2]| Row { size, worth: worth.to_vec() };
        let first = row(1.0, [17.15010928688401, 7.4214756188128606]);
        let second = row(8.0, [18.002976028033764, 14.785066899329676]);
        let sharing = Sharing { places: vec![6.0, 3.0], rows: vec![first, second] };
        let merged = Merged::of(&sharing, |_| [0; 4]);
        let found = merged.interior(&[0.0; 2], Some(&[1.0; 2])).expect("it comes to an end");
        let general = merged.highest_level_plainly();
        assert!((found.worth / general.worth - 1.0).abs() < 1e-7);
    }

    #[test]
    fn it_nearly_always_comes_to_an_end() {
        let mut runner = TestRunner::deterministic();
        let mut ended = 0;
        for _ in 0..500 {
            let sharing = sharings().new_tree(&mut runner).expect("it can be drawn").current();
            let merged = Merged::of(&sharing, |_| [0; 4]);
            let (ones, none) = (vec![1.0; merged.rows.len()], vec![0.0; merged.rows.len()]);
            let level = merged.interior(&none, Some(&ones)).expect("it comes to an end").worth;
            let floors: Vec<f64> = ones.iter().map(|_| level * (1.0 - 1e-7)).collect();
            ended += usize::from(merged.interior(&floors, None).is_some());
        }
        assert!(ended >= 498, "{ended} of 500");
    }

    proptest! {
        /// The same level as a general solver, and the same shares of the smallest squares, where
        /// it comes to an end.
        #[test]
        fn it_comes_to_the_same_as_a_general_solver(sharing in sharings()) {
            let merged = Merged::of(&sharing, |_| [0; 4]);
            let ones = vec![1.0; merged.rows.len()];
            let needs = vec![0.0; merged.rows.len()];
            let Some(own) = merged.interior(&needs, Some(&ones)) else { return Ok(()) };
            let general = merged.highest_level_plainly();
            prop_assert_eq!(general.status, Status::Optimal);
            let off = own.worth / general.worth - 1.0;
            prop_assert!(off.abs() < 1e-7, "{} {}", own.worth, general.worth);
            let floors: Vec<f64> = ones.iter().map(|_| own.worth * (1.0 - 1e-7)).collect();
            let Some(shares) = merged.interior(&floors, None) else { return Ok(()) };
            for (worth, floor) in merged.worths(&shares.values).iter().zip(floors) {
                prop_assert!(*worth > floor - 1e-8, "{} {}", worth, floor);
            }
        }
    }
}
