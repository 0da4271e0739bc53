//! The words of queues with a Gittins index inside.

use crate::quantity::GpuTime;
use heeler_parts::order::{Equals, Gittins, LastQueue, Served};
use serde::{Deserialize, Serialize};

/// Gittins index over attained service.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct GittinsCard {
    /// Service at which a job leaves each queue but the last.
    pub limits: Vec<GpuTime>,
    /// What counts as service.
    #[serde(default)]
    pub served: Served,
    /// How far ahead the index looks; as far as is best, if not given.
    #[serde(default)]
    pub horizon: Option<GpuTime>,
    /// Services of past jobs to start from.
    #[serde(default)]
    pub sample: Vec<GpuTime>,
    /// Whether those of jobs that finish are added.
    #[serde(default = "learns")]
    pub learn: bool,
    /// Who goes first among equals.
    #[serde(default)]
    pub within: Equals,
    /// Who goes first in the last queue.
    #[serde(default)]
    pub last: LastQueue,
}

fn learns() -> bool {
    true
}

impl GittinsCard {
    pub(crate) fn build(&self) -> Gittins {
        let limits = self.limits.iter().map(|limit| limit.0).collect();
        let sample = self.sample.iter().map(|value| value.0.micros()).collect();
        let horizon = self.horizon.map(|horizon| horizon.0);
        Gittins::new(limits, self.served, horizon, sample)
            .with(self.within, self.last)
            .learning(self.learn)
    }
}
