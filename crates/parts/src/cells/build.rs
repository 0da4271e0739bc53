//! From a layout to cells: trees of physical and of virtual cells, and the check that the virtual
//! clusters can have all they own at once. All nodes are bad until they are said to be there.

use super::cell::{CellId, Fixed, Live};
use super::layout::{CellType, Layout, LayoutFault, PhysicalCell};
use super::{Build, Cells, Chain, Holding, Now, Shape};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A cell in the making.
struct Growing<'a> {
    types: BTreeMap<&'a str, &'a CellType>,
    build: Build,
    /// Pinned cells by name.
    pins: BTreeMap<String, CellId>,
}

/// Levels of a chain beyond which its types must go round in a circle.
const LEVELS_MAX: usize = 32;

impl Cells {
    /// The cells of a layout, all nodes bad.
    pub fn new(layout: &Layout) -> Result<Cells, LayoutFault> {
        let types = layout.types.iter().map(|kind| (kind.name.as_str(), kind)).collect();
        let mut growing = Growing { types, build: Build::default(), pins: BTreeMap::new() };
        for (kind, cell) in &layout.physical {
            growing.add_top(kind, cell)?;
        }
        growing.build.first_virtual = growing.build.cells.len() as CellId;
        let mut now = Now::default();
        for shape in &growing.build.chains {
            let none = vec![Vec::new(); shape.top() + 1];
            let (mut free, bad, zeros) = (none.clone(), none, vec![0; shape.top() + 1]);
            free[shape.top()].clone_from(&shape.full[shape.top()]);
            let view = shape.full[shape.node_level].clone();
            now.chains.push(Chain { free, bad, left: zeros.clone(), unused: zeros, view });
        }
        for cluster in &layout.clusters {
            let holding = growing.add_cluster(cluster)?;
            for (chain, unused) in &holding.unused {
                let all = &mut now.chains[*chain].unused;
                all.iter_mut().zip(unused).for_each(|(all, more)| *all += more);
            }
            now.holdings.push(holding);
        }
        for (shape, chain) in growing.build.chains.iter().zip(&mut now.chains) {
            suffices(shape, chain)?;
        }
        now.live = vec![Live::new(); growing.build.cells.len()];
        let mut cells = Cells { build: Arc::new(growing.build), now, steady: false, hold: false };
        cells.allocate_pinned(&growing.pins);
        for node in 0..cells.build.nodes.len() as u32 {
            cells.set_bad(node);
        }
        Ok(cells)
    }

    fn allocate_pinned(&mut self, pins: &BTreeMap<String, CellId>) {
        let build = self.build.clone();
        for (cluster, owned) in build.pins.iter().enumerate() {
            for (name, own) in owned {
                let physical = pins[name];
                self.take_root(physical, cluster, false);
                self.bind(physical, *own);
            }
        }
    }
}

/// Whether all that is owned of a chain can be had at once, from the largest cells down.
fn suffices(shape: &Shape, chain: &mut Chain) -> Result<(), LayoutFault> {
    let mut available = shape.full[shape.top()].len() as i32;
    chain.left[shape.top()] = available;
    for level in (1..=shape.top()).rev() {
        let rest = available - chain.unused[level];
        if rest < 0 {
            let (owned, left) = (chain.unused[level] as u32, available.max(0) as u32);
            let (chain, cell) = (shape.name.clone(), shape.types[level - 1].clone());
            return Err(LayoutFault::NotEnough { chain, cell, owned, left });
        }
        if level > 1 {
            available = rest * shape.parts[level] as i32;
            chain.left[level - 1] = chain.left[level] * shape.parts[level] as i32;
        }
    }
    Ok(())
}

