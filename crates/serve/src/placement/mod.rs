//! Which models share which GPUs, after AlpaServe (OSDI 2023): groups of GPUs, each a pipeline of
//! as many stages, with replicas of several models on each. A plan is tried by simulating it, which
//! is a pure function that others may use for plans of their own.

mod place;
mod simulate;
#[cfg(test)]
mod tests;

pub use place::{greedy, replicate, round_robin, search};
pub use simulate::{Outcome, simulate};

use crate::arrivals::{Traffic, TrafficCard};
use serde::{Deserialize, Serialize};

/// What there is to place, and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Setup {
    /// GPUs in all.
    pub gpus: u32,
    /// Memory of each.
    pub memory_mb: u64,
    /// The models.
    pub models: Vec<Model>,
    /// Milliseconds that every answer takes besides, without keeping a GPU busy.
    #[serde(default)]
    pub overhead_ms: f64,
    /// By which part every stage is slower for each stage that there is.
    #[serde(default)]
    pub slower_per_stage: f64,
}

/// A model that can be placed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Model {
    /// An answer after more than this many milliseconds is late.
    pub target_ms: f64,
    /// How it can be cut into stages.
    pub cuts: Vec<Cut>,
}

/// A model cut into stages, one to a GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Cut {
    /// Milliseconds of each stage.
    pub stages_ms: Vec<f64>,
    /// Memory of the largest stage.
    pub memory_mb: u64,
}

impl Model {
    /// How it is cut into so many stages, if it can be.
    fn cut(&self, stages: u32) -> Option<&Cut> {
        self.cuts.iter().find(|cut| cut.stages_ms.len() == stages as usize)
    }
}

/// Groups of GPUs and the models on each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The groups.
    pub groups: Vec<Group>,
}

/// Some GPUs that work as one pipeline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// How many: each is a stage.
    pub gpus: u32,
    /// Models that have a replica here, by their number.
    pub models: Vec<u32>,
}

impl Plan {
    /// Groups of so many GPUs each, as many as there is room for, and smaller ones by powers of two
    /// from what is left over; all without models.
    pub fn empty(gpus: u32, group_gpus: u32) -> Plan {
        let mut sizes = vec![group_gpus; (gpus / group_gpus) as usize];
        let left = gpus % group_gpus;
        sizes.extend((0..32).rev().map(|bit| left & (1 << bit)).filter(|size| *size > 0));
        let group = |gpus| Group { gpus, models: Vec::new() };
        Plan { groups: sizes.into_iter().map(group).collect() }
    }

    /// How many replicas there are of all models.
    pub fn replicas(&self) -> usize {
        self.groups.iter().map(|group| group.models.len()).sum()
    }
}

/// A request to one of several models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Call {
    /// When.
    pub at_ns: u64,
    /// To which, by its number.
    pub model: u32,
}

/// The requests to several models until a moment, in order of time. Those to one model depend on
/// its own traffic, the seed and its number alone.
pub fn calls(traffic: &[TrafficCard], seed: u64, until_ns: u64) -> Vec<Call> {
    let mut calls = Vec::new();
    for (model, card) in traffic.iter().enumerate() {
        let requests = Traffic::new(card, seed, model as u64, 0, until_ns);
        calls.extend(requests.map(|r| Call { at_ns: r.at_ns, model: model as u32 }));
    }
    calls.sort_unstable();
    calls
}
