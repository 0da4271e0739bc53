//! What is seated on each node. Whoever looks for a seat looks at all of them.

use super::Load;
use heeler_model::{JobId, NodeId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What is seated on a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Bench {
    pub(super) jobs: BTreeSet<JobId>,
    pub(super) load: Load,
    /// The number of GPUs of the job that came first since it was last empty.
    pub(super) affinity: u32,
}

/// Benches by node. One on which nobody sits is as good as not there.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "BTreeMap<NodeId, Bench>", into = "BTreeMap<NodeId, Bench>")]
pub(super) struct Benches(Vec<Bench>);

impl Benches {
    /// The bench of a node, if anybody sits there.
    pub(super) fn get(&self, node: NodeId) -> Option<&Bench> {
        self.0.get(node.index()).filter(|bench| !bench.jobs.is_empty())
    }

    /// The bench of a node.
    pub(super) fn at(&mut self, node: NodeId) -> &mut Bench {
        if self.0.len() <= node.index() {
            self.0.resize_with(node.index() + 1, Bench::default);
        }
        &mut self.0[node.index()]
    }

    /// Those on which somebody sits, in the order of nodes.
    pub(super) fn iter(&self) -> impl Iterator<Item = (NodeId, &Bench)> {
        let all = self.0.iter().enumerate().map(|(index, bench)| (NodeId(index as u32), bench));
        all.filter(|(_, bench)| !bench.jobs.is_empty())
    }
}

impl PartialEq for Benches {
    fn eq(&self, other: &Benches) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Benches {}

impl From<BTreeMap<NodeId, Bench>> for Benches {
    fn from(by_node: BTreeMap<NodeId, Bench>) -> Benches {
        let mut benches = Benches::default();
        by_node.into_iter().for_each(|(node, bench)| *benches.at(node) = bench);
        benches
    }
}

impl From<Benches> for BTreeMap<NodeId, Bench> {
    fn from(benches: Benches) -> BTreeMap<NodeId, Bench> {
        benches.iter().map(|(node, bench)| (node, bench.clone())).collect()
    }
}
