//! The middle of all shares that are good enough: their analytic centre (Sonnevend 1985), where the
//! product of everything there is to spare is largest. It is where interior-point methods come to
//! when nothing else is asked for, and there is only one. Found by Newton's method with prices,
//! from a point that need not be inside; where that does not lead there, from a point inside, each
//! step as far as the product grows.

use super::interior::{Point, Problem, REACH};
use super::merged::Merged;
use super::normal::Normal;
use super::{Division, Sharing};
use crate::linear::{Answer, Status};

/// Steps allowed inside, where prices do not lead there.
const STEPS_MAX: u32 = 200;
/// Steps allowed with prices; the problems tried took up to forty.
const PRICED_MAX: u32 = 100;
/// How far prices may be off in the middle, as a part of what they should be.
const EVEN: f64 = 1e-8;
/// It ends with a step that moves what there is to spare by less than this part, squared; the next
/// would move it by less than a square of that.
const NEAR: f64 = 1e-12;
/// Parts are rounded to this: in the middle, parts that are as good as nothing tell who comes first
/// when GPUs would be idle.
const GRAIN: f64 = 1e-10;
/// Looks by which the length of a step is found; the next step puts right what is left.
const LOOKS: u32 = 8;
/// By how much less than the best a level must be to leave room inside.
const ROOM_MIN: f64 = 1e-5;

impl Sharing {
    /// Of all shares that are worth at least what is asked, given the highest level, to everybody,
    /// the middle ones: with the largest product of shares, of time and places that stay free, and
    /// of worth beyond what is asked for. The level is the highest. None where there is no room
    /// inside.
    pub fn middle(&self, asked: impl Fn(f64) -> f64) -> Option<Division> {
        self.merged().middle(asked)
    }
}

impl Merged {
    /// The middle of all shares that are worth what is asked, given the highest level.
    pub(super) fn middle(&self, asked: impl Fn(f64) -> f64) -> Option<Division> {
        let unit = self.unit()?;
        let scaled = self.over(std::iter::repeat_n(unit, self.rows.len()));
        let best = scaled.highest_level();
        let asked = (asked(best.worth * unit) / unit).min(best.worth * (1.0 - ROOM_MIN));
        let middle = scaled.centre(asked, &best)?;
        let (level, parts) = (best.worth * unit, scaled.parts(&middle.values, GRAIN));
        let is_optimal = [best.status, middle.status] == [Status::Optimal; 2];
        let steps = best.steps + middle.steps;
        Some(Division { level, parts, pairs: Vec::new(), is_optimal, steps })
    }

    /// The middle of all shares that are worth so much to each class, less than in an answer.
    fn centre(&self, asked: f64, best: &Answer) -> Option<Answer> {
        let (mut problem, _) = self.problem(&vec![asked; self.rows.len()], None)?;
        problem.without_squares();
        let priced = problem.priced_centre(&self.counts);
        let (share, status, steps) = match priced {
            Some((share, steps)) => (share, Status::Optimal, steps),
            None => {
                let share = self.off_the_edge(&problem, asked, best);
                let (point, steps) = problem.centre(share, &self.counts)?;
                let status = if steps.is_some() { Status::Optimal } else { Status::Stopped };
                (point.share, status, PRICED_MAX + steps.unwrap_or(STEPS_MAX))
            }
        };
        let values = self.values(&share);
        Some(Answer { values, worth: asked, status, steps, prices: Vec::new() })
    }

    /// Shares between the best, which are on the edge, and what is well within time and places.
    fn off_the_edge(&self, problem: &Problem, asked: f64, best: &Answer) -> Vec<f64> {
        let inner = self.values(&problem.start().share);
        let room = 0.5 * (1.0 - asked / best.worth);
        let between = |(inner, best): (&f64, &f64)| room * inner + (1.0 - room) * best.max(0.0);
        let open = |index: &usize| self.places[index % self.places.len()] > 0.0;
        let all: Vec<f64> = inner.iter().zip(&best.values).map(between).collect();
        (0..all.len()).filter(open).map(|index| all[index]).collect()
    }
}

