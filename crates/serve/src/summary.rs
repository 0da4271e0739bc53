//! What a cell says of itself: counts and spreads since it was last asked.

use crate::Histogram;
use serde::{Deserialize, Serialize};

/// What happened in a cell since the last look, and how it stands now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Summary {
    /// Since when.
    pub from_ns: u64,
    /// Until when.
    pub to_ns: u64,
    /// Requests that came.
    pub arrived: u64,
    /// Requests answered, late or not, from the cache or not. A recurrence counts a request when it
    /// is accepted, since its end is known then; all others count it when it ends.
    pub answered: u64,
    /// Requests answered later than the target; of an LLM those that missed either target.
    pub late: u64,
    /// Requests turned away on arrival, since they would have been late.
    pub rejected: u64,
    /// Requests dropped in the queue because their time was over.
    pub expired: u64,
    /// Requests answered from the cache.
    pub cache_hits: u64,
    /// Requests answered together with an equal one that was already under way.
    pub merged: u64,
    /// Requests that began anew: their replica was lost, or its memory ran out.
    pub restarted: u64,
    /// Time that replicas were at work, summed over them.
    pub busy_ns: u64,
    /// Time that replicas were there, serving, loading or draining, summed over them.
    pub held_ns: u64,
    /// Prompt tokens read.
    pub prompt_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Sizes of batches; of an LLM the prompts taken in by each prefill.
    pub batch_sizes: Histogram,
    /// From arrival to answer, in nanoseconds.
    pub latency: Histogram,
    /// From arrival to the first token, in nanoseconds. Only LLMs have tokens.
    pub first_token: Histogram,
    /// Mean time between the tokens of a request, in nanoseconds.
    pub per_token: Histogram,
    /// Requests waiting at the end.
    pub waiting: u64,
    /// Requests being answered at the end.
    pub running: u64,
}

impl Summary {
    /// Requests answered in time.
    pub fn good(&self) -> u64 {
        self.answered - self.late
    }

    /// Requests that were answered or turned away.
    pub fn decided(&self) -> u64 {
        self.answered + self.rejected + self.expired
    }

    /// The part of the requests that was answered in time; those that nobody answered were not.
    /// Some of those that were answered may have come before. One if there were none.
    pub fn in_time(&self) -> f64 {
        match self.decided().max(self.arrived) {
            0 => 1.0,
            all => self.good() as f64 / all as f64,
        }
    }

    /// Add what came after: counts and spreads add up, and the state at the end is the later one.
    pub fn then(&mut self, later: &Summary) {
        self.to_ns = later.to_ns;
        self.arrived += later.arrived;
        self.answered += later.answered;
        self.late += later.late;
        self.rejected += later.rejected;
        self.expired += later.expired;
        self.cache_hits += later.cache_hits;
        self.merged += later.merged;
        self.restarted += later.restarted;
        self.busy_ns += later.busy_ns;
        self.held_ns += later.held_ns;
        self.prompt_tokens += later.prompt_tokens;
        self.output_tokens += later.output_tokens;
        self.batch_sizes.merge(&later.batch_sizes);
        self.latency.merge(&later.latency);
        self.first_token.merge(&later.first_token);
        self.per_token.merge(&later.per_token);
        self.waiting = later.waiting;
        self.running = later.running;
    }
}
