//! Cells of GPUs and who owns them, as in HiveD (Zhao et al., OSDI 2020): a cluster is a forest of
//! cells (GPU, pair, socket, node, rack), a tenant owns numbers of cells of each size, and a buddy
//! allocator finds physical cells for them such that everybody can always have all of theirs.
//! Gangs without a guarantee use what is left and give way. The order of every list is that of the
//! published program, so that it decides alike.

mod add;
mod answer;
mod audit;
mod buddy;
mod build;
mod cell;
mod free;
mod gang;
mod health;
mod layout;
mod map;
mod preempt;
mod schedule;
mod topology;

pub use answer::{Answer, Binding, BoundPod, Phase, Refusal, Request, Shortage};
pub use cell::{LeafState, OPPORTUNISTIC, PRIORITY_MAX};
pub use gang::{Gang, GangState};
pub use layout::{CellType, Layout, LayoutFault, PhysicalCell, VirtualCells, VirtualCluster};

use cell::{CellId, Fixed, Live};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A gang, numbered by whoever asks for it.
pub type GangId = u32;

/// Nodes that will do; all, if none are named.
pub type Suggested<'a> = Option<&'a BTreeSet<u32>>;

/// What never changes of a chain.
#[derive(Clone, Debug)]
struct Shape {
    name: String,
    /// Its types from the leaf up: level 1 is first.
    types: Vec<String>,
    /// Parts and leaves of a cell by level; index 0 is not used.
    parts: Vec<u32>,
    leaves: Vec<u32>,
    node_level: usize,
    /// All its physical cells by level.
    full: Vec<Vec<CellId>>,
}

impl Shape {
    fn top(&self) -> usize {
        self.types.len()
    }

    fn level_of(&self, name: &str) -> Option<usize> {
        self.types.iter().position(|known| known == name).map(|index| index + 1)
    }
}

/// What never changes of all cells.
#[derive(Clone, Debug, Default)]
struct Build {
    cells: Vec<Fixed>,
    /// Physical cells come before this one.
    first_virtual: CellId,
    chains: Vec<Shape>,
    nodes: Vec<String>,
    clusters: Vec<String>,
    /// The cells each cluster owns of each chain, by level.
    owned: Vec<BTreeMap<usize, Vec<Vec<CellId>>>>,
    pins: Vec<BTreeMap<String, CellId>>,
    /// Leaves by node and number.
    leaves: BTreeMap<(String, u32), Vec<CellId>>,
}

/// What changes of a chain. Everything is by level.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Chain {
    /// Free cells that are not part of a free cell.
    free: Vec<Vec<CellId>>,
    /// Free cells that are bad, part of a free cell or not.
    bad: Vec<Vec<CellId>>,
    /// Free cells, part of a free cell or not.
    left: Vec<i32>,
    /// Cells that clusters own and do not use.
    unused: Vec<i32>,
    /// Nodes, in the order in which the last gang without a guarantee saw them.
    view: Vec<CellId>,
}

/// What changes of a virtual cluster.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Holding {
    /// Cells that it owns and does not use, by chain and level.
    unused: BTreeMap<usize, Vec<i32>>,
    /// Physical cells bound to its free cells because no healthy ones are left.
    doomed: BTreeMap<usize, Vec<Vec<CellId>>>,
    views: BTreeMap<usize, Vec<CellId>>,
    pinned_views: BTreeMap<String, Vec<CellId>>,
}

/// Everything that changes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Now {
    live: Vec<Live>,
    chains: Vec<Chain>,
    holdings: Vec<Holding>,
    gangs: BTreeMap<GangId, Gang>,
    bad_nodes: BTreeSet<u32>,
}

/// A cluster of cells, who owns them and who uses them.
#[derive(Clone, Debug)]
pub struct Cells {
    build: Arc<Build>,
    now: Now,
    steady: bool,
    /// While leaves of one gang change hands, nobody's cells are doomed: what was found for it must
    /// not be bound to others.
    hold: bool,
}

impl Cells {
    /// Let nodes that are alike to a gang go by their number. In the published program they go as
    /// the last gang saw them, so that what is tried in vain changes what comes later.
    #[must_use]
    pub fn steady(self) -> Cells {
        Cells { steady: true, ..self }
    }

    /// The number of a node; several, where a name occurs in several chains.
    pub fn nodes_named(&self, name: &str) -> Vec<u32> {
        let named = self.build.nodes.iter().enumerate().filter(|(_, known)| *known == name);
        named.map(|(index, _)| index as u32).collect()
    }

    /// All nodes by number.
    pub fn nodes(&self) -> &[String] {
        &self.build.nodes
    }

    /// A gang that runs or waits for others to make room.
    pub fn gang(&self, id: GangId) -> Option<&Gang> {
        self.now.gangs.get(&id)
    }

    /// All gangs that run or wait for others to make room.
    pub fn gangs(&self) -> impl Iterator<Item = (GangId, &Gang)> {
        self.now.gangs.iter().map(|(id, gang)| (*id, gang))
    }

    /// Who has a leaf, and at which priority.
    pub fn leaf(&self, node: &str, slot: u32) -> Option<(LeafState, i32)> {
        let leaves = self.build.leaves.get(&(node.to_string(), slot))?;
        let live = self.live(*leaves.first()?);
        Some((live.state, live.priority))
    }

    /// Of the cells of a type that a cluster owns (pinned ones apart): whether each is used, and
    /// whether it is healthy as far as one can tell.
    pub fn owned(&self, cluster: &str, chain: &str, cell: &str) -> Vec<(bool, bool)> {
        let Some(number) = self.cluster_named(cluster) else { return Vec::new() };
        let Some(index) = self.build.chains.iter().position(|shape| shape.name == chain) else {
            return Vec::new();
        };
        let level = self.build.chains[index].level_of(cell);
        let lists = self.build.owned[number].get(&index);
        let Some((level, lists)) = level.zip(lists) else { return Vec::new() };
        let look = |id: &CellId| (self.live(*id).priority > cell::FREE, self.looks_healthy(*id));
        lists[level].iter().map(look).collect()
    }

    /// The state, for a restart.
    pub fn save(&self) -> serde_json::Value {
        serde_json::to_value(&self.now).expect("plain data")
    }

    /// Go on from a state that was saved with the same layout.
    pub fn restore(&mut self, saved: &serde_json::Value) -> Result<(), String> {
        self.now = serde_json::from_value(saved.clone()).map_err(|error| error.to_string())?;
        Ok(())
    }

    fn cluster_named(&self, name: &str) -> Option<usize> {
        self.build.clusters.iter().position(|known| known == name)
    }

    /// Whether a virtual cell is healthy as far as one can tell.
    fn looks_healthy(&self, id: CellId) -> bool {
        self.bound(id).is_none_or(|physical| self.live(physical).healthy)
    }

    fn used_opportunistically(&self, id: CellId) -> i32 {
        self.live(id).used_at(OPPORTUNISTIC)
    }
}