impl Problem {
    /// Shares in the middle, by prices, from well within time and places: those in between need not
    /// be inside, so that it takes a fraction of the steps; and what is left to spare is kept, not
    /// taken anew as the difference of what is far larger.
    fn priced_centre(&self, counts: &[f64]) -> Option<(Vec<f64>, u32)> {
        let mut point = self.start();
        self.price(&mut point, counts);
        for step in 1..=PRICED_MAX {
            let pull = self.residuals(&point);
            let normal = Normal::of(self, &point)?;
            let target = pull.towards(&point, (1.0, Some(counts)), None);
            let by = normal.direction(self, &point, &target);
            let (primal, dual) = self.lengths(&point, &by, REACH);
            point = point.moved(&by, primal, dual);
            if primal.min(dual) >= 1.0 && is_even(&point, counts) {
                return Some((point.share, step));
            }
        }
        None
    }

    /// Set each thing there is to spare to the price at which it is in the middle.
    fn price(&self, point: &mut Point, counts: &[f64]) {
        let prices = |have: &[f64], each: usize| -> Vec<f64> {
            have.iter().enumerate().map(|(at, have)| counts[at / each] / have).collect()
        };
        point.share_price = prices(&point.share, self.columns);
        point.idle_price = prices(&point.idle, 1);
        point.over_price = prices(&point.over, 1);
        point.free_price = point.free.iter().map(|free| 1.0 / free).collect();
    }

    /// The middle, and the steps that took; none of them if they were not enough.
    fn centre(&self, share: Vec<f64>, counts: &[f64]) -> Option<(Point, Option<u32>)> {
        let mut point = self.inside(share, counts)?;
        for step in 1..=STEPS_MAX {
            let pull = self.residuals(&point);
            let normal = Normal::of(self, &point)?;
            let by = normal.direction(self, &point, &pull.as_it_is(&point));
            // What there is to spare, how it would change, and how often it counts.
            let spare = self.spare(&point, &by, counts);
            let part = |(have, by, count): &(f64, f64, f64)| count * (by / have).powi(2);
            let moved: f64 = spare.iter().map(part).sum();
            let is_near = moved < NEAR * spare.len() as f64;
            let length = if is_near { 1.0 } else { length(&spare) };
            let share = point.share.iter().zip(&by.share).map(|(have, by)| have + length * by);
            point = self.inside(share.collect(), counts)?;
            if is_near {
                return Some((point, Some(step)));
            }
        }
        Some((point, None))
    }

    /// A point with these shares, each thing to spare at the price at which it is in the middle.
    fn inside(&self, share: Vec<f64>, counts: &[f64]) -> Option<Point> {
        let mut free = vec![1.0; self.columns];
        let (mut idle, mut over) = (Vec::new(), Vec::new());
        for (class, shares) in share.chunks(self.columns).enumerate() {
            let (mut time, mut worth) = (1.0, -self.need[class]);
            for (column, share) in shares.iter().enumerate() {
                let cell = class * self.columns + column;
                time -= share;
                worth += self.worth[cell] * share;
                free[column] -= self.take[cell] * share;
            }
            idle.push(time);
            over.push(worth);
        }
        let all = share.iter().chain(&idle).chain(&over).chain(&free);
        let is_inside = all.into_iter().all(|have| *have > 0.0);
        is_inside.then(|| {
            let mut point = Point { share, idle, over, free, ..Point::default() };
            self.price(&mut point, counts);
            point
        })
    }

    fn spare(&self, at: &Point, by: &Point, counts: &[f64]) -> Vec<(f64, f64, f64)> {
        let mut spare = Vec::with_capacity(at.share.len() + 2 * counts.len() + self.columns);
        let mut add = |have: &[f64], by: &[f64], each: usize| {
            let pairs = have.iter().zip(by).enumerate();
            spare.extend(pairs.map(|(index, (have, by))| (*have, *by, counts[index / each])));
        };
        add(&at.share, &by.share, self.columns);
        add(&at.idle, &by.idle, 1);
        add(&at.over, &by.over, 1);
        spare.extend(at.free.iter().zip(&by.free).map(|(have, by)| (*have, *by, 1.0)));
        spare
    }
}

/// Whether whatever there is to spare is at about the price at which it is in the middle.
fn is_even(point: &Point, counts: &[f64]) -> bool {
    let near = |have: &[f64], price: &[f64], each: usize| {
        let mut products = have.iter().zip(price).enumerate();
        products.all(|(at, (have, price))| (have * price / counts[at / each] - 1.0).abs() < EVEN)
    };
    near(&point.share, &point.share_price, point.free.len())
        && near(&point.idle, &point.idle_price, 1)
        && near(&point.over, &point.over_price, 1)
}

