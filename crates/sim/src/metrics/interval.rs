//! How sure a mean of a few runs is.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A mean and how far the true one may be from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// Half the width of the 95 % confidence interval, by Student's t; none for a single value.
    pub half_width: Option<f64>,
}

impl Interval {
    /// The mean of values that were drawn independently.
    pub fn of(values: &[f64]) -> Interval {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count.max(1.0);
        if values.len() < 2 {
            return Interval { mean, half_width: None };
        }
        let variance =
            values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let student = StudentsT::new(0.0, 1.0, count - 1.0).expect("one degree of freedom or more");
        let half_width = student.inverse_cdf(0.975) * (variance / count).sqrt();
        Interval { mean, half_width: Some(half_width) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_values_have_the_interval_of_the_table() {
        // Mean 3, standard deviation √2.5, t for 4 degrees of freedom 2.776.
        let interval = Interval::of(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(interval.mean, 3.0);
        let half = interval.half_width.expect("more than one value");
        assert!((half - 2.776 * (2.5f64 / 5.0).sqrt()).abs() < 1e-3, "{half}");
        assert_eq!(Interval::of(&[7.0]).half_width, None);
        assert_eq!(Interval::of(&[2.0, 2.0]).half_width, Some(0.0));
    }
}
