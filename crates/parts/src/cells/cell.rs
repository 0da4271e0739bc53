//! One cell, physical or virtual: what never changes of it, what does, and the few changes that go
//! up through the cells it is part of.

use super::GangId;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// A cell, physical or virtual.
pub(super) type CellId = u32;

/// The priority of a cell that nobody uses.
pub(super) const FREE: i32 = -2;

/// The priority of jobs without a guarantee.
pub const OPPORTUNISTIC: i32 = -1;

/// The highest priority there is.
pub const PRIORITY_MAX: i32 = 1000;

/// What never changes.
#[derive(Clone, Debug)]
pub(super) struct Fixed {
    pub chain: usize,
    /// 1 for a GPU.
    pub level: usize,
    pub parent: Option<CellId>,
    pub children: Vec<CellId>,
    pub leaves: u32,
    /// Physical: its nodes are so many, from this one on.
    pub first_node: u32,
    pub nodes: u32,
    /// Physical leaf: its number on the node.
    pub slot: u32,
    pub pinned: bool,
    /// Virtual: the cell that its cluster owns, and whose cluster that is.
    pub root: CellId,
    pub cluster: usize,
}

/// Who has a physical leaf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LeafState {
    /// Nobody.
    #[default]
    Free,
    /// A gang that runs.
    Used,
    /// A gang that runs, and must make room for one that waits for that.
    Reserving,
    /// A gang that waits for others of its leaves.
    Reserved,
}

/// What changes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Live {
    /// The highest priority in it.
    pub priority: i32,
    /// Leaves used, by priority.
    pub used: SmallVec<[(i32, i32); 2]>,
    /// The virtual cell bound to a physical one, or the other way round.
    pub bound: Option<CellId>,
    pub healthy: bool,
    /// Whether its parts are given out one by one.
    pub split: bool,
    pub state: LeafState,
    pub using: Option<GangId>,
    pub reserving: Option<GangId>,
}

impl Live {
    pub(super) fn new() -> Live {
        Live {
            priority: FREE,
            used: SmallVec::new(),
            bound: None,
            healthy: true,
            split: false,
            state: LeafState::Free,
            using: None,
            reserving: None,
        }
    }

    pub(super) fn used_at(&self, priority: i32) -> i32 {
        let of = |entry: &&(i32, i32)| entry.0 == priority;
        self.used.iter().find(of).map_or(0, |entry| entry.1)
    }

    fn add_used(&mut self, priority: i32, more: i32) {
        match self.used.iter_mut().find(|entry| entry.0 == priority) {
            Some(entry) => entry.1 += more,
            None => self.used.push((priority, more)),
        }
        self.used.retain(|entry| entry.1 != 0);
    }
}

impl super::Cells {
    pub(super) fn fixed(&self, id: CellId) -> &Fixed {
        &self.build.cells[id as usize]
    }

    pub(super) fn live(&self, id: CellId) -> &Live {
        &self.now.live[id as usize]
    }

    pub(super) fn live_mut(&mut self, id: CellId) -> &mut Live {
        &mut self.now.live[id as usize]
    }

    pub(super) fn parent(&self, id: CellId) -> Option<CellId> {
        self.fixed(id).parent
    }

    pub(super) fn bound(&self, id: CellId) -> Option<CellId> {
        self.live(id).bound
    }

    /// A leaf is used at a priority from now on, or free. A cell has the highest of its parts'.
    pub(super) fn set_priority(&mut self, mut id: CellId, mut priority: i32) {
        loop {
            let before = std::mem::replace(&mut self.live_mut(id).priority, priority);
            let Some(parent) = self.parent(id) else { return };
            let above = self.live(parent).priority;
            if priority < before && before == above {
                let buddies = &self.build.cells[parent as usize].children;
                let highest = buddies.iter().map(|buddy| self.live(*buddy).priority).max();
                priority = highest.unwrap_or(FREE);
            } else if priority <= above {
                return;
            }
            id = parent;
        }
    }

    /// Count a leaf as used at a priority, or no longer, all the way up.
    pub(super) fn count_used(&mut self, leaf: CellId, priority: i32, more: i32) {
        let mut next = Some(leaf);
        while let Some(id) = next {
            self.live_mut(id).add_used(priority, more);
            next = self.parent(id);
        }
    }

    pub(super) fn tie(&mut self, physical: CellId, own: CellId) {
        self.live_mut(physical).bound = Some(own);
        self.live_mut(own).bound = Some(physical);
    }

    pub(super) fn untie(&mut self, physical: CellId) {
        if let Some(own) = self.live_mut(physical).bound.take() {
            self.live_mut(own).bound = None;
        }
    }

    /// Bind a virtual leaf to a physical one, and what they are part of as far as it is not bound.
    pub(super) fn bind(&mut self, mut physical: CellId, mut own: CellId) {
        while self.bound(own).is_none() {
            self.tie(physical, own);
            let (Some(above), Some(own_above)) = (self.parent(physical), self.parent(own)) else {
                return;
            };
            (physical, own) = (above, own_above);
        }
    }

    /// Undo what `bind` did, up to the first cell that is bound for another reason.
    pub(super) fn unbind(&mut self, physical: CellId) {
        let mut own = self.bound(physical).expect("only what is bound is unbound");
        while let Some(physical) = self.bound(own).filter(|id| !self.fixed(*id).pinned) {
            self.untie(physical);
            let Some(parent) = self.parent(own) else { return };
            if self.fixed(parent).children.iter().any(|child| self.bound(*child).is_some()) {
                return;
            }
            own = parent;
        }
    }

    /// The first of some virtual cells that is not bound.
    pub(super) fn first_unbound(&self, cells: &[CellId]) -> Option<CellId> {
        cells.iter().copied().find(|id| self.bound(*id).is_none())
    }

    /// Whether a physical cell, or one it is part of, is in the free list.
    pub(super) fn is_free(&self, mut id: CellId) -> bool {
        loop {
            if self.bound(id).is_some() || self.live(id).split {
                return false;
            }
            match self.parent(id) {
                Some(parent) if !self.live(parent).split => id = parent,
                _ => return true,
            }
        }
    }
}
