//! GPUs that are used in part, by several jobs or by one that asked for less than all of it. What
//! is left of each stands at a place of its own, so that a claim finds it without a search.

use super::{Grip, NodeSet};
use heeler_model::{Cluster, KindId, Milli, NodeId};

/// A GPU that is used in part.
#[derive(Clone, Copy, Debug)]
pub(super) struct SharedGpu {
    /// Thousandths that are left.
    pub free: u32,
    /// Memory that is left.
    pub memory_mb: u32,
    /// How many jobs are on it. Without any it is not shared, and the rest means nothing.
    claims: u32,
}

/// All of them.
#[derive(Clone, Debug)]
pub(super) struct Shares {
    /// GPUs of the largest node.
    most: usize,
    /// By node and slot.
    gpus: Vec<SharedGpu>,
    /// Of each kind, by thousandths that are left, those on nodes that are up with something left.
    /// They are few: parts are a half, a third and so on.
    partial: Vec<Vec<(u32, NodeSet)>>,
}

impl Shares {
    /// Nobody shares anything yet.
    pub(super) fn new(cluster: &Cluster) -> Shares {
        let most = cluster.nodes.iter().map(|node| node.gpus).max().unwrap_or(0) as usize;
        let unused = SharedGpu { free: 0, memory_mb: 0, claims: 0 };
        let gpus = vec![unused; cluster.nodes.len() * most];
        Shares { most, gpus, partial: vec![Vec::new(); cluster.kinds.len()] }
    }

    fn place(&self, node: NodeId, slot: u32) -> usize {
        node.index() * self.most + slot as usize
    }

    /// What is left of a GPU that is used in part.
    pub(super) fn get(&self, node: NodeId, slot: u32) -> Option<&SharedGpu> {
        self.gpus.get(self.place(node, slot)).filter(|gpu| gpu.claims > 0)
    }

    /// Take a part of a GPU with so much memory. Says whether nobody else is on it.
    pub(super) fn claim(
        &mut self,
        (node, slot): (NodeId, u32),
        grip: Grip,
        memory_mb: u32,
        kind: Option<KindId>,
    ) -> bool {
        let place = self.place(node, slot);
        let gpu = &mut self.gpus[place];
        if gpu.claims == 0 {
            *gpu = SharedGpu { free: Milli::WHOLE.0, memory_mb, claims: 0 };
        }
        let before = if gpu.claims == 0 { 0 } else { gpu.free };
        gpu.free -= grip.share.0;
        gpu.memory_mb -= grip.gpu_memory_mb;
        gpu.claims += 1;
        let (first, after) = (gpu.claims == 1, gpu.free);
        self.moves(place, kind, before, after);
        first
    }

    /// Give it back. Says whether nobody is left.
    pub(super) fn release(
        &mut self,
        (node, slot): (NodeId, u32),
        grip: Grip,
        kind: Option<KindId>,
    ) -> bool {
        let place = self.place(node, slot);
        let gpu = &mut self.gpus[place];
        debug_assert!(gpu.claims > 0, "a claimed share is known");
        let before = gpu.free;
        gpu.free += grip.share.0;
        gpu.memory_mb += grip.gpu_memory_mb;
        gpu.claims -= 1;
        let last = gpu.claims == 0;
        let after = if last { 0 } else { gpu.free };
        self.moves(place, kind, before, after);
        last
    }

    /// More or less is left of a GPU; its kind is known if its node is up.
    fn moves(&mut self, place: usize, kind: Option<KindId>, before: u32, after: u32) {
        let Some(kind) = kind else { return };
        let (size, partial) = (self.gpus.len(), &mut self.partial[kind.index()]);
        let at = |partial: &[(u32, NodeSet)], left: u32| {
            partial.binary_search_by_key(&left, |(known, _)| *known)
        };
        if before > 0 {
            let at = at(partial, before).expect("what is left was noted");
            partial[at].1.remove(place);
        }
        if after > 0 {
            let at = at(partial, after).unwrap_or_else(|at| {
                partial.insert(at, (after, NodeSet::new(size)));
                at
            });
            partial[at].1.insert(place);
        }
    }

    /// A node comes or goes.
    pub(super) fn set_up(&mut self, node: NodeId, kind: KindId, up: bool) {
        for slot in 0..self.most as u32 {
            let left = self.get(node, slot).map_or(0, |gpu| gpu.free);
            let (before, after) = if up { (0, left) } else { (left, 0) };
            self.moves(self.place(node, slot), Some(kind), before, after);
        }
    }

    /// GPUs of a kind of which as much as this is left, by how much, for each in order.
    pub(super) fn with_left(
        &self,
        kind: KindId,
        share: Milli,
    ) -> impl DoubleEndedIterator<Item = impl Iterator<Item = (NodeId, u32)>> {
        let most = self.most;
        let gpu = move |place: usize| (NodeId((place / most) as u32), (place % most) as u32);
        let partial = &self.partial[kind.index()];
        let enough = partial.partition_point(|(left, _)| *left < share.0);
        partial[enough..].iter().map(move |(_, set)| set.iter().map(gpu))
    }
}
