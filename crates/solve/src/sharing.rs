//! Sharing out time: rows share columns, each column has so many places, and nobody can be in two
//! places at once. The linear programmes of Gavel (Narayanan et al., OSDI 2020).

mod centre;
mod deal;
mod finish;
mod interior;
mod merged;
mod nash;
mod normal;
mod pairs;
mod water;

use crate::linear::Status;
pub use finish::Finish;
use merged::Merged;
pub use pairs::{Beside, Pair};
pub use water::Within;

/// Who shares.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Places it takes while it is in a column.
    pub size: f64,
    /// What all the time in each column is worth to it.
    pub worth: Vec<f64>,
}

/// What is shared, and by whom.
#[derive(Clone, Debug, PartialEq)]
pub struct Sharing {
    /// Places of each column.
    pub places: Vec<f64>,
    /// Who shares them.
    pub rows: Vec<Row>,
}

/// What a row must have: the parts of its time times these factors come to at least one.
pub type Floor = Option<Vec<f64>>;

/// Who has which part of the time.
#[derive(Clone, Debug, PartialEq)]
pub struct Division {
    /// What was maximised.
    pub level: f64,
    /// For each row its part of the time in each column, rounded to a millionth.
    pub parts: Vec<Vec<f64>>,
    /// Beside that, what rows have two by two in one place.
    pub pairs: Vec<Pair>,
    /// Whether nothing better exists.
    pub is_optimal: bool,
    /// Steps that took.
    pub steps: u32,
}

/// Steps allowed for each programme; the largest tried took forty.
const STEPS_MAX: u32 = 200;
/// Worths are taken as they are where the largest is between these.
const SMALL: f64 = 1e-2;
const LARGE: f64 = 1e3;
/// Parts are rounded to this, so that what differs by the last bits of a solver is the same.
const GRAIN: f64 = 1e-6;

impl Sharing {
    /// Raise the worth of whoever has the least as far as it goes; then, among all ways to do so,
    /// take the one with the smallest sum of squares, each over the places of its column: as far as
    /// it makes no difference, everybody has an equal part of everything. There is only one, so the
    /// answer does not hang on where a solver comes to, and nobody is promised what the level does
    /// not need.
    pub fn max_min(&self) -> Division {
        self.merged().max_min()
    }

    /// Raise the sum of all worths as far as it goes; of all ways to do so, the one with the
    /// smallest sum of squares.
    pub fn max_sum(&self) -> Division {
        let found = self.max_sum_above(&vec![None; self.rows.len()]);
        // A solver that does not find that nothing is asked for has failed.
        found.unwrap_or_else(|| self.max_min())
    }

    /// The same, each row above its floor; none, if that cannot be.
    pub fn max_sum_above(&self, floors: &[Floor]) -> Option<Division> {
        // Solvers tell what is possible from what is not by absolute numbers.
        let most = self.rows.iter().flat_map(|row| &row.worth).copied().fold(0.0, f64::max);
        if most > 0.0 && !(SMALL..LARGE).contains(&most) {
            let rows = self.rows.iter().map(|row| Row {
                worth: row.worth.iter().map(|worth| worth / most).collect(),
                ..row.clone()
            });
            let scaled = Sharing { places: self.places.clone(), rows: rows.collect() };
            let found = scaled.max_sum_above(floors)?;
            return Some(Division { level: found.level * most, ..found });
        }
        // Who has a floor is a class by itself.
        let merged =
            Merged::of(self, |row| [floors[row].as_ref().map_or(0, |_| row as u64 + 1); 4]);
        let mut by_class: Vec<Floor> = vec![None; merged.rows.len()];
        for (class, floor) in merged.class_of.iter().zip(floors) {
            by_class[*class].clone_from(floor);
        }
        let best = merged.highest_sum(&by_class);
        let found = best.status != Status::Impossible;
        found.then(|| merged.least_squares_of_sum(&by_class, best.worth, &best))
    }

