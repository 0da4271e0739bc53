//! Answers about what holds a job back and what is to come: why, when, what if. Questions are made
//! of the live state in a moment, by copying what they need, and answered without it: a [`Scene`]
//! shares nothing with the server's loop. Nothing here is journaled or changes a decision.

mod effort;
mod estimates;
mod future;
mod lengths;
mod names;
mod whatif;
mod when;
mod why;

pub use estimates::{Estimates, EstimatesError};
pub use lengths::{Hint, Past, Ran};
pub use names::Names;
pub use whatif::{Elsewise, whatif};
pub use when::{Newcomer, test_only, when};
pub use why::why;

use heeler_engine::Engine;
use heeler_model::{JobId, Time};
use heeler_sim::world::Costs;
use std::collections::BTreeMap;

/// The live state at one moment, as far as forecasts need it.
pub struct Scene {
    /// A copy of the engine.
    pub engine: Engine,
    /// Seconds since 1970 at time zero.
    pub epoch: u64,
    /// Where chance begins: the same for the same state, so that an answer can be had again.
    pub seed: u64,
    /// What is known of jobs that are not over, beside what the engine knows.
    pub hints: BTreeMap<JobId, Hint>,
    /// How long jobs ran.
    pub past: Past,
    /// What starting and stopping took, as it was measured.
    pub costs: Costs,
}

impl Scene {
    /// A copy of an engine of which nothing else is known.
    pub fn of(engine: Engine, epoch: u64) -> Scene {
        Scene {
            engine,
            epoch,
            seed: 0,
            hints: BTreeMap::new(),
            past: Past::default(),
            costs: Costs::default(),
        }
    }

    /// A time as people have it: seconds since 1970.
    pub fn seconds(&self, at: Time) -> f64 {
        self.epoch as f64 + at.secs_f64()
    }

    /// Now.
    pub fn now(&self) -> Time {
        self.engine.state().now()
    }
}
