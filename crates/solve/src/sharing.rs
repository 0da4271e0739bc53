//! Sharing out time: rows share columns, each column has so many places, and nobody can be in two
//! places at once. The linear programmes of Gavel (Narayanan et al., OSDI 2020).

mod finish;

use crate::linear::{Answer, Linear, Status};
pub use finish::Finish;

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

/// Who has which part of the time.
#[derive(Clone, Debug, PartialEq)]
pub struct Division {
    /// What was maximised.
    pub level: f64,
    /// For each row its part of the time in each column, rounded to a millionth.
    pub parts: Vec<Vec<f64>>,
    /// Whether nothing better exists.
    pub is_optimal: bool,
    /// Steps that took.
    pub steps: u32,
}

/// Steps allowed for each programme; the largest tried took forty.
const STEPS_MAX: u32 = 200;
/// Parts are rounded to this, so that what differs by the last bits of a solver is the same.
const GRAIN: f64 = 1e-6;
/// How much the second programme may take off the level that the first found.
const SLACK: f64 = 1e-7;

impl Sharing {
    /// Raise the worth of whoever has the least as far as it goes; then, among all ways to do so,
    /// take the one with the smallest sum of squares. There is only one, so the answer does not
    /// hang on where a solver comes to, and nobody is promised what the level does not need.
    pub fn max_min(&self) -> Division {
        // Solvers count to so many digits after the point; so the level must be near one.
        let best_of = |row: &Row| row.worth.iter().copied().fold(0.0, f64::max);
        let unit = self.rows.iter().map(best_of).fold(f64::INFINITY, f64::min);
        if unit <= 0.0 || !unit.is_finite() {
            let parts = vec![vec![0.0; self.places.len()]; self.rows.len()];
            return Division { level: 0.0, parts, is_optimal: true, steps: 0 };
        }
        let scaled =
            |row: &Row| Row { worth: row.worth.iter().map(|worth| worth / unit).collect(), ..*row };
        let rows = self.rows.iter().map(scaled).collect();
        let division = Sharing { places: self.places.clone(), rows }.max_min_scaled();
        Division { level: division.level * unit, ..division }
    }

    /// Shares that raise the least worth as far as it goes, whichever a solver comes to.
    fn highest_level(&self) -> Answer {
        let level_at = self.rows.len() * self.places.len();
        let mut programme = self.programme(level_at + 1);
        programme.set_worth(level_at, 1.0);
        for (index, row) in self.rows.iter().enumerate() {
            let mut terms = self.terms(index, row, -1.0);
            terms.push((level_at, 1.0));
            programme.at_most(terms, 0.0);
        }
        programme.maximise(STEPS_MAX)
    }

    fn max_min_scaled(&self) -> Division {
        let level_at = self.rows.len() * self.places.len();
        let best = self.highest_level();
        let level = best.worth;
        let mut second = self.programme(level_at);
        for (index, row) in self.rows.iter().enumerate() {
            second.at_most(self.terms(index, row, -1.0), -level * (1.0 - SLACK));
        }
        for variable in 0..level_at {
            second.set_penalty(variable, 1.0);
        }
        let unique = second.maximise(STEPS_MAX);
        let usable = unique.status != Status::Impossible;
        let steps = best.steps + unique.steps;
        let optimal = best.status == Status::Optimal && unique.status == Status::Optimal;
        self.division(level, if usable { &unique } else { &best }, optimal, steps)
    }

    /// Raise the sum of all worths as far as it goes.
    pub fn max_sum(&self) -> Division {
        let mut programme = self.programme(self.rows.len() * self.places.len());
        self.value_sum(&mut programme, 1.0);
        let best = programme.maximise(STEPS_MAX);
        self.division(best.worth, &best, best.status == Status::Optimal, best.steps)
    }

    /// Nobody more than all the time, nothing beyond its places.
    fn programme(&self, variables: usize) -> Linear {
        let columns = self.places.len();
        let mut programme = Linear::new(variables);
        for index in 0..self.rows.len() {
            let row = (0..columns).map(|column| (index * columns + column, 1.0)).collect();
            programme.at_most(row, 1.0);
        }
        for (column, places) in self.places.iter().enumerate() {
            let rows = self.rows.iter().enumerate();
            let taken = rows.map(|(index, row)| (index * columns + column, row.size));
            programme.at_most(taken.collect(), *places);
        }
        programme
    }

    fn terms(&self, index: usize, row: &Row, sign: f64) -> Vec<(usize, f64)> {
        let columns = self.places.len();
        let worth = row.worth.iter().enumerate();
        worth.map(|(column, worth)| (index * columns + column, sign * worth)).collect()
    }

    fn value_sum(&self, programme: &mut Linear, scale: f64) {
        for (index, row) in self.rows.iter().enumerate() {
            for (variable, worth) in self.terms(index, row, 1.0) {
                programme.set_worth(variable, worth * scale);
            }
        }
    }

    fn division(&self, level: f64, answer: &Answer, is_optimal: bool, steps: u32) -> Division {
        let columns = self.places.len();
        let rounded = |part: &f64| (part / GRAIN).round() * GRAIN;
        let row = |index: usize| {
            let own = answer.values[index * columns..(index + 1) * columns].iter();
            // Time where it is worth nothing is no time.
            let worth = self.rows[index].worth.iter();
            own.zip(worth).map(|(part, worth)| if *worth > 0.0 { rounded(part) } else { 0.0 })
        };
        let parts = (0..self.rows.len()).map(|index| row(index).collect()).collect();
        Division { level, parts, is_optimal, steps }
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
}