    /// Rows that are alike, taken together.
    fn merged(&self) -> Merged {
        Merged::of(self, |_| [0; 4])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of Gavel's paper: three jobs on one V100 and one K80, four, three and two times
    /// as fast on the V100. An equal split gives everybody a third of the time on each; knowing
    /// the speeds, all do about a tenth better.
    #[test]
    fn three_jobs_on_two_kinds_do_better_than_a_third_of_each() {
        let speeds = [4.0, 3.0, 2.0];
        let rows = speeds.map(|speed| {
            let third = (speed + 1.0) / 3.0;
            Row { size: 1.0, worth: vec![speed / third, 1.0 / third] }
        });
        let sharing = Sharing { places: vec![1.0, 1.0], rows: rows.to_vec() };
        let division = sharing.max_min();
        assert!(division.is_optimal);
        assert!(division.level > 1.08 && division.level < 1.10, "{}", division.level);
        for (row, parts) in sharing.rows.iter().zip(&division.parts) {
            let worth: f64 = row.worth.iter().zip(parts).map(|(worth, part)| worth * part).sum();
            assert!(worth > division.level - 1e-5, "{worth} {parts:?}");
            assert!(parts.iter().sum::<f64>() < 1.0 + 1e-6);
        }
    }

    /// Equal rows get equal parts: the second programme has one answer.
    #[test]
    fn equals_are_treated_as_equals() {
        let row = Row { size: 1.0, worth: vec![2.0, 1.0] };
        let division = Sharing { places: vec![1.0, 2.0], rows: vec![row; 4] }.max_min();
        for parts in &division.parts {
            for (part, first) in parts.iter().zip(&division.parts[0]) {
                assert!((part - first).abs() < 1e-5, "{:?}", division.parts);
            }
        }
    }

    #[test]
    fn nobody_is_where_it_is_worth_nothing() {
        let rows = vec![
            Row { size: 1.0, worth: vec![1.0, 0.0] },
            Row { size: 1.0, worth: vec![1.0, 1.0] },
        ];
        let division = Sharing { places: vec![1.0, 1.0], rows }.max_min();
        assert!((division.level - 1.0).abs() < 1e-6, "{division:?}");
        assert_eq!(division.parts[0][1], 0.0);
    }

    /// Each row alone in its class is what would be solved without classes.
    #[test]
    fn rows_taken_together_get_what_each_would_get() {
        let kinds = [[4.0, 1.0, 0.5], [3.0, 2.0, 0.0], [1.0, 1.0, 1.0]];
        let row = |index: usize| Row {
            size: [1.0, 2.0, 1.0, 4.0][index % 4],
            worth: kinds[index % 3].to_vec(),
        };
        let sharing = Sharing { places: vec![3.0, 4.0, 2.0], rows: (0..40).map(row).collect() };
        let together = sharing.merged();
        let apart = Merged::of(&sharing, |index| [index as u64, 0, 0, 0]);
        assert_eq!((together.rows.len(), apart.rows.len()), (9, 40));
        let sums = |division: &Division| -> Vec<f64> {
            division.parts.iter().flatten().copied().collect()
        };
        let (few, many) = (together.max_min(), apart.max_min());
        assert!((few.level / many.level - 1.0).abs() < 1e-7, "{} {}", few.level, many.level);
        for (few, many) in sums(&few).iter().zip(sums(&many)) {
            assert!((few - many).abs() < 2e-5, "{few} {many}");
        }
        let best = apart.highest_sum(&vec![None; 40]);
        let many = apart.least_squares_of_sum(&vec![None; 40], best.worth, &best);
        let few = sharing.max_sum();
        assert!((few.level / best.worth - 1.0).abs() < 1e-7);
        for (few, many) in sums(&few).iter().zip(sums(&many)) {
            assert!((few - many).abs() < 1e-3, "{few} {many}");
        }
    }

    /// One row must have half of the better column, though the other would make more of it.
    #[test]
    fn floors_are_kept_or_said_to_be_too_high() {
        let rows = vec![Row { size: 1.0, worth: vec![4.0] }, Row { size: 1.0, worth: vec![1.0] }];
        let sharing = Sharing { places: vec![1.0], rows };
        assert!((sharing.max_sum().level - 4.0).abs() < 1e-6);
        let floored = sharing.max_sum_above(&[None, Some(vec![2.0])]).expect("there is room");
        assert!((floored.level - 2.5).abs() < 1e-6, "{floored:?}");
        assert!((floored.parts[1][0] - 0.5).abs() < 1e-5, "{floored:?}");
        assert_eq!(sharing.max_sum_above(&[Some(vec![1.2]), Some(vec![2.0])]), None);
    }
}
