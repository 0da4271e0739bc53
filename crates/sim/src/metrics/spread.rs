//! How values are spread: mean and quantiles.

use serde::{Deserialize, Serialize};

/// Mean and quantiles of some values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Their mean.
    pub mean: f64,
    /// Half of them are at most this.
    pub p50: f64,
    /// 95 % of them are at most this.
    pub p95: f64,
    /// 99 % of them are at most this.
    pub p99: f64,
    /// The largest.
    pub max: f64,
}

impl Spread {
    /// The spread of values in any order; all zero if there are none.
    pub fn of(mut values: Vec<f64>) -> Spread {
        if values.is_empty() {
            return Spread::default();
        }
        values.sort_unstable_by(f64::total_cmp);
        Spread {
            mean: values.iter().sum::<f64>() / values.len() as f64,
            p50: quantile(&values, 0.50),
            p95: quantile(&values, 0.95),
            p99: quantile(&values, 0.99),
            max: values[values.len() - 1],
        }
    }
}

/// The smallest value that at least a part `q` of the sorted values does not exceed (nearest rank).
pub fn quantile(sorted: &[f64], q: f64) -> f64 {
    let rank = (q * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_by_nearest_rank() {
        let spread = Spread::of((1..=200).rev().map(f64::from).collect());
        assert_eq!(spread, Spread { mean: 100.5, p50: 100.0, p95: 190.0, p99: 198.0, max: 200.0 });
        assert_eq!(Spread::of(vec![7.0]).p99, 7.0);
        assert_eq!(Spread::of(Vec::new()), Spread::default());
    }
}