impl Growing<'_> {
    /// The chain whose highest cells are of a type, added if it is new.
    fn chain(&mut self, top: &str) -> Result<usize, LayoutFault> {
        if let Some(known) = self.build.chains.iter().position(|shape| shape.name == top) {
            return Ok(known);
        }
        let mut types = vec![top.to_string()];
        let mut counts = Vec::new();
        let mut node = None;
        while let Some(kind) = self.types.get(types[types.len() - 1].as_str()) {
            if kind.is_node && node.is_none() {
                node = Some(types.len() - 1);
            }
            counts.push(kind.count);
            types.push(kind.child.clone());
            if types.len() > LEVELS_MAX {
                return Err(LayoutFault::NoSuchType(top.into()));
            }
        }
        let node = node.ok_or_else(|| LayoutFault::NoNode(top.into()))?;
        let node_level = types.len() - node;
        types.reverse();
        counts.reverse();
        let mut parts = vec![0, 0];
        let mut leaves = vec![0, 1];
        for count in counts {
            parts.push(count);
            leaves.push(leaves[leaves.len() - 1] * count);
        }
        let full = vec![Vec::new(); types.len() + 1];
        let name = top.to_string();
        self.build.chains.push(Shape { name, types, parts, leaves, node_level, full });
        Ok(self.build.chains.len() - 1)
    }

    fn add_top(&mut self, kind: &str, cell: &PhysicalCell) -> Result<(), LayoutFault> {
        let chain = self.chain(kind)?;
        let level = self.build.chains[chain].top();
        self.add_physical(chain, level, None, cell, 0).map(drop)
    }

    /// A physical cell and its parts; `number` is what a GPU is called if the cell does not say.
    fn add_physical(
        &mut self,
        chain: usize,
        level: usize,
        parent: Option<CellId>,
        cell: &PhysicalCell,
        number: u32,
    ) -> Result<CellId, LayoutFault> {
        let shape = &self.build.chains[chain];
        let kind = shape.types[level - 1].clone();
        let (is_node, is_leaf, parts) = (level == shape.node_level, level == 1, shape.parts[level]);
        let below_node = level <= shape.node_level;
        let no_address = || LayoutFault::NoAddress(kind.clone());
        if is_node {
            self.build.nodes.push(cell.address.clone().ok_or_else(no_address)?);
        }
        let id = self.push(chain, level, parent);
        self.build.chains[chain].full[level].push(id);
        let nodes = self.build.nodes.len() as u32;
        self.build.cells[id as usize].first_node = if below_node { nodes - 1 } else { nodes };
        if let Some(pin) = &cell.pinned {
            self.build.cells[id as usize].pinned = true;
            self.pins.insert(pin.clone(), id);
        }
        if is_leaf {
            let given = cell.address.as_ref().map(|address| address.parse::<u32>());
            let slot = given.unwrap_or(Ok(number)).map_err(|_| no_address())?;
            let node = self.build.nodes[nodes as usize - 1].clone();
            self.build.cells[id as usize].slot = slot;
            self.build.leaves.entry((node, slot)).or_default().push(id);
        } else {
            if !cell.children.is_empty() && cell.children.len() != parts as usize {
                return Err(LayoutFault::WrongParts(kind));
            }
            let unsaid = PhysicalCell::default();
            let said = cell.address.as_ref().and_then(|address| address.parse().ok());
            let number = said.filter(|_| below_node).unwrap_or(number);
            for index in 0..parts {
                let part = cell.children.get(index as usize).unwrap_or(&unsaid);
                let number = if is_node { index } else { number * parts + index };
                let child = self.add_physical(chain, level - 1, Some(id), part, number)?;
                self.build.cells[id as usize].children.push(child);
            }
        }
        let nodes = self.build.nodes.len() as u32;
        let fixed = &mut self.build.cells[id as usize];
        fixed.nodes = nodes - fixed.first_node;
        Ok(id)
    }

    fn push(&mut self, chain: usize, level: usize, parent: Option<CellId>) -> CellId {
        let id = self.build.cells.len() as CellId;
        self.build.cells.push(Fixed {
            chain,
            level,
            parent,
            children: Vec::new(),
            leaves: self.build.chains[chain].leaves[level],
            first_node: 0,
            nodes: 1,
            slot: 0,
            pinned: false,
            root: id,
            cluster: 0,
        });
        id
    }

    fn add_cluster(&mut self, spec: &super::VirtualCluster) -> Result<Holding, LayoutFault> {
        let cluster = self.build.clusters.len();
        self.build.clusters.push(spec.name.clone());
        let mut holding = Holding::default();
        let mut owned: BTreeMap<usize, Vec<Vec<CellId>>> = BTreeMap::new();
        for cells in &spec.cells {
            let known = self.build.chains.iter().position(|shape| shape.name == cells.chain);
            let chain = known.ok_or_else(|| LayoutFault::NoSuchType(cells.chain.clone()))?;
            let shape = &self.build.chains[chain];
            let (top, level) = (shape.top(), shape.level_of(&cells.cell));
            let level = level.ok_or_else(|| LayoutFault::NoSuchType(cells.cell.clone()))?;
            let unused = holding.unused.entry(chain).or_insert_with(|| vec![0; top + 1]);
            unused[level] += cells.number as i32;
            let lists = owned.entry(chain).or_insert_with(|| vec![Vec::new(); top + 1]);
            for _ in 0..cells.number {
                let id = self.add_virtual(cluster, chain, level, None);
                lists[level].push(id);
            }
        }
        for (chain, lists) in &owned {
            holding.doomed.insert(*chain, vec![Vec::new(); lists.len()]);
            holding.views.insert(*chain, self.view(*chain, &lists.concat()));
        }
        self.build.owned.push(owned);
        let mut pins = BTreeMap::new();
        for name in &spec.pinned {
            let physical = self.pins.get(name);
            let physical = *physical.ok_or_else(|| LayoutFault::NoSuchPin(name.clone()))?;
            let fixed = &self.build.cells[physical as usize];
            let (chain, level) = (fixed.chain, fixed.level);
            let top = self.build.chains[chain].top();
            holding.unused.entry(chain).or_insert_with(|| vec![0; top + 1])[level] += 1;
            holding.doomed.entry(chain).or_insert_with(|| vec![Vec::new(); top + 1]);
            let id = self.add_virtual(cluster, chain, level, None);
            holding.pinned_views.insert(name.clone(), self.view(chain, &[id]));
            pins.insert(name.clone(), id);
        }
        self.build.pins.push(pins);
        Ok(holding)
    }

    fn add_virtual(
        &mut self,
        cluster: usize,
        chain: usize,
        level: usize,
        parent: Option<CellId>,
    ) -> CellId {
        let id = self.push(chain, level, parent);
        let root = parent.map_or(id, |parent| self.build.cells[parent as usize].root);
        self.build.cells[id as usize].root = root;
        self.build.cells[id as usize].cluster = cluster;
        for _ in 0..self.build.chains[chain].parts[level] {
            let child = self.add_virtual(cluster, chain, level - 1, Some(id));
            self.build.cells[id as usize].children.push(child);
        }
        id
    }

    /// What an inner scheduler takes for nodes: all nodes in some cells, and the cells that are
    /// smaller than a node, larger ones first.
    fn view(&self, chain: usize, roots: &[CellId]) -> Vec<CellId> {
        let node_level = self.build.chains[chain].node_level;
        let cells = &self.build.cells;
        let mut roots = roots.to_vec();
        roots.sort_unstable();
        let mut nodes = Vec::new();
        let mut open: Vec<CellId> = roots.iter().rev().copied().collect();
        while let Some(id) = open.pop() {
            match cells[id as usize].level.cmp(&node_level) {
                std::cmp::Ordering::Equal => nodes.push(id),
                std::cmp::Ordering::Greater => {
                    open.extend(cells[id as usize].children.iter().rev());
                }
                std::cmp::Ordering::Less => {}
            }
        }
        for level in (1..node_level).rev() {
            nodes.extend(roots.iter().filter(|id| cells[**id as usize].level == level));
        }
        nodes
    }
}