/// How far the product of all there is to spare grows along a step, nearly: by Newton's method, or
/// halfway where that leads out.
fn length(spare: &[(f64, f64, f64)]) -> f64 {
    let ends = spare.iter().filter(|(_, by, _)| *by < 0.0).map(|(have, by, _)| -have / by);
    let (mut low, mut high) = (0.0, ends.fold(1e3, f64::min));
    let mut at = f64::min(1.0, 0.5 * high);
    for _ in 0..LOOKS {
        let (mut grows, mut bends) = (0.0, 0.0);
        for (have, by, count) in spare {
            let part = by / (have + at * by);
            grows += count * part;
            bends += count * part * part;
        }
        if grows > 0.0 {
            low = at;
        } else {
            high = at;
        }
        let next = at + grows / bends;
        at = if next > low && next < high { next } else { 0.5 * (low + high) };
    }
    at
}

#[cfg(test)]
mod tests {
    use super::super::Row;
    use super::*;

    fn product(sharing: &Sharing, parts: &[Vec<f64>], asked: f64) -> f64 {
        let mut logs = 0.0;
        let mut free = sharing.places.clone();
        for (row, parts) in sharing.rows.iter().zip(parts) {
            let worth: f64 = row.worth.iter().zip(parts).map(|(worth, part)| worth * part).sum();
            logs += (worth - asked).ln() + (1.0 - parts.iter().sum::<f64>()).ln();
            for (free, part) in free.iter_mut().zip(parts) {
                *free -= row.size * part;
                logs += part.ln();
            }
        }
        logs + free.iter().map(|free| free.ln()).sum::<f64>()
    }

    fn mixed() -> Sharing {
        let row = |at: usize| Row {
            size: [1.0, 2.0, 1.0][at % 3],
            worth: vec![[4.0, 2.0, 1.5][at % 3] / (1 + at / 6) as f64, 1.0 / (1 + at / 6) as f64],
        };
        Sharing { places: vec![3.0, 4.0], rows: (0..24).map(row).collect() }
    }

    /// Nowhere near is the product larger.
    #[test]
    fn nothing_beside_the_middle_has_a_larger_product() {
        let sharing = mixed();
        let division = sharing.middle(|level| 0.95 * level).expect("there is room");
        let asked = 0.95 * division.level;
        let most = product(&sharing, &division.parts, asked);
        assert!(most.is_finite());
        for row in 0..sharing.rows.len() {
            for column in 0..2 {
                for by in [-1e-3, 1e-3] {
                    let mut parts = division.parts.clone();
                    parts[row][column] += by * parts[row][column];
                    assert!(product(&sharing, &parts, asked) < most, "{row} {column} {by}");
                }
            }
        }
    }

    /// Rows taken together get what each would get by itself.
    #[test]
    fn classes_do_not_matter() {
        let sharing = mixed();
        let apart = Merged::of(&sharing, |index| [index as u64, 0, 0, 0]);
        let best = apart.highest_level();
        let middle = apart.centre(0.97 * best.worth, &best).expect("there is room");
        let together = sharing.middle(|level| 0.97 * level).expect("there is room");
        for (one, other) in apart.parts(&middle.values, GRAIN).iter().zip(&together.parts) {
            for (one, other) in one.iter().zip(other) {
                assert!((one - other).abs() < 3e-6, "{one} {other}");
            }
        }
    }

    /// Two alike on one place, asked for little: equal parts, and equal parts to spare.
    #[test]
    fn equals_share_what_is_to_spare() {
        let rows = vec![Row { size: 1.0, worth: vec![1.0] }; 2];
        let division = Sharing { places: vec![1.0], rows }.middle(|_| 0.0).expect("there is room");
        assert_eq!(division.parts[0], division.parts[1]);
        assert!(division.parts[0][0] > 0.2 && division.parts[0][0] < 0.5, "{division:?}");
    }

    /// With prices and inside, it is the same middle.
    #[test]
    fn both_ways_lead_there() {
        let merged = mixed().merged();
        let best = merged.highest_level();
        let asked = 0.97 * best.worth;
        let (mut problem, _) =
            merged.problem(&vec![asked; merged.rows.len()], None).expect("worth");
        problem.without_squares();
        let (priced, _) = problem.priced_centre(&merged.counts).expect("it comes to an end");
        let edge = merged.off_the_edge(&problem, asked, &best);
        let (inside, _) = problem.centre(edge, &merged.counts).expect("there is room");
        for (one, other) in priced.iter().zip(&inside.share) {
            assert!((one - other).abs() < 1e-7, "{one} {other}");
        }
    }
}
