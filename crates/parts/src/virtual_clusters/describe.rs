//! Cells from a cluster as its owner describes it: nodes are halved down to single GPUs, following
//! link groups, and racks are cells above them where all are alike. A tenant's quota becomes whole
//! nodes first, then halves, and so on.

use crate::cells::{CellType, Cells, Layout, PhysicalCell, VirtualCells, VirtualCluster};
use heeler_engine::Tenants;
use heeler_model::{Cluster, Demand, KindId, Node, NodeId, RackId, Reach, TenantId};
use std::collections::{BTreeMap, BTreeSet};

/// The virtual cluster of those who own no cells.
pub(super) const NOBODY: &str = "";

/// Nodes that are alike, as cells.
#[derive(Clone, Debug)]
pub(super) struct Sort {
    /// The chain of cells.
    pub chain: String,
    pub kind: KindId,
    pub node_gpus: u32,
    /// CPUs and memory of a node; zero when unknown.
    pub cpu_milli: u64,
    pub memory_mb: u64,
    /// Sizes of its cells from one GPU to a node, and the type of each.
    cells: Vec<(u32, String)>,
    /// The nodes, as the cells number them, by rack.
    pub racks: Vec<BTreeSet<u32>>,
    nodes: u32,
}

/// A cluster as cells.
#[derive(Clone, Debug)]
pub(super) struct Described {
    pub layout: Layout,
    pub sorts: Vec<Sort>,
    /// Nodes as the cells number them.
    pub nodes: Vec<NodeId>,
    /// The quotas the virtual clusters were made of.
    pub quotas: Vec<Option<u32>>,
}

/// What makes nodes alike.
type Likeness = (KindId, u32, u32, u64, u64);

fn likeness(node: &Node) -> Likeness {
    (node.kind, node.gpus, node.link_group, node.cpu_milli, node.memory_mb)
}

/// The quotas as they are now.
pub(super) fn quotas(tenants: &Tenants) -> Vec<Option<u32>> {
    (0..tenants.len()).map(|tenant| tenants.spec(TenantId(tenant as u16)).quota).collect()
}

impl Described {
    pub(super) fn new(cluster: &Cluster, tenants: &Tenants) -> Described {
        let mut alike: BTreeMap<Likeness, BTreeMap<RackId, Vec<NodeId>>> = BTreeMap::new();
        for (index, node) in cluster.nodes.iter().enumerate().filter(|(_, node)| node.gpus > 0) {
            let racks = alike.entry(likeness(node)).or_default();
            racks.entry(node.rack).or_default().push(NodeId(index as u32));
        }
        let mut described = Described {
            layout: Layout::default(),
            sorts: Vec::new(),
            nodes: Vec::new(),
            quotas: quotas(tenants),
        };
        for (likeness, racks) in alike {
            described.add_sort(cluster, likeness, &racks);
        }
        described.share_out(tenants);
        described
    }

    /// The cells, nobody in them and all nodes up.
    pub(super) fn cells(&self) -> Cells {
        let cells = Cells::new(&self.layout).expect("quotas were cut down to what there is");
        let mut cells = cells.steady();
        for node in 0..self.nodes.len() as u32 {
            cells.set_healthy(node);
        }
        cells
    }

    fn add_sort(
        &mut self,
        cluster: &Cluster,
        likeness: Likeness,
        racks: &BTreeMap<RackId, Vec<NodeId>>,
    ) {
        let (kind, node_gpus, link_group, cpu_milli, memory_mb) = likeness;
        let leaf = &cluster.kinds[kind.index()].name;
        let number = self.sorts.len();
        let sizes = halves(node_gpus, link_group);
        let name = |size: u32| format!("{leaf} {size} of {number}");
        let mut cells = vec![(1, format!("{leaf} of {number}"))];
        for (index, size) in sizes.iter().enumerate().skip(1) {
            let (below, child) = cells[index - 1].clone();
            let is_node = *size == node_gpus;
            let count = size / below;
            self.layout.types.push(CellType { name: name(*size), child, count, is_node });
            cells.push((*size, name(*size)));
        }
        if node_gpus == 1 {
            // A node of one GPU is a cell of its own above the GPU.
            let (child, name) = (cells[0].1.clone(), name(1));
            self.layout.types.push(CellType { name: name.clone(), child, count: 1, is_node: true });
            cells[0].1 = name;
        }
        let node_type = cells[cells.len() - 1].1.clone();
        let first = racks.values().next().map_or(0, Vec::len);
        let uniform = racks.len() > 1 && first > 1 && racks.values().all(|r| r.len() == first);
        let rack_nodes = if uniform { first as u32 } else { 1 };
        let chain = if uniform { format!("{node_type} rack") } else { node_type.clone() };
        if uniform {
            let (name, child) = (chain.clone(), node_type);
            self.layout.types.push(CellType { name, child, count: rack_nodes, is_node: false });
        }
        let mut sets = Vec::new();
        for nodes in racks.values() {
            let cell = |node: &NodeId| PhysicalCell {
                address: Some(node.to_string()),
                ..PhysicalCell::default()
            };
            let from = self.nodes.len() as u32;
            self.nodes.extend(nodes);
            sets.push((from..self.nodes.len() as u32).collect());
            let cells: Vec<PhysicalCell> = nodes.iter().map(cell).collect();
            let tops = match uniform {
                true => vec![PhysicalCell { children: cells, ..PhysicalCell::default() }],
                false => cells,
            };
            self.layout.physical.extend(tops.into_iter().map(|top| (chain.clone(), top)));
        }
        let nodes = racks.values().map(Vec::len).sum::<usize>() as u32;
        let racks = sets;
        self.sorts.push(Sort { chain, kind, node_gpus, cpu_milli, memory_mb, cells, racks, nodes });
    }

