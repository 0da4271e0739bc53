//! Close together at first, and further apart the longer it waits: all of a job on one node, after
//! some time in one rack, after some more anywhere. Waiting a little for locality often gets it
//! (delay scheduling, Zaharia et al., EuroSys 2010). It asks for no more than could ever be:
//! a job that is larger than a node begins with a rack. What a job insists on itself is never
//! relaxed.

use heeler_engine::{Allocate, Job, View, Want, Wants};
use heeler_model::{RackId, Reach, Span};
use smallvec::smallvec;
use std::collections::BTreeMap;

/// Close together at first.
#[derive(Clone, Copy, Debug)]
pub struct Ladder {
    /// For how long a job insists on one node.
    pub node: Span,
    /// For how long it insists on one rack after that.
    pub rack: Span,
}

impl Ladder {
    /// The times after which a waiting job is content with less.
    pub fn rungs(&self) -> [Span; 2] {
        [self.node, self.node + self.rack]
    }

    /// How near to each other its GPUs must be by now. What could never be had, by the number of
    /// GPUs, is not waited for.
    fn reach(&self, job: &Job, view: &View) -> Reach {
        let waited = view.now().since(job.since);
        let (cluster, demand) = (view.cluster(), &job.spec.demand);
        let nodes = || cluster.nodes.iter().filter(|node| demand.kinds.contains(node.kind));
        let on_node = || nodes().any(|node| node.gpus >= demand.asked());
        let in_rack = || {
            let mut racks: BTreeMap<RackId, u32> = BTreeMap::new();
            nodes().for_each(|node| *racks.entry(node.rack).or_default() += node.gpus);
            racks.values().any(|gpus| *gpus >= demand.asked())
        };
        if waited < self.node && on_node() {
            Reach::Node
        } else if waited < self.node + self.rack && in_rack() {
            Reach::Rack
        } else {
            Reach::Cluster
        }
    }
}

impl Allocate for Ladder {
    fn wants(&self, job: &Job, view: &View) -> Wants {
        let mut want = Want::as_asked(job);
        want.demand.reach = want.demand.reach.max(self.reach(job, view));
        smallvec![want]
    }

    fn fork(&self) -> Box<dyn Allocate> {
        Box::new(*self)
    }
}
