//! How a model that answers in batches is written down.

use crate::card::Mistake;
use crate::ms_to_ns;
use serde::{Deserialize, Serialize};

/// A model that answers requests in batches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct BatchCard {
    /// An answer after more than this many milliseconds is late.
    pub target_ms: f64,
    /// How long a batch takes.
    pub latency: LatencyCard,
    /// How much that varies: the coefficient of variation of a log-normal factor of mean one.
    #[serde(default)]
    pub noise_cv: f64,
    /// How large batches may be.
    #[serde(default)]
    pub batcher: BatcherCard,
    /// Milliseconds that a batch which is not full waits for more requests.
    #[serde(default)]
    pub delay_ms: f64,
    /// Which replica a request goes to.
    #[serde(default)]
    pub router: RouterCard,
    /// Turn requests away on arrival if they would be late by what is known then.
    #[serde(default)]
    pub admit: bool,
    /// Drop requests that are late already when their batch is put together.
    #[serde(default)]
    pub expire: bool,
    /// Answers that are kept for equal questions; zero is no cache.
    #[serde(default)]
    pub cache: u32,
}

/// How long a batch takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum LatencyCard {
    /// A fixed part and one for each request.
    #[serde(rename_all = "kebab-case")]
    Linear {
        /// Milliseconds for any batch.
        fixed_ms: f64,
        /// Milliseconds for each request in it.
        per_request_ms: f64,
    },
    /// Milliseconds of batches of one, two, three …; larger ones go on as the last two do.
    TableMs(Vec<f64>),
}

/// How large batches may be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum BatcherCard {
    /// Up to so many requests.
    Fixed(u32),
    /// As many as the target allows, found by trying (Clipper, NSDI 2017): one more after a full
    /// batch in time, a tenth less after one that was not.
    #[serde(rename_all = "kebab-case")]
    Aimd {
        /// Milliseconds that a batch may take.
        batch_target_ms: f64,
        /// How many more requests after a full batch in time.
        #[serde(default = "one")]
        add: f64,
        /// By which part it is cut after a batch that took too long.
        #[serde(default = "tenth")]
        back_off: f64,
        /// Never more than this.
        #[serde(default = "many")]
        most: u32,
    },
}

fn one() -> f64 {
    1.0
}

fn tenth() -> f64 {
    0.1
}

fn many() -> u32 {
    4_096
}

impl Default for BatcherCard {
    fn default() -> BatcherCard {
        BatcherCard::Fixed(1)
    }
}

/// Which replica a request goes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RouterCard {
    /// The one that would be free first.
    #[default]
    LeastClock,
    /// The one with the fewest requests, waiting or running.
    ShortestQueue,
    /// The one with fewer requests of two drawn at random.
    TwoChoices,
}

impl BatchCard {
    pub(crate) fn check(&self) -> Result<(), Mistake> {
        let finite = |value: f64| value.is_finite() && value >= 0.0;
        let target = finite(self.target_ms) && self.target_ms > 0.0;
        Mistake::unless(target, "target-ms", "milliseconds above zero")?;
        Mistake::unless(finite(self.delay_ms), "delay-ms", "milliseconds, not negative")?;
        let noise = (0.0..=10.0).contains(&self.noise_cv);
        Mistake::unless(noise, "noise-cv", "a number from 0 to 10")?;
        match &self.latency {
            LatencyCard::Linear { fixed_ms, per_request_ms } => {
                let right = finite(*fixed_ms) && finite(*per_request_ms);
                Mistake::unless(right, "latency.linear", "milliseconds, not negative")?;
            }
            LatencyCard::TableMs(table) => {
                let right = !table.is_empty() && table.iter().all(|ms| finite(*ms));
                Mistake::unless(right, "latency.table-ms", "one or more milliseconds")?;
            }
        }
        match self.batcher {
            BatcherCard::Fixed(cap) => Mistake::unless(cap > 0, "batcher.fixed", "one or more"),
            BatcherCard::Aimd { batch_target_ms, add, back_off, most } => {
                let sensible = finite(batch_target_ms) && finite(add) && add > 0.0 && most > 0;
                let expected = "a target, an addend above zero and at least one request";
                Mistake::unless(sensible, "batcher.aimd", expected)?;
                let part = back_off > 0.0 && back_off < 1.0;
                Mistake::unless(part, "batcher.aimd.back-off", "a part between 0 and 1")
            }
        }
    }
}

impl LatencyCard {
    /// Nanoseconds of a batch of this size.
    pub(super) fn of(&self, size: u32) -> u64 {
        match self {
            LatencyCard::Linear { fixed_ms, per_request_ms } => {
                ms_to_ns(fixed_ms + per_request_ms * f64::from(size))
            }
            LatencyCard::TableMs(table) => {
                let index = size.max(1) as usize - 1;
                let last = table.len() - 1;
                let slope = if last > 0 { (table[last] - table[last - 1]).max(0.0) } else { 0.0 };
                let beyond = index.saturating_sub(last) as f64;
                ms_to_ns(table[index.min(last)] + slope * beyond)
            }
        }
    }
}
