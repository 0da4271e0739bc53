//! Finding nodes: the questions that placements ask of the indexes.

use super::{Fleet, Grip, times};
use heeler_model::{KindId, KindSet, NodeId, Placement, RackId, Slots};
use std::collections::BTreeMap;

/// Which of the nodes that fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// The first in the order of the cluster file.
    First,
    /// The one with the fewest unused GPUs; ties go to the first.
    Tightest,
    /// The one with the most unused GPUs; ties go to the first.
    Loosest,
}

impl Fleet {
    /// How many more GPUs of this grip a node can serve now.
    pub fn room(&self, node: NodeId, grip: Grip) -> u32 {
        let free = &self.nodes[node.index()];
        if !free.up || grip.gpu_memory_mb > self.memory_of(self.kind_of(node)) {
            return 0;
        }
        self.beside(node, grip).min(free.slots.count())
    }

    /// How many GPUs of this grip the CPUs and the memory of a node can still serve.
    pub fn beside(&self, node: NodeId, grip: Grip) -> u32 {
        let free = &self.nodes[node.index()];
        times(free.cpu_milli, grip.cpu_milli).min(times(free.memory_mb, grip.memory_mb))
    }

    /// Unused slots of a node.
    pub fn unused(&self, node: NodeId) -> Slots {
        self.nodes[node.index()].slots
    }

    /// A node of a kind with room for so many GPUs.
    pub fn node_with(&self, kind: KindId, need: u32, grip: Grip, pick: Pick) -> Option<NodeId> {
        let buckets = &self.kinds[kind.index()].by_free;
        let from = (need as usize).min(buckets.len());
        let mut fitting = buckets[from..].iter().filter_map(|bucket| {
            bucket.iter().map(|index| NodeId(index as u32)).find(|n| self.room(*n, grip) >= need)
        });
        match pick {
            Pick::First => fitting.min(),
            Pick::Tightest => fitting.next(),
            Pick::Loosest => fitting.next_back(),
        }
    }

    /// A node of a kind with CPUs and memory for a job without GPUs.
    pub fn node_beside(&self, kind: KindId, grip: Grip, pick: Pick) -> Option<NodeId> {
        let mut fitting = self.kinds[kind.index()].by_free.iter().filter_map(|bucket| {
            bucket.iter().map(|index| NodeId(index as u32)).find(|n| self.beside(*n, grip) >= 1)
        });
        match pick {
            Pick::First => fitting.min(),
            Pick::Tightest => fitting.next(),
            Pick::Loosest => fitting.next_back(),
        }
    }

    /// The most GPUs of this grip that one node of a kind can serve now.
    pub fn most_together(&self, kind: KindId, grip: Grip) -> u32 {
        let buckets = &self.kinds[kind.index()].by_free;
        let mut best = 0;
        for (count, bucket) in buckets.iter().enumerate().rev() {
            if count as u32 <= best {
                break;
            }
            let rooms = bucket.iter().map(|index| self.room(NodeId(index as u32), grip));
            // CPUs and memory are rarely what binds: the first node usually answers.
            for room in rooms {
                best = best.max(room);
                if best >= count as u32 {
                    break;
                }
            }
        }
        best
    }

    /// Nodes of a kind without any claim on their GPUs, in order, in one rack or all.
    pub fn idle_nodes(&self, kind: KindId, rack: Option<RackId>) -> impl Iterator<Item = NodeId> {
        let racks = &self.kinds[kind.index()].idle;
        let range = match rack {
            Some(rack) => rack.index()..rack.index() + 1,
            None => 0..racks.len(),
        };
        racks[range].iter().flat_map(|set| set.iter().map(|index| NodeId(index as u32)))
    }

    /// How many nodes of a kind in a rack are without any claim on their GPUs.
    pub fn idle_count(&self, kind: KindId, rack: RackId) -> usize {
        self.kinds[kind.index()].idle[rack.index()].len()
    }

    /// Nodes of a kind with at least one unused GPU, in order.
    pub fn nodes_with_any(&self, kind: KindId) -> impl Iterator<Item = NodeId> {
        let buckets = &self.kinds[kind.index()].by_free;
        let mut next = 0;
        std::iter::from_fn(move || {
            let found = buckets.iter().skip(1).filter_map(|b| b.at_or_after(next)).min()?;
            next = found + 1;
            Some(NodeId(found as u32))
        })
    }

    /// Nodes of a kind, those with most unused GPUs first, then in order.
    pub fn nodes_by_most_unused(&self, kind: KindId) -> impl Iterator<Item = NodeId> {
        let buckets = self.kinds[kind.index()].by_free.iter().skip(1).rev();
        buckets.flat_map(|bucket| bucket.iter().map(|index| NodeId(index as u32)))
    }

