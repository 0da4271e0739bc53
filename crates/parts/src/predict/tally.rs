//! Keeping count of what was predicted beside what was then seen.

use heeler_engine::{Band, Calibration};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Ratios are counted in steps of a twentieth of a doubling …
const STEPS: f64 = 20.0;
/// … up to so many doublings either way.
const DOUBLINGS_MAX: f64 = 40.0;
/// Smaller predictions and observations count as this.
const LEAST: f64 = 1e-6;

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Sums {
    seen: u64,
    log_predicted: f64,
    log_was: f64,
}

/// What was predicted beside what was seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    seen: u64,
    unknown: u64,
    /// Sum of how far each was off, as a logarithm.
    off: f64,
    within_double: u64,
    /// How often an interval was stated, and how often what was seen lay in it.
    #[serde(default)]
    stated: u64,
    #[serde(default)]
    within_stated: u64,
    /// How often predicted ÷ seen was so many steps.
    ratios: BTreeMap<i32, u64>,
    /// By the power of ten of what was predicted.
    bands: BTreeMap<i32, Sums>,
}

impl Tally {
    /// Something was seen; what was said of it before, if anything.
    pub fn note(&mut self, predicted: Option<f64>, was: f64) {
        let Some(predicted) = predicted.filter(|value| value.is_finite()) else {
            self.unknown += 1;
            return;
        };
        let (predicted, was) = (predicted.max(LEAST), was.max(LEAST));
        let ratio = (predicted / was).log2().clamp(-DOUBLINGS_MAX, DOUBLINGS_MAX);
        self.seen += 1;
        // What differs by rounding to microseconds is the same.
        let off = if (predicted - was).abs() <= 2.0 * LEAST { 0.0 } else { ratio.abs() };
        self.off += off;
        self.within_double += u64::from(off <= 1.0);
        *self.ratios.entry((ratio * STEPS).round() as i32).or_default() += 1;
        let band = self.bands.entry(predicted.log10().floor() as i32).or_default();
        band.seen += 1;
        band.log_predicted += predicted.ln();
        band.log_was += was.ln();
    }

    /// An interval was stated, and what was seen lay in it or not.
    pub fn note_stated(&mut self, within: bool) {
        self.stated += 1;
        self.within_stated += u64::from(within);
    }

    /// The ratio below which a part of them is.
    fn ratio(&self, part: f64) -> f64 {
        let wanted = (part * self.seen as f64).ceil().max(1.0) as u64;
        let mut counted = 0;
        for (step, count) in &self.ratios {
            counted += count;
            if counted >= wanted {
                return (f64::from(*step) / STEPS).exp2();
            }
        }
        1.0
    }

    /// In the figures of a run.
    pub fn calibration(&self, predictor: &str, of: &str) -> Calibration {
        let seen = self.seen.max(1) as f64;
        let mean = |sum: f64, sums: &Sums| (sum / sums.seen as f64).exp();
        let bands = self.bands.values().map(|sums| Band {
            seen: sums.seen,
            predicted: mean(sums.log_predicted, sums),
            was: mean(sums.log_was, sums),
        });
        Calibration {
            predictor: predictor.into(),
            of: of.into(),
            seen: self.seen,
            unknown: self.unknown,
            ratio_p10: self.ratio(0.1),
            ratio_p50: self.ratio(0.5),
            ratio_p90: self.ratio(0.9),
            within_double: self.within_double as f64 / seen,
            factor: (self.off / seen).exp2(),
            within_stated: (self.stated > 0)
                .then(|| self.within_stated as f64 / self.stated as f64),
            bands: bands.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predictions_are_counted_beside_what_was_seen() {
        let mut tally = Tally::default();
        for (predicted, was) in [(10.0, 10.0), (10.0, 40.0), (200.0, 50.0), (20.0, 10.0)] {
            tally.note(Some(predicted), was);
        }
        tally.note(None, 5.0);
        let known = tally.calibration("some", "seconds");
        assert_eq!((known.seen, known.unknown), (4, 1));
        assert_eq!((known.within_double, known.within_stated), (0.5, None));
        assert!((known.factor - 32f64.powf(0.25)).abs() < 1e-12, "{}", known.factor);
        assert!((known.ratio_p10 - 0.25).abs() < 1e-12, "{}", known.ratio_p10);
        assert!((known.ratio_p50 - 1.0).abs() < 1e-12);
        assert!((known.ratio_p90 - 4.0).abs() < 1e-12);
        let [tens, hundreds] = &known.bands[..] else { panic!("two bands: {known:?}") };
        assert_eq!((tens.seen, hundreds.seen), (3, 1));
        assert!((hundreds.predicted - 200.0).abs() < 1e-9 && (hundreds.was - 50.0).abs() < 1e-9);
    }

    #[test]
    fn whoever_is_always_right_is_exact() {
        let mut tally = Tally::default();
        tally.note(Some(12.0), 12.000_001);
        assert!(tally.calibration("oracle", "seconds").is_exact());
        tally.note(Some(12.0), 13.0);
        assert!(!tally.calibration("oracle", "seconds").is_exact());
    }
}
