//! Nodes break and are repaired, each with a random stream of its own.

use heeler_engine::stream;
use heeler_model::{NodeId, Span, Time};
use rand::RngExt;
use serde::{Deserialize, Serialize};

/// How often nodes break and how long repairs take. Both are exponentially distributed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Failures {
    /// Mean time from a repair to the next failure of one node, hours.
    pub mean_between_h: f64,
    /// Mean time to repair a node, hours.
    pub mean_repair_h: f64,
}

impl Failures {
    /// How long a node that came up at `at` holds.
    pub fn holds(&self, seed: u64, node: NodeId, at: Time) -> Span {
        exponential(seed, &format!("world/break/{node}"), at, self.mean_between_h)
    }

    /// How long the repair of a node takes that broke at `at`.
    pub fn repair(&self, seed: u64, node: NodeId, at: Time) -> Span {
        exponential(seed, &format!("world/repair/{node}"), at, self.mean_repair_h)
    }
}

fn exponential(seed: u64, name: &str, at: Time, mean_h: f64) -> Span {
    let uniform: f64 = stream(seed, at, name).random();
    Span::from_secs_f64(-(1.0 - uniform).ln() * mean_h * 3600.0).max(Span::from_micros(1))
}
