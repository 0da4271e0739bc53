//! How many times as much as another: the mean of ratios, run by run, and how sure it is.

use crate::metrics::Interval;
use serde::Serialize;

/// The geometric mean of ratios, so that what is twice as much one way is half as much the other
/// way, and an interval around it that never reaches below zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Factor {
    /// The geometric mean.
    pub mean: f64,
    /// The lower end of the 95 % confidence interval, by Student's t of the logarithms; none for a
    /// single ratio.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

impl Factor {
    /// The mean of ratios that were drawn independently; none if there are no ratios above zero.
    pub fn of(ratios: &[f64]) -> Option<Factor> {
        let sound = ratios.iter().filter(|ratio| **ratio > 0.0 && ratio.is_finite());
        let logarithms: Vec<f64> = sound.map(|ratio| ratio.ln()).collect();
        if logarithms.is_empty() {
            return None;
        }
        let Interval { mean, half_width } = Interval::of(&logarithms);
        let (low, high) = (half_width.map(|half| mean - half), half_width.map(|half| mean + half));
        Some(Factor { mean: mean.exp(), low: low.map(f64::exp), high: high.map(f64::exp) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice_as_much_one_way_is_half_as_much_the_other_way() {
        let ratios = [0.5, 2.0, 3.0, 0.1];
        let back = ratios.map(|ratio| 1.0 / ratio);
        let [one, other] = [ratios, back].map(|all| Factor::of(&all).expect("ratios"));
        assert!((one.mean * other.mean - 1.0).abs() < 1e-12, "{one:?} {other:?}");
        let ends = |factor: Factor| (factor.low.expect("an end"), factor.high.expect("an end"));
        let ((low, high), (back_low, back_high)) = (ends(one), ends(other));
        assert!((low * back_high - 1.0).abs() < 1e-9 && (high * back_low - 1.0).abs() < 1e-9);
        assert!(0.0 < low && low < one.mean && one.mean < high, "{one:?}");
    }

    #[test]
    fn two_ratios_have_the_interval_of_the_table() {
        // Logarithms 0 and 2: mean 1, standard deviation √2, t for one degree of freedom 12.706.
        let factor = Factor::of(&[1.0, 2.0f64.exp()]).expect("ratios");
        assert!((factor.mean.ln() - 1.0).abs() < 1e-12);
        assert!((factor.low.expect("an end").ln() - (1.0 - 12.706)).abs() < 1e-3, "{factor:?}");
        assert_eq!(Factor::of(&[2.0]).map(|only| only.low), Some(None));
        assert_eq!(Factor::of(&[0.0, f64::NAN]), None, "who finished nothing has no ratio");
    }
}
