//! What became of nodes that a recipe may switch off: how many were used and how many were off, and
//! for how long.

use heeler_engine::{Engine, Power};

/// Adds up what nodes were used and which were off.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NodeTime {
    /// As it is now: nodes that there are, and that jobs are on.
    nodes: u32,
    used: u32,
    power: Power,
    /// Node-microseconds.
    pub(crate) nodes_us: f64,
    /// Of nodes that jobs were on.
    pub(crate) used_us: f64,
    /// Of nodes that were off.
    pub(crate) off_us: f64,
}

impl NodeTime {
    /// This is how it is from now on.
    pub(crate) fn note(&mut self, engine: &Engine, power: Power) {
        self.nodes = engine.state().fleet().cluster().nodes.len() as u32;
        self.used = engine.state().used_nodes();
        self.power = power;
    }

    /// It was so for a while.
    pub(crate) fn pass(&mut self, span_us: f64) {
        self.nodes_us += f64::from(self.nodes) * span_us;
        self.used_us += f64::from(self.used) * span_us;
        self.off_us += f64::from(self.power.off) * span_us;
    }

    /// How often a node was switched on.
    pub(crate) fn woken(&self) -> u64 {
        self.power.woken
    }
}
