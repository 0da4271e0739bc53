//! What a running job says of itself. Everything in it was measured by the job, so a policy may
//! look at all of it.

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
    /// How good it is by now, larger being better.
    Score {
        /// After how many iterations.
        iteration: u32,
        /// How good.
        value: f64,
    },
    /// How busy a served model is, since it last said so.
    Load {
        /// Requests that came.
        arrived: u64,
        /// Requests that were answered too late or not at all.
        late: u64,
        /// Requests that wait now.
        waiting: u64,
        /// Thousandths of the time its replicas were busy.
        busy_milli: u32,
    },
}
