//! Nash welfare: the largest sum of logarithms of what shares are worth, over the exponential cone.

use super::merged::{Merged, SLACK};
use super::{Division, STEPS_MAX, Sharing};
use crate::linear::{Answer, Status};
use clarabel::algebra::CscMatrix;
use clarabel::solver::SupportedConeT::{ExponentialConeT, NonnegativeConeT};
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SolverStatus, SupportedConeT};

impl Sharing {
    /// Raise the sum of the logarithms of all worths, the product of them, as far as it goes; then
    /// the smallest sum of squares. The level is the mean logarithm. Whoever is worth nothing
    /// anywhere must not be among the rows.
    pub fn max_log(&self) -> Division {
        let merged = Merged::of(self, |_| [0; 4]);
        let best = merged.highest_logs();
        let worths = merged.worths(&best.values);
        let floors: Vec<f64> = worths.iter().map(|worth| worth * (1.0 - SLACK)).collect();
        merged.least_squares(&floors, &best)
    }
}

impl Merged {
    /// Variables are shares by class and column, then a logarithm for each class.
    fn highest_logs(&self) -> Answer {
        let (classes, columns) = (self.rows.len(), self.places.len());
        let shares = classes * columns;
        let all: f64 = self.counts.iter().sum();
        let mut triplets = (Vec::new(), Vec::new(), Vec::new());
        let mut bounds: Vec<f64> = Vec::new();
        let mut push = |row: usize, column: usize, value: f64| {
            triplets.0.push(row);
            triplets.1.push(column);
            triplets.2.push(value);
        };
        for class in 0..classes {
            (0..columns).for_each(|column| push(bounds.len(), class * columns + column, 1.0));
            bounds.push(1.0);
        }
        for (column, places) in self.places.iter().enumerate() {
            for (class, row) in self.rows.iter().enumerate() {
                let taken = row.size * self.counts[class] / places.max(1.0);
                push(bounds.len(), class * columns + column, taken);
            }
            bounds.push(places / places.max(1.0));
        }
        for share in 0..shares {
            push(bounds.len(), share, -1.0);
            bounds.push(0.0);
        }
        let mut cones = vec![NonnegativeConeT(bounds.len())];
        // (log, 1, worth) in the cone: the exponential of the first is no more than the last. Rows
        // are scaled so that the best of each is one: a constant off each logarithm.
        let scale = |class: usize| self.rows[class].worth.iter().copied().fold(0.0, f64::max);
        for (class, row) in self.rows.iter().enumerate() {
            push(bounds.len(), shares + class, -1.0);
            for (column, worth) in row.worth.iter().enumerate() {
                push(bounds.len() + 2, class * columns + column, -worth / scale(class));
            }
            bounds.extend([0.0, 1.0, 0.0]);
            cones.push(ExponentialConeT());
        }
        let (rows, across, values) = triplets;
        let variables = shares + classes;
        let matrix = CscMatrix::new_from_triplets(bounds.len(), variables, rows, across, values);
        let mut cost = vec![0.0; variables];
        for (class, count) in self.counts.iter().enumerate() {
            cost[shares + class] = -count / all;
        }
        self.logs(&cost, &matrix, &bounds, &cones)
    }

    fn logs(
        &self,
        cost: &[f64],
        matrix: &CscMatrix<f64>,
        bounds: &[f64],
        cones: &[SupportedConeT<f64>],
    ) -> Answer {
        let settings =
            DefaultSettings { verbose: false, max_iter: STEPS_MAX, ..DefaultSettings::default() };
        let nothing = CscMatrix::zeros((cost.len(), cost.len()));
        let solver = DefaultSolver::new(&nothing, cost, matrix, bounds, cones, settings);
        let mut solver = solver.expect("the matrices are made to fit");
        solver.solve();
        let status = match solver.solution.status {
            SolverStatus::Solved => Status::Optimal,
            _ => Status::Stopped,
        };
        let shares = self.rows.len() * self.places.len();
        let values: Vec<f64> = solver.solution.x[..shares].iter().map(|x| x.max(0.0)).collect();
        let all: f64 = self.counts.iter().sum();
        let logs = self.worths(&values).into_iter().zip(&self.counts);
        let worth = logs.map(|(worth, count)| worth.ln() * count / all).sum();
        let steps = solver.solution.iterations;
        Answer { values, worth, status, steps, prices: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Row;
    use super::*;

    /// On one column everybody has the same part of it, however much it is worth to each.
    #[test]
    fn one_column_is_shared_equally() {
        let rows = [1.0, 10.0, 1000.0].map(|worth| Row { size: 1.0, worth: vec![worth] });
        let division = Sharing { places: vec![1.0], rows: rows.to_vec() }.max_log();
        assert!(division.is_optimal);
        for parts in &division.parts {
            assert!((parts[0] - 1.0 / 3.0).abs() < 1e-4, "{division:?}");
        }
    }

    /// Two rows that are each at home in a column of their own are there all the time: no product
    /// is larger.
    #[test]
    fn everybody_is_where_it_is_worth_most() {
        let rows = vec![
            Row { size: 1.0, worth: vec![4.0, 1.0] },
            Row { size: 1.0, worth: vec![1.0, 2.0] },
        ];
        let division = Sharing { places: vec![1.0, 1.0], rows }.max_log();
        assert!((division.level - 8f64.ln() / 2.0).abs() < 1e-6, "{division:?}");
        assert!(division.parts[0][0] > 0.9999 && division.parts[1][1] > 0.9999, "{division:?}");
    }

    /// Rows that are alike are one class, and the answer is that of each by itself.
    #[test]
    fn no_other_shares_have_a_larger_product() {
        let rows: Vec<Row> = (0..12)
            .map(|at| Row { size: 1.0, worth: vec![[4.0, 2.0, 1.5][at % 3], 1.0] })
            .collect();
        let sharing = Sharing { places: vec![2.0, 3.0], rows };
        let welfare = |parts: &[Vec<f64>]| -> f64 {
            let rows = sharing.rows.iter().zip(parts);
            let worth = rows.map(|(row, parts)| {
                row.worth.iter().zip(parts).map(|(worth, part)| worth * part).sum::<f64>().ln()
            });
            worth.sum::<f64>() / 12.0
        };
        let best = sharing.max_log();
        assert!((welfare(&best.parts) - best.level).abs() < 1e-5);
        assert!(welfare(&sharing.max_min().parts) < best.level - 1e-4);
        assert!(welfare(&vec![vec![2.0 / 12.0, 3.0 / 12.0]; 12]) < best.level - 1e-4);
    }
}
