//! What is free: GPUs by node and kind, CPUs, memory and fractions of GPUs, with the indexes that
//! let a placement find a node without looking at all of them.

mod beside;
mod draft;
mod grip;
mod nodeset;
mod search;
mod shares;

pub use beside::Beside;
pub use draft::{Draft, Savepoint};
pub use grip::Grip;
pub use nodeset::NodeSet;
pub use search::Pick;

use heeler_model::{
    Cluster, Demand, GPUS_PER_NODE_MAX, KindId, KindSet, Node, NodeId, Placement, RackId, Reach,
    Reason, Slice, Slots,
};
use shares::Shares;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What is left of one node.
#[derive(Clone, Debug)]
struct NodeFree {
    up: bool,
    /// GPUs that nobody uses.
    slots: Slots,
    cpu_milli: u64,
    memory_mb: u64,
}

/// What a node is like when it is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct NodeSort {
    gpus: u32,
    cpu_milli: u64,
    memory_mb: u64,
}

/// Indexes over the nodes of one kind that are up.
#[derive(Clone, Debug)]
struct KindFree {
    /// Nodes by number of unused GPUs.
    by_free: Vec<NodeSet>,
    /// Nodes without any claim on their GPUs, by rack.
    idle: Vec<NodeSet>,
    /// Unused GPUs.
    free: u32,
    /// All GPUs.
    up: u32,
    /// What its nodes are like, up or down: each sort once.
    sorts: BTreeSet<NodeSort>,
}

/// Free capacity, kept up to date claim by claim.
#[derive(Clone, Debug)]
pub struct Fleet {
    cluster: Arc<Cluster>,
    nodes: Vec<NodeFree>,
    kinds: Vec<KindFree>,
    shares: Shares,
}

/// Stands for "not known, so not checked".
const UNLIMITED: u64 = u64::MAX / 4;

impl Fleet {
    /// An empty cluster with every node up.
    pub fn new(cluster: Arc<Cluster>) -> Fleet {
        let size = cluster.nodes.len();
        let sets = |count: usize| vec![NodeSet::new(size); count];
        let largest = cluster.nodes.iter().map(|node| node.gpus).max().unwrap_or(0);
        assert!(largest <= GPUS_PER_NODE_MAX, "a node has at most {GPUS_PER_NODE_MAX} GPUs");
        let kind = KindFree {
            by_free: sets(largest as usize + 1),
            idle: sets(cluster.racks.len().max(1)),
            free: 0,
            up: 0,
            sorts: BTreeSet::new(),
        };
        let nodes = cluster.nodes.iter().map(|node| {
            let NodeSort { cpu_milli, memory_mb, .. } = NodeSort::of(node);
            NodeFree { up: false, slots: node.slots(), cpu_milli, memory_mb }
        });
        let mut fleet = Fleet {
            nodes: nodes.collect(),
            kinds: vec![kind; cluster.kinds.len()],
            shares: Shares::new(&cluster),
            cluster,
        };
        for index in 0..size {
            let node = NodeId(index as u32);
            let spec = &fleet.cluster.nodes[index];
            fleet.kinds[spec.kind.index()].sorts.insert(NodeSort::of(spec));
            fleet.set_up(node, true);
        }
        fleet
    }

    /// The cluster as described.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Whether a node is there.
    pub fn is_up(&self, node: NodeId) -> bool {
        self.nodes[node.index()].up
    }

    /// Whether all nodes of a placement are up. A job may go on where nothing new may start, but
    /// only as it is.
    pub fn are_up(&self, placement: &Placement) -> bool {
        placement.slices().iter().all(|slice| self.is_up(slice.node))
    }

    /// The kind of a node's GPUs.
    pub fn kind_of(&self, node: NodeId) -> KindId {
        self.cluster.nodes[node.index()].kind
    }

    /// A node comes or goes. Claims on it stay until their jobs end.
    pub fn set_up(&mut self, node: NodeId, up: bool) {
        if self.nodes[node.index()].up == up {
            return;
        }
        self.index(node, false);
        self.nodes[node.index()].up = up;
        let spec = &self.cluster.nodes[node.index()];
        let kind = &mut self.kinds[spec.kind.index()];
        kind.up = if up { kind.up + spec.gpus } else { kind.up - spec.gpus };
        self.shares.set_up(node, spec.kind, up);
        self.index(node, true);
    }

