//! Linear programmes, perhaps with a small quadratic penalty, by an interior-point method.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettings, DefaultSolver, IPSolver, SolverStatus, SupportedConeT::NonnegativeConeT,
};

/// Maximise a sum over variables that are not negative, each row of a matrix bounded above.
#[derive(Clone, Debug, Default)]
pub struct Linear {
    /// What each variable is worth.
    worth: Vec<f64>,
    /// Half of this times the square of each variable is taken off.
    penalty: Vec<f64>,
    /// Rows: factors of variables, and what their sum may be at most.
    rows: Vec<(Vec<(usize, f64)>, f64)>,
}

/// How far a solver came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The answer is optimal.
    Optimal,
    /// The answer is the best found within the steps allowed.
    Stopped,
    /// There is no answer, or there is no end to it.
    Impossible,
}

/// What a solver found.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The variables.
    pub values: Vec<f64>,
    /// What they are worth.
    pub worth: f64,
    /// Whether that is the most.
    pub status: Status,
    /// Steps it took.
    pub steps: u32,
    /// What a little more of each bound would be worth, in the order of rows.
    pub prices: Vec<f64>,
}

impl Linear {
    /// A programme over so many variables that are worth nothing.
    pub fn new(variables: usize) -> Linear {
        Linear { worth: vec![0.0; variables], penalty: vec![0.0; variables], rows: Vec::new() }
    }

    /// Say what a variable is worth.
    pub fn set_worth(&mut self, variable: usize, worth: f64) {
        self.worth[variable] = worth;
    }

    /// Take off half of this times the square of a variable.
    pub fn set_penalty(&mut self, variable: usize, penalty: f64) {
        self.penalty[variable] = penalty;
    }

    /// The sum of factors times variables is at most a bound.
    pub fn at_most(&mut self, row: Vec<(usize, f64)>, bound: f64) {
        self.rows.push((row, bound));
    }

    /// The best values, within so many steps.
    pub fn maximise(&self, steps_max: u32) -> Answer {
        let variables = self.worth.len();
        let mut triplets = (Vec::new(), Vec::new(), Vec::new());
        let mut push = |row: usize, column: usize, value: f64| {
            triplets.0.push(row);
            triplets.1.push(column);
            triplets.2.push(value);
        };
        let mut bounds: Vec<f64> = Vec::new();
        for (row, bound) in &self.rows {
            for (variable, factor) in row {
                push(bounds.len(), *variable, *factor);
            }
            bounds.push(*bound);
        }
        for variable in 0..variables {
            push(bounds.len(), variable, -1.0);
            bounds.push(0.0);
        }
        let (rows, columns, values) = triplets;
        let matrix = CscMatrix::new_from_triplets(bounds.len(), variables, rows, columns, values);
        let diagonal: Vec<usize> = (0..variables).collect();
        let squares = CscMatrix::new_from_triplets(
            variables,
            variables,
            diagonal.clone(),
            diagonal,
            self.penalty.clone(),
        );
        let cost: Vec<f64> = self.worth.iter().map(|worth| -worth).collect();
        let settings = DefaultSettings {
            verbose: false,
            max_iter: steps_max,
            tol_gap_abs: 1e-10,
            tol_gap_rel: 1e-10,
            tol_feas: 1e-10,
            ..DefaultSettings::default()
        };
        let cones = [NonnegativeConeT(bounds.len())];
        let solver = DefaultSolver::new(&squares, &cost, &matrix, &bounds, &cones, settings);
        let mut solver = solver.expect("the matrices are made to fit");
        solver.solve();
        let status = match solver.solution.status {
            SolverStatus::Solved => Status::Optimal,
            SolverStatus::AlmostSolved
            | SolverStatus::MaxIterations
            | SolverStatus::InsufficientProgress => Status::Stopped,
            _ => Status::Impossible,
        };
        let values: Vec<f64> = solver.solution.x.iter().map(|value| value.max(0.0)).collect();
        let worth = self.worth.iter().zip(&values).map(|(worth, value)| worth * value).sum();
        let prices = solver.solution.z[..self.rows.len()].to_vec();
        Answer { values, worth, status, steps: solver.solution.iterations, prices }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three chairs' worth of wood, two of cloth: the textbook corner (2, 6) is worth 36.
    #[test]
    fn a_textbook_programme_is_solved() {
        let mut programme = Linear::new(2);
        programme.set_worth(0, 3.0);
        programme.set_worth(1, 5.0);
        programme.at_most(vec![(0, 1.0)], 4.0);
        programme.at_most(vec![(1, 2.0)], 12.0);
        programme.at_most(vec![(0, 3.0), (1, 2.0)], 18.0);
        let answer = programme.maximise(100);
        assert_eq!(answer.status, Status::Optimal);
        assert!((answer.worth - 36.0).abs() < 1e-7, "{answer:?}");
        assert!((answer.values[0] - 2.0).abs() < 1e-6 && (answer.values[1] - 6.0).abs() < 1e-6);
    }

    #[test]
    fn what_cannot_be_is_said_to_be_so() {
        let mut nothing = Linear::new(1);
        nothing.at_most(vec![(0, 1.0)], -1.0);
        assert_eq!(nothing.maximise(100).status, Status::Impossible);
        let mut endless = Linear::new(1);
        endless.set_worth(0, 1.0);
        assert_eq!(endless.maximise(100).status, Status::Impossible);
        let mut hasty = Linear::new(1);
        hasty.set_worth(0, 1.0);
        hasty.at_most(vec![(0, 1.0)], 1.0);
        assert_eq!(hasty.maximise(1).status, Status::Stopped, "one step is not enough");
    }
}
