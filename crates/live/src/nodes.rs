//! Nodes that are drained, lost, or back again. To the engine a node that is drained is down: it
//! gives nothing new there, and jobs that run there go on until the world says otherwise.

use crate::ask::Done;
use crate::live::Live;
use heeler_api::{Code, Problem, Who};
use heeler_backend::Order;
use heeler_model::{Event, NodeId};
use serde::{Deserialize, Serialize};

/// A node as people and the world left it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NodeState {
    /// Somebody lets nothing new start there.
    pub(crate) drained: bool,
    /// The world, or somebody, says that it is gone.
    pub(crate) down: bool,
    /// Why.
    pub(crate) note: Option<String>,
}

impl NodeState {
    /// Whether jobs may start there.
    pub(crate) fn is_open(&self) -> bool {
        !self.drained && !self.down
    }
}

impl Live {
    /// The node of a name.
    pub(crate) fn node_named(&self, name: &str) -> Result<NodeId, Problem> {
        let nodes = &self.inventory.cluster.nodes;
        let found = nodes.iter().position(|node| node.name == name);
        let names = nodes.iter().map(|node| node.name.as_str());
        found.map(|index| NodeId(index as u32)).ok_or_else(|| {
            let problem = Problem::new(Code::NotFound, format!("there is no node `{name}`"));
            crate::check::with_nearest(problem.at("node"), name, names)
        })
    }

    /// Change a node, and tell the engine if that opens or closes it.
    pub(crate) fn set_node(&mut self, node: NodeId, change: impl FnOnce(&mut NodeState)) {
        let Some(state) = self.nodes.get_mut(node.index()) else { return };
        let before = state.is_open();
        change(state);
        let after = state.is_open();
        if before && !after {
            self.tell(Event::NodeDown { node });
        } else if after && !before {
            self.tell(Event::NodeUp { node });
        }
    }

    pub(crate) fn drain(
        &mut self,
        who: &Who,
        name: &str,
        note: Option<String>,
    ) -> Result<Done, Problem> {
        let node = self.node_named(name)?;
        let detail = note.as_ref().map_or_else(|| name.into(), |note| format!("{name}: {note}"));
        self.set_node(node, |state| {
            state.drained = true;
            state.note = note;
        });
        self.note(who, "drain", detail);
        Ok(Done::Changed)
    }

    pub(crate) fn undrain(&mut self, who: &Who, name: &str) -> Result<Done, Problem> {
        let node = self.node_named(name)?;
        self.set_node(node, |state| *state = NodeState::default());
        self.note(who, "undrain", name.into());
        Ok(Done::Changed)
    }

    pub(crate) fn lose(&mut self, who: &Who, name: &str) -> Result<Done, Problem> {
        let node = self.node_named(name)?;
        self.set_node(node, |state| {
            state.down = true;
            state.note = Some("declared lost".into());
        });
        self.outbox.push(Order::Lose { node });
        self.note(who, "lose", name.into());
        Ok(Done::Changed)
    }

    /// The order to lose a node may have been lost with the server that gave it: as long as jobs
    /// have GPUs there, it is given again.
    pub(crate) fn lose_again(&mut self) {
        let placed = self.jobs.placed.iter().filter_map(|job| self.jobs.live(*job));
        let placements = placed.filter_map(|job| Some(&job.attempt.as_ref()?.assignment.placement));
        let mut nodes: Vec<NodeId> =
            placements.flat_map(|on| on.slices().iter().map(|slice| slice.node)).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes.retain(|node| self.nodes[node.index()].down);
        self.outbox.extend(nodes.into_iter().map(|node| Order::Lose { node }));
    }
}
