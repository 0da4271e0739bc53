//! Places the pods of a gang on nodes, and inside a node on leaves that are close together; used
//! inside a virtual cluster and, for gangs without a guarantee, on the physical cells.

use super::cell::{CellId, FREE, OPPORTUNISTIC};
use super::gang::Pods;
use super::{Cells, Shortage, Suggested};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What a node looks like to a gang of some priority.
struct Look {
    cell: CellId,
    /// Leaves that are free, or used at lower priorities.
    free: i32,
    /// Leaves used: the more, the better; where priorities are kept apart, those of this one.
    used: i32,
    /// Leaves used at higher priorities, where priorities are kept apart: the fewer, the better.
    higher: i32,
    healthy: bool,
    suggested: bool,
}

impl Cells {
    /// Leaves for pods of these sizes, fewest first. First without taking anybody's, then, for a
    /// priority that may, with. The view stays sorted for the next one.
    pub(super) fn place_pods(
        &self,
        view: &mut [CellId],
        sizes: &[u32],
        priority: i32,
        suggested: Suggested,
    ) -> Result<Pods, Shortage> {
        let mut at = OPPORTUNISTIC;
        let mut nodes = self.find_nodes(view, sizes, at, priority, suggested);
        if nodes.is_err() && priority > OPPORTUNISTIC {
            at = priority;
            nodes = self.find_nodes(view, sizes, at, priority, suggested);
        }
        let mut available: BTreeMap<CellId, Vec<CellId>> = BTreeMap::new();
        let pods = nodes?.into_iter().zip(sizes).map(|(node, size)| {
            let left = available.entry(node).or_insert_with(|| self.usable_leaves(node, at));
            self.closest(left, *size as usize).into_iter().map(Some).collect()
        });
        Ok(pods.collect())
    }

    /// A node for each pod. Nodes are filled one after the other, the most used first.
    fn find_nodes(
        &self,
        view: &mut [CellId],
        sizes: &[u32],
        at: i32,
        priority: i32,
        suggested: Suggested,
    ) -> Result<Vec<CellId>, Shortage> {
        let packs_all = priority > OPPORTUNISTIC;
        let mut looks: Vec<Look> =
            view.iter().map(|id| self.look(*id, at, packs_all, suggested)).collect();
        looks.sort_by_key(|look| {
            let tie = if self.steady { look.cell } else { 0 };
            (!look.healthy, !look.suggested, Reverse(look.used), look.higher, tie)
        });
        view.iter_mut().zip(&looks).for_each(|(id, look)| *id = look.cell);
        let mut picked = Vec::with_capacity(sizes.len());
        let mut looks = looks.into_iter();
        let mut node = looks.next();
        let mut taken = 0;
        while picked.len() < sizes.len() {
            let look = node.as_ref().ok_or(Shortage::TooFewCells)?;
            let size = sizes[picked.len()] as i32;
            if look.free - taken < size {
                (node, taken) = (looks.next(), 0);
                continue;
            }
            if !look.healthy {
                return Err(Shortage::BadNode(self.node_name(look.cell)));
            }
            if !look.suggested {
                return Err(Shortage::NotSuggested(self.node_name(look.cell)));
            }
            picked.push(look.cell);
            taken += size;
        }
        Ok(picked)
    }

    fn look(&self, cell: CellId, at: i32, packs_all: bool, suggested: Suggested) -> Look {
        let (mut used, mut higher) = (0, 0);
        let mut free = self.fixed(cell).leaves as i32;
        for (priority, number) in &self.live(cell).used {
            if packs_all || *priority == at {
                used += number;
            } else if *priority > at {
                higher += number;
            }
            if *priority >= at {
                free -= number;
            }
        }
        let physical = self.physical_of(cell);
        let healthy = physical.is_none_or(|id| self.live(id).healthy);
        let is_suggested =
            |id: CellId| suggested.is_none_or(|nodes| nodes.contains(&self.fixed(id).first_node));
        let suggested = physical.is_none_or(is_suggested);
        Look { cell, free, used, higher, healthy, suggested }
    }

    /// The physical cell itself, or the one a virtual cell is bound to.
    fn physical_of(&self, cell: CellId) -> Option<CellId> {
        if self.is_physical(cell) { Some(cell) } else { self.bound(cell) }
    }

    fn node_name(&self, cell: CellId) -> String {
        let node = self.physical_of(cell).map(|id| self.fixed(id).first_node);
        node.map(|node| self.build.nodes[node as usize].clone()).unwrap_or_default()
    }

    /// Leaves of a node that a gang of some priority may use, free ones first.
    fn usable_leaves(&self, node: CellId, at: i32) -> Vec<CellId> {
        let (mut free, mut taken) = (Vec::new(), Vec::new());
        let mut open = vec![node];
        while let Some(id) = open.pop() {
            if self.fixed(id).level > 1 {
                open.extend(self.fixed(id).children.iter().rev());
            } else if self.live(id).priority == FREE {
                free.push(id);
            } else if self.live(id).priority < at {
                taken.push(id);
            }
        }
        free.extend(taken);
        free
    }

    /// So many of some leaves, in the smallest cell that has them; of several such, those that
    /// come first in the list. They are taken out of the list.
    fn closest(&self, available: &mut Vec<CellId>, size: usize) -> Vec<CellId> {
        let mut above: Vec<CellId> = available.clone();
        loop {
            let mut counts: BTreeMap<CellId, Vec<usize>> = BTreeMap::new();
            for (index, cell) in above.iter().enumerate() {
                let of_cell = counts.entry(*cell).or_default();
                if of_cell.len() < size {
                    of_cell.push(index);
                }
            }
            let full = counts.into_values().filter(|indices| indices.len() == size);
            if let Some(indices) = full.min() {
                let picked = indices.iter().map(|index| available[*index]).collect();
                for index in indices.into_iter().rev() {
                    available.remove(index);
                }
                return picked;
            }
            let before = above.clone();
            for cell in &mut above {
                *cell = self.parent(*cell).unwrap_or(*cell);
            }
            assert!(above != before, "a node that was chosen has the leaves");
        }
    }
}
