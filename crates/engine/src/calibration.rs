//! How well a predictor has done: what it said beside what was seen. Data, so that a run can show
//! it and a recipe can be judged with its predictor.

use serde::{Deserialize, Serialize};

/// What a predictor said beside what was seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Which predictor.
    pub predictor: String,
    /// What it predicts, and in which unit.
    pub of: String,
    /// How often it said something that was then seen.
    pub seen: u64,
    /// How often something was seen of which it had said nothing.
    pub unknown: u64,
    /// Predicted ÷ seen: a tenth of the time it was at most this, …
    pub ratio_p10: f64,
    /// … half of the time, …
    pub ratio_p50: f64,
    /// … and nine tenths of the time.
    pub ratio_p90: f64,
    /// Part of what was seen that was between half of what was predicted and twice that.
    pub within_double: f64,
    /// The factor by which it is wrong on average, one being right: the geometric mean of the
    /// larger of predicted and seen over the smaller.
    pub factor: f64,
    /// Where a predictor says itself how far it may be off: the part of what was seen that lay
    /// within the interval that it stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_stated: Option<f64>,
    /// By what was predicted, a band for each factor of ten.
    pub bands: Vec<Band>,
}

/// Predictions of about the same size, and what was seen then.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Band {
    /// How many.
    pub seen: u64,
    /// What was predicted, as a geometric mean.
    pub predicted: f64,
    /// What was seen, as a geometric mean.
    pub was: f64,
}

impl Calibration {
    /// Whether it was always right.
    pub fn is_exact(&self) -> bool {
        self.unknown == 0 && self.factor <= 1.0
    }
}
