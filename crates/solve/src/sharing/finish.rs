//! Shares by which nobody ends much later than promised: the objective of Themis (Mahajan et al.,
//! NSDI 2020) over several columns, as in Gavel. For a given lateness it is a linear programme; the
//! least lateness is found by Dinkelbach's method (1967), which comes down to it in a few steps.

use super::merged::Merged;
use super::pairs::Paired;
use super::{Beside, Division, Sharing};

/// How far a row is, and when it was promised to end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finish {
    /// Seconds since it came.
    pub elapsed_s: f64,
    /// Work that is left, in the units in which all the time in a column is worth so many a second.
    pub left: f64,
    /// Seconds after it came at which it was promised to end.
    pub promised_s: f64,
}

/// Programmes solved, at most; the problems tried took four to eight.
const ROUNDS_MAX: u32 = 30;
/// It ends when lateness falls by less than this part.
const FALL_MIN: f64 = 1e-9;

impl Sharing {
    /// Make the largest lateness, the time at which a row will end over the time promised to it, as
    /// small as possible; then, among all ways to do so, take the one with the smallest sum of
    /// squares. The level is that lateness. Work left and promises must be more than nothing.
    pub fn min_max_finish(&self, finishes: &[Finish]) -> Division {
        let merged = self.by_finish(finishes);
        merged.min_max_finish(&of_classes(&merged, finishes), Merged::max_min)
    }

    /// The same; but among all ways to do so, take the middle one.
    pub fn min_max_finish_in_the_middle(&self, finishes: &[Finish]) -> Division {
        let merged = self.by_finish(finishes);
        merged.min_max_finish(&of_classes(&merged, finishes), |merged| {
            merged.middle(|level| level).unwrap_or_else(|| merged.max_min())
        })
    }

    /// Rows that are alike in all of this are one class.
    fn by_finish(&self, finishes: &[Finish]) -> Merged {
        Merged::of(self, |row| {
            let [elapsed, left, promised] = finishes[row].bits();
            [elapsed, left, promised, 0]
        })
    }

    /// The same where two may be in one place.
    pub fn min_max_finish_in_pairs(&self, finishes: &[Finish], beside: &Beside) -> Division {
        let paired = Paired::of(self, beside, |row| finishes[row].bits());
        paired.min_max_finish(&of_classes(&paired.merged, finishes), Paired::max_min)
    }
}

impl Finish {
    fn bits(&self) -> [u64; 3] {
        [self.elapsed_s, self.left, self.promised_s].map(f64::to_bits)
    }
}

fn of_classes(merged: &Merged, finishes: &[Finish]) -> Vec<Finish> {
    let mut of_class = vec![None; merged.rows.len()];
    for (class, finish) in merged.class_of.iter().zip(finishes) {
        of_class[*class] = Some(*finish);
    }
    of_class.into_iter().flatten().collect()
}

/// What can be asked again and again with other needs.
trait Levels: Sized {
    /// The same, each worth over a divisor of its class.
    fn over(&self, divisors: &[f64]) -> Self;
    /// Worths when the least is as high as it goes, and the steps that took.
    fn raised(&self) -> (Vec<f64>, u32);

    /// The least lateness, and of all divisions with that the one that is taken.
    fn min_max_finish(&self, finishes: &[Finish], take: impl Fn(&Self) -> Division) -> Division {
        // Without a lateness to begin with: as if nobody had waited yet.
        let first = finishes.iter().map(|finish| finish.left / finish.promised_s);
        let mut needs: Vec<f64> = first.collect();
        let (mut lateness, mut steps, mut is_settled) = (f64::INFINITY, 0, false);
        for _ in 0..ROUNDS_MAX {
            let (worths, taken) = self.over(&needs).raised();
            steps += taken;
            let late = |((finish, worth), need): ((&Finish, f64), &f64)| {
                (finish.elapsed_s + finish.left / (worth * need)) / finish.promised_s
            };
            let each = finishes.iter().zip(worths).zip(&needs);
            let next = each.map(late).fold(0.0, f64::max);
            if !next.is_finite() {
                break;
            }
            is_settled = next >= lateness * (1.0 - FALL_MIN);
            if is_settled {
                break;
            }
            lateness = next;
            let need = |finish: &Finish| {
                finish.left
                    / (lateness * finish.promised_s - finish.elapsed_s).max(f64::MIN_POSITIVE)
            };
            needs = finishes.iter().map(need).collect();
        }
        let division = take(&self.over(&needs));
        let is_optimal = division.is_optimal && is_settled;
        Division { level: lateness, is_optimal, steps: steps + division.steps, ..division }
    }
}

impl Levels for Merged {
    fn over(&self, divisors: &[f64]) -> Merged {
        Merged::over(self, divisors.iter().copied())
    }

    fn raised(&self) -> (Vec<f64>, u32) {
        let shares = self.highest_level();
        (self.worths(&shares.values), shares.steps)
    }
}

impl Levels for Paired<'_> {
    fn over(&self, divisors: &[f64]) -> Self {
        Paired::over(self, divisors.iter().copied())
    }

    fn raised(&self) -> (Vec<f64>, u32) {
        let found = self.highest_level();
        (self.worths(&found), found.answer.steps)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Row;
    use super::*;

    /// Two rows on one place, with as much left. The one that has waited for half of what was
    /// promised needs more of the time; both come to the same lateness.
    #[test]
    fn who_waited_longer_gets_more() {
        let row = Row { size: 1.0, worth: vec![1.0] };
        let sharing = Sharing { places: vec![1.0], rows: vec![row; 2] };
        let finish = |elapsed_s: f64| Finish { elapsed_s, left: 100.0, promised_s: 200.0 };
        let division = sharing.min_max_finish(&[finish(100.0), finish(0.0)]);
        assert!(division.is_optimal, "{division:?}");
        let (waited, fresh) = (division.parts[0][0], division.parts[1][0]);
        assert!(waited > fresh && (waited + fresh - 1.0).abs() < 1e-5, "{division:?}");
        let ends = [100.0 + 100.0 / waited, 100.0 / fresh];
        for end in ends {
            assert!((end / 200.0 - division.level).abs() < 1e-4, "{division:?}");
        }
    }

    /// With nothing elapsed and equal promises it is the shortest makespan.
    #[test]
    fn at_the_start_it_is_the_makespan() {
        let worths = [[4.0, 1.0], [3.0, 1.0], [2.0, 1.0]];
        let rows = worths.map(|worth| Row { size: 1.0, worth: worth.to_vec() });
        let sharing = Sharing { places: vec![1.0, 1.0], rows: rows.to_vec() };
        let lefts = [100.0, 50.0, 200.0];
        let finishes = lefts.map(|left| Finish { elapsed_s: 0.0, left, promised_s: 1.0 });
        let scaled = |(row, left): (&Row, f64)| Row {
            worth: row.worth.iter().map(|worth| worth / left).collect(),
            ..*row
        };
        let rows = sharing.rows.iter().zip(lefts).map(scaled).collect();
        let makespan = 1.0 / Sharing { places: sharing.places.clone(), rows }.max_min().level;
        let division = sharing.min_max_finish(&finishes);
        assert!((division.level / makespan - 1.0).abs() < 1e-6, "{division:?} {makespan}");
    }
}
