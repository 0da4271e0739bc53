//! How nodes were used, where a recipe switches them off.

use crate::power::NodeTime;
use serde::{Deserialize, Serialize};

/// How nodes were used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeFigures {
    /// Part of the nodes that jobs were on.
    pub used: f64,
    /// Part of the nodes that jobs were on, of those that were not switched off.
    pub used_of_on: f64,
    /// Time of nodes that were switched off, hours.
    pub off_hours: f64,
    /// How often a node was switched on.
    pub woken: u64,
}

impl NodeFigures {
    pub(super) fn of(time: &NodeTime) -> NodeFigures {
        NodeFigures {
            used: time.used_us / time.nodes_us.max(1.0),
            used_of_on: time.used_us / (time.nodes_us - time.off_us).max(1.0),
            off_hours: time.off_us / 3.6e9,
            woken: time.woken(),
        }
    }
}
