//! Nodes: which are used, and some of them out of sight, to see what a plan would be like if they
//! were not there.

use super::State;
use heeler_model::{NodeId, Placement};

/// Some nodes are out of sight as long as this is kept.
#[must_use = "the nodes are back as soon as this is dropped"]
#[derive(Debug)]
pub struct Hidden<'a> {
    state: &'a State,
    nodes: Vec<NodeId>,
}

impl State {
    /// Take nodes out of sight, of whoever looks at what is free, until the answer is dropped. It
    /// may not be asked while somebody looks.
    pub fn hide(&self, nodes: impl IntoIterator<Item = NodeId>) -> Hidden<'_> {
        let mut fleet = self.fleet.borrow_mut();
        let nodes = nodes.into_iter().filter(|node| fleet.is_up(*node)).collect::<Vec<_>>();
        nodes.iter().for_each(|node| fleet.set_up(*node, false));
        Hidden { state: self, nodes }
    }
}

impl State {
    /// Whether jobs are on a node, are promised some of it, or are being cleared from it.
    pub fn is_used(&self, node: NodeId) -> bool {
        let slots = || self.fleet().cluster().nodes[node.index()].slots();
        !self.on_node(node).is_empty() || !self.is_clear(&Placement::on(node, slots()))
    }

    /// How many nodes are used.
    pub fn used_nodes(&self) -> u32 {
        let nodes = (0..self.on_node.len()).map(|index| NodeId(index as u32));
        nodes.filter(|node| self.is_used(*node)).count() as u32
    }
}

impl Drop for Hidden<'_> {
    fn drop(&mut self) {
        let mut fleet = self.state.fleet.borrow_mut();
        self.nodes.iter().for_each(|node| fleet.set_up(*node, true));
    }
}