    /// Enter a node into the indexes, or take it out, as it is now.
    fn index(&mut self, node: NodeId, enter: bool) {
        let free = &self.nodes[node.index()];
        if !free.up {
            return;
        }
        let spec = &self.cluster.nodes[node.index()];
        let kind = &mut self.kinds[spec.kind.index()];
        let count = free.slots.count();
        let idle = &mut kind.idle[spec.rack.index()];
        if enter {
            kind.by_free[count as usize].insert(node.index());
            kind.free += count;
            if count == spec.gpus {
                idle.insert(node.index());
            }
        } else {
            kind.by_free[count as usize].remove(node.index());
            kind.free -= count;
            if count == spec.gpus {
                idle.remove(node.index());
            }
        }
    }

    /// Take a slice of a node. The caller has made sure that it is free.
    fn claim(&mut self, slice: Slice, grip: Grip) {
        let node = &mut self.nodes[slice.node.index()];
        let times = u64::from(slice.slots.count().max(1));
        node.cpu_milli -= u64::from(grip.cpu_milli) * times;
        node.memory_mb -= u64::from(grip.memory_mb) * times;
        if grip.share.is_whole() {
            debug_assert_eq!(node.slots.and(slice.slots), slice.slots, "a GPU is claimed twice");
            self.set_unused(slice.node, self.unused(slice.node).without(slice.slots));
            return;
        }
        let (up, kind) = (node.up, self.kind_of(slice.node));
        let (memory_mb, up) = (self.memory_of(kind), up.then_some(kind));
        let mut taken = Slots::default();
        for slot in slice.slots.iter() {
            if self.shares.claim((slice.node, slot), grip, memory_mb, up) {
                taken = taken.or(Slots::one(slot));
            }
        }
        self.set_unused(slice.node, self.unused(slice.node).without(taken));
    }

    /// Give a slice back.
    fn release(&mut self, slice: Slice, grip: Grip) {
        let node = &mut self.nodes[slice.node.index()];
        let times = u64::from(slice.slots.count().max(1));
        node.cpu_milli += u64::from(grip.cpu_milli) * times;
        node.memory_mb += u64::from(grip.memory_mb) * times;
        if grip.share.is_whole() {
            debug_assert!(node.slots.and(slice.slots).is_empty(), "a free GPU is released");
            self.set_unused(slice.node, self.unused(slice.node).or(slice.slots));
            return;
        }
        let up = node.up.then_some(self.cluster.nodes[slice.node.index()].kind);
        let mut left = Slots::default();
        for slot in slice.slots.iter() {
            if self.shares.release((slice.node, slot), grip, up) {
                left = left.or(Slots::one(slot));
            }
        }
        self.set_unused(slice.node, self.unused(slice.node).or(left));
    }

    /// Other GPUs of a node are unused from now on.
    fn set_unused(&mut self, node: NodeId, slots: Slots) {
        if self.unused(node) != slots {
            self.index(node, false);
            self.nodes[node.index()].slots = slots;
            self.index(node, true);
        }
    }

    /// Memory of one GPU of a kind; without limit where it is not known.
    pub fn memory_of(&self, kind: KindId) -> u32 {
        match self.cluster.kinds[kind.index()].memory_mb {
            0 => u32::MAX,
            known => known,
        }
    }

    /// Claim a whole placement.
    pub fn claim_all(&mut self, placement: &Placement, grip: Grip) {
        for slice in placement.slices() {
            self.claim(*slice, grip);
        }
    }

    /// Release a whole placement.
    pub fn release_all(&mut self, placement: &Placement, grip: Grip) {
        for slice in placement.slices() {
            self.release(*slice, grip);
        }
    }

    /// Unused GPUs of these kinds on nodes that are up.
    pub fn free_of(&self, kinds: KindSet) -> u32 {
        self.kinds_in(kinds).map(|kind| kind.free).sum()
    }