    /// Nodes of a kind with at least so many unused GPUs, the fullest first, then in order.
    pub fn nodes_by_least_unused(
        &self,
        kind: KindId,
        at_least: u32,
    ) -> impl Iterator<Item = NodeId> {
        let buckets = self.kinds[kind.index()].by_free.iter().skip(at_least as usize);
        buckets.flat_map(|bucket| bucket.iter().map(|index| NodeId(index as u32)))
    }

    /// Which unused slots of a node to take: joined by NVLink if possible, out of the group that
    /// has the fewest to spare, so that larger groups stay whole.
    pub fn slots_for(&self, node: NodeId, count: u32) -> Slots {
        let unused = self.unused(node);
        let spec = &self.cluster.nodes[node.index()];
        if spec.link_group == 0 || spec.link_group >= spec.gpus {
            return unused.lowest(count);
        }
        let starts = (0..spec.gpus).step_by(spec.link_group as usize);
        let groups = starts.map(|start| unused.and(spec.linked_with(start)));
        let enough = groups.filter(|group| group.count() >= count);
        enough.min_by_key(|group| group.count()).unwrap_or(unused).lowest(count)
    }

    /// A partly used GPU of a kind with room for a share: the fullest, or the first by node.
    pub fn shared_with(&self, kind: KindId, grip: Grip, pick: Pick) -> Option<(NodeId, u32)> {
        let fits = |(node, slot): &(NodeId, u32)| {
            let gpu = self.shares.get(*node, *slot);
            gpu.is_some_and(|gpu| gpu.memory_mb >= grip.gpu_memory_mb)
                && self.beside(*node, grip) >= 1
        };
        let mut sets = self.shares.with_left(kind, grip.share);
        match pick {
            Pick::First => sets.filter_map(|mut set| set.find(fits)).min(),
            Pick::Tightest => sets.find_map(|mut set| set.find(fits)),
            Pick::Loosest => sets.rev().find_map(|set| set.filter(fits).last()),
        }
    }

    /// Partly used GPUs of a kind with room for this share of each, by node.
    pub fn joinable(&self, kind: KindId, grip: Grip) -> BTreeMap<NodeId, Slots> {
        let mut found: BTreeMap<NodeId, Slots> = BTreeMap::new();
        for (node, slot) in self.shares.with_left(kind, grip.share).flatten() {
            let gpu = self.shares.get(node, slot);
            if gpu.is_some_and(|gpu| gpu.memory_mb >= grip.gpu_memory_mb) {
                let slots = found.entry(node).or_default();
                *slots = slots.or(Slots::one(slot));
            }
        }
        found
    }

    /// How many GPUs of these kinds could serve this grip if only GPUs mattered: those that nobody
    /// uses, and for parts of GPUs those with room for one more.
    pub fn could_serve(&self, kinds: KindSet, grip: Grip) -> u32 {
        let unused = self.free_of(kinds);
        if grip.share.is_whole() {
            return unused;
        }
        let kinds = kinds.iter(self.kinds.len());
        let joinable = kinds.flat_map(|kind| self.joinable(kind, grip).into_values());
        unused + joinable.map(Slots::count).sum::<u32>()
    }

    /// What is left of one GPU, in thousandths.
    pub fn left_of(&self, node: NodeId, slot: u32) -> u32 {
        match self.shares.get(node, slot) {
            Some(gpu) => gpu.free,
            None if self.unused(node).contains(slot) => 1000,
            None => 0,
        }
    }

    /// What is left of one GPU's memory, MB.
    pub fn gpu_memory_left(&self, node: NodeId, slot: u32) -> i64 {
        match self.shares.get(node, slot) {
            Some(gpu) => i64::from(gpu.memory_mb),
            None => i64::from(self.memory_of(self.kind_of(node))),
        }
    }

    /// Whether a node still has these CPUs and this memory in all.
    pub fn offers(&self, node: NodeId, grip: Grip) -> bool {
        let free = &self.nodes[node.index()];
        free.cpu_milli >= u64::from(grip.cpu_milli) && free.memory_mb >= u64::from(grip.memory_mb)
    }

    /// Whether a placement could be claimed as it is.
    pub fn has_room_for(&self, placement: &Placement, grip: Grip) -> bool {
        placement.slices().iter().all(|slice| {
            let count = slice.slots.count();
            let slots = match grip.share.is_whole() {
                true => self.unused(slice.node).and(slice.slots) == slice.slots,
                false => slice.slots.iter().all(|slot| {
                    self.left_of(slice.node, slot) >= grip.share.0
                        && self.gpu_memory_left(slice.node, slot) >= i64::from(grip.gpu_memory_mb)
                }),
            };
            slots && self.is_up(slice.node) && self.beside(slice.node, grip) >= count.max(1)
        })
    }
}