    /// Cells for every quota, in the order of tenants, as far as there are any left.
    fn share_out(&mut self, tenants: &Tenants) {
        let mut owned: Vec<Vec<u32>> =
            self.sorts.iter().map(|sort| vec![0; sort.cells.len()]).collect();
        let mut sizes: Vec<(u32, usize, usize)> = Vec::new();
        for (number, sort) in self.sorts.iter().enumerate() {
            let of_sort = sort.cells.iter().enumerate();
            sizes.extend(of_sort.map(|(level, (size, _))| (*size, number, level)));
        }
        sizes.sort_by_key(|(size, number, _)| (std::cmp::Reverse(*size), *number));
        self.layout.clusters.push(VirtualCluster { name: NOBODY.into(), ..Default::default() });
        for index in 0..tenants.len() {
            let tenant = TenantId(index as u16);
            let Some(quota) = tenants.spec(tenant).quota else { continue };
            let mut left = quota.saturating_sub(vouched_below(tenants, tenant));
            let mut cells = Vec::new();
            for (size, number, level) in &sizes {
                let (sort, counts) = (&self.sorts[*number], &mut owned[*number]);
                let mut taken = 0;
                while left >= *size {
                    counts[*level] += 1;
                    if !suffices(sort, counts) {
                        counts[*level] -= 1;
                        break;
                    }
                    taken += 1;
                    left -= size;
                }
                let (chain, cell) = (sort.chain.clone(), sort.cells[*level].1.clone());
                cells.extend((taken > 0).then_some(VirtualCells { chain, cell, number: taken }));
            }
            let name = cluster_name(tenant);
            self.layout.clusters.push(VirtualCluster { name, cells, pinned: Vec::new() });
        }
    }
}

/// What the virtual cluster of a tenant is called.
pub(super) fn cluster_name(tenant: TenantId) -> String {
    tenant.to_string()
}

/// GPUs that tenants below one have quotas of their own for.
fn vouched_below(tenants: &Tenants, tenant: TenantId) -> u32 {
    let all = (0..tenants.len()).map(|index| TenantId(index as u16));
    let below = all.filter(|other| {
        let above = tenants.spec(*other).parent.and_then(|parent| tenants.guarantor(parent));
        *other != tenant && above == Some(tenant)
    });
    below.filter_map(|other| tenants.spec(other).quota).sum()
}

/// Sizes from one GPU to a node: halves, as long as no link group is cut that need not be.
fn halves(gpus: u32, link_group: u32) -> Vec<u32> {
    let group = if link_group > 1 && gpus.is_multiple_of(link_group) { link_group } else { 1 };
    let mut sizes = vec![gpus];
    let mut size = gpus;
    while size > 1 {
        let half = size / 2;
        size = match size > group {
            true if size.is_multiple_of(2) && half.is_multiple_of(group) => half,
            true if group > 1 => group,
            _ if size.is_multiple_of(2) => half,
            _ => 1,
        };
        sizes.push(size);
    }
    sizes.reverse();
    sizes
}

/// Whether so many cells of each size can be had at once, from the largest down.
fn suffices(sort: &Sort, counts: &[u32]) -> bool {
    let mut available = u64::from(sort.nodes);
    for (index, count) in counts.iter().enumerate().rev() {
        let Some(left) = available.checked_sub(u64::from(*count)) else { return false };
        let below = index.checked_sub(1).map_or(1, |below| sort.cells[below].0);
        available = left * u64::from(sort.cells[index].0 / below);
    }
    true
}

impl Sort {
    /// Whether a pod of so many GPUs could ever have the CPUs and memory it needs beside them.
    pub(super) fn serves(&self, gpus: u32, cpu_milli: u32, memory_mb: u32) -> bool {
        let enough =
            |there: u64, each: u32| there == 0 || u64::from(each) * u64::from(gpus) <= there;
        enough(self.cpu_milli, cpu_milli) && enough(self.memory_mb, memory_mb)
    }

    /// The pods of a job: one, or whole nodes and the rest.
    pub(super) fn pods(&self, gpus: u32) -> Vec<(u32, u32)> {
        if gpus <= self.node_gpus {
            return vec![(1, gpus)];
        }
        let (nodes, rest) = (gpus / self.node_gpus, gpus % self.node_gpus);
        let mut pods = vec![(nodes, self.node_gpus)];
        pods.extend((rest > 0).then_some((1, rest)));
        pods
    }

    /// Sets of nodes to try one after the other; just all of them, unless the job must stay in a
    /// rack and does not fit on a node.
    pub(super) fn node_sets(&self, demand: &Demand, gpus: u32) -> Vec<Option<&BTreeSet<u32>>> {
        match demand.reach == Reach::Rack && gpus > self.node_gpus {
            true => self.racks.iter().map(Some).collect(),
            false => vec![None],
        }
    }
}