    /// All GPUs of these kinds on nodes that are up.
    pub fn up_of(&self, kinds: KindSet) -> u32 {
        self.kinds_in(kinds).map(|kind| kind.up).sum()
    }

    /// The most GPUs of this grip that one node of a kind can ever serve.
    pub fn most_ever(&self, kind: KindId, grip: Grip) -> u32 {
        let sorts = self.kinds[kind.index()].sorts.iter();
        sorts.map(|sort| self.serves_empty(kind, sort, grip)).max().unwrap_or(0)
    }

    /// How many GPUs of a grip an empty node can serve.
    fn serves_empty(&self, kind: KindId, sort: &NodeSort, grip: Grip) -> u32 {
        if grip.gpu_memory_mb > self.memory_of(kind) {
            return 0;
        }
        let beside = times(sort.cpu_milli, grip.cpu_milli);
        beside.min(times(sort.memory_mb, grip.memory_mb)).min(sort.gpus)
    }

    fn kinds_in(&self, kinds: KindSet) -> impl Iterator<Item = &KindFree> {
        kinds.iter(self.kinds.len()).map(|kind| &self.kinds[kind.index()])
    }

    /// The most GPUs of one kind that a demand could have of the whole cluster, empty and in good
    /// health, and the kinds of which it could have enough. If there are none, that is final.
    pub fn could_ever(&self, demand: &Demand) -> Result<(u32, KindSet), Reason> {
        let Demand { gpu_memory_mb, cpu_milli, memory_mb, kinds: all, .. } = *demand;
        let need = demand.sizes.min.min(demand.asked());
        let mut there = all
            .iter(self.kinds.len())
            .filter(|kind| !self.kinds[kind.index()].sorts.is_empty())
            .peekable();
        if there.peek().is_none() {
            return Err(Reason::NoSuchKind { kinds: demand.kinds });
        }
        let one = Grip { gpu_memory_mb, cpu_milli, memory_mb, ..Grip::NOTHING };
        let (mut served, mut largest, mut kinds) = (false, 0, KindSet::NONE);
        for kind in there {
            let sorts = self.kinds[kind.index()].sorts.iter();
            let beside =
                |sort: &NodeSort| self.serves_empty(kind, &NodeSort { gpus: 1, ..*sort }, one);
            let serves = sorts.map(beside).any(|count| count > 0);
            let together = self.together_ever(kind, demand);
            served |= serves;
            largest = largest.max(together);
            if serves && together >= need {
                kinds = kinds.with(kind);
            }
        }
        match served {
            false => Err(Reason::NoSuchNode { gpu_memory_mb, cpu_milli, memory_mb }),
            true if largest < need => Err(Reason::TooLarge { need, largest }),
            true => Ok((largest, kinds)),
        }
    }

    /// The most GPUs of a kind within a demand's reach, empty and in good health.
    pub fn together_ever(&self, kind: KindId, demand: &Demand) -> u32 {
        let grip = Grip::from(demand);
        if demand.reach == Reach::Node {
            return self.most_ever(kind, grip);
        }
        let mut by_rack: BTreeMap<RackId, u32> = BTreeMap::new();
        for node in self.cluster.nodes.iter().filter(|node| node.kind == kind) {
            let sort = NodeSort::of(node);
            *by_rack.entry(node.rack).or_default() += self.serves_empty(kind, &sort, grip);
        }
        match demand.reach {
            Reach::Cluster => by_rack.values().sum(),
            Reach::Rack | Reach::Node => by_rack.values().copied().max().unwrap_or(0),
        }
    }
}

impl NodeSort {
    fn of(node: &Node) -> NodeSort {
        let limit = |known: u64| if known == 0 { UNLIMITED } else { known };
        let (cpu_milli, memory_mb) = (limit(node.cpu_milli), limit(node.memory_mb));
        NodeSort { gpus: node.gpus, cpu_milli, memory_mb }
    }
}

/// How many times something fits.
fn times(have: u64, each: u32) -> u32 {
    match each {
        0 => u32::MAX,
        _ if have >= UNLIMITED / 2 => u32::MAX,
        each => (have / u64::from(each)).min(u64::from(u32::MAX)) as u32,
    }
}
