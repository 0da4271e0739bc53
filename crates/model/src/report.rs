//! What running jobs and services say of themselves. Everything here was measured, so a policy may
//! look at all of it.

use crate::time::Span;
use serde::{Deserialize, Serialize};

/// Something a running job measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Report {
    /// How long a step took on the GPUs it has.
    Step {
        /// Over how many nodes.
        nodes: u32,
        /// On how many GPUs.
        replicas: u32,
        /// Samples of one pass on one GPU.
        batch: u32,
        /// Passes before the one after which gradients are exchanged.
        accumulation: u32,
        /// Seconds of one pass with its exchange.
        step_s: f64,
        /// Seconds of that spent on the exchange.
        exchange_s: f64,
    },
    /// How noisy its gradient is, relative to the batch it was submitted with.
    Noise {
        /// Square of the length of the expected gradient.
        square: f64,
        /// Trace of the gradient's covariance.
        variance: f64,
    },
    /// What it still gets wrong by now, smaller being better.
    Loss {
        /// How much.
        value: f64,
    },
    /// How good it is by now, larger being better.
    Score {
        /// After how many iterations.
        iteration: u32,
        /// How good.
        value: f64,
    },
    /// Where it is among its epochs, and how it counts and runs since it last changed its batch.
    Regime {
        /// Which of the regimes of its profile it is in, counted from zero.
        regime: u32,
        /// Epochs that are over.
        epochs: u32,
        /// Units of work per second now, as a multiple of what it was submitted with.
        pace: f64,
        /// Units of all its work now, as a multiple of what it was submitted with: whoever counts
        /// steps has fewer of them with a larger batch.
        work: f64,
    },
}

/// How busy a service is, since it was last looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// How long ago that was.
    pub span: Span,
    /// Requests that came.
    pub arrived: u64,
    /// Requests that were answered too late or not at all.
    pub late: u64,
    /// Requests that wait now.
    pub waiting: u64,
    /// Replicas that serve now.
    pub replicas: u32,
    /// Replicas that were busy, in the mean, thousandths.
    pub busy_milli: u32,
}
