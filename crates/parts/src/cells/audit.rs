//! Counts everything anew and compares: the books that are kept as things happen must be right, and
//! every virtual cluster must be able to have all that it owns. While nodes are bad the latter may
//! fail: a doomed cell is bound to a bad one, even if that is part of a larger one that is owned.

use super::cell::{CellId, FREE};
use super::{Cells, GangId};

impl Cells {
    /// Whether every virtual cluster can have all it owns and does not use: level by level, what is
    /// free and not owned, with what larger cells that are not owned can be split into.
    pub fn is_safe(&self) -> bool {
        self.build.chains.iter().zip(&self.now.chains).all(|(shape, chain)| {
            let mut spare = 0;
            (1..=shape.top()).rev().all(|level| {
                let parts = shape.parts.get(level + 1).map_or(0, |parts| *parts as i32);
                spare = spare * parts + chain.free[level].len() as i32 - chain.unused[level];
                spare >= 0
            })
        })
    }

    /// Whether the books are right.
    pub fn audit(&self) -> Result<(), String> {
        for (number, shape) in self.build.chains.iter().enumerate() {
            let chain = &self.now.chains[number];
            let mut left = 0;
            for level in (1..=shape.top()).rev() {
                let parts = shape.parts.get(level + 1).map_or(0, |parts| *parts as i32);
                let free = chain.free[level].len() as i32;
                left = left * parts + free;
                let at = format!("{} {}", shape.name, shape.types[level - 1]);
                if chain.left[level] != left {
                    return Err(format!("{at}: {} left, counted {left}", chain.left[level]));
                }
                let owed = self.now.holdings.iter().filter_map(|own| own.unused.get(&number));
                let owed: i32 = owed.map(|unused| unused[level]).sum();
                if owed != chain.unused[level] || owed < 0 {
                    return Err(format!("{at}: {} owed, counted {owed}", chain.unused[level]));
                }
                self.audit_cells(&shape.full[level]).map_err(|wrong| format!("{at}: {wrong}"))?;
            }
        }
        Ok(())
    }

    fn audit_cells(&self, cells: &[CellId]) -> Result<(), String> {
        for id in cells {
            let (fixed, live) = (self.fixed(*id), self.live(*id));
            if live.bound.is_some_and(|own| self.bound(own) != Some(*id)) {
                return Err(format!("cell {id} is bound on one side"));
            }
            let chain = &self.now.chains[fixed.chain];
            let is_bad_and_free = !live.healthy && self.is_free(*id);
            if is_bad_and_free != chain.bad[fixed.level].contains(id) {
                return Err(format!("cell {id} is in the wrong list of bad ones"));
            }
            let children = fixed.children.iter();
            let priority = children.clone().map(|child| self.live(*child).priority).max();
            if priority.is_some_and(|highest| highest != live.priority) {
                return Err(format!("cell {id} has another priority than its parts"));
            }
            let is_used = live.using.is_some() || live.reserving.is_some();
            if fixed.level == 1 && is_used != (live.priority > FREE) {
                return Err(format!("leaf {id} is used and free"));
            }
            let healthy = fixed.children.is_empty()
                || children.clone().all(|child| self.live(*child).healthy);
            if healthy != live.healthy && fixed.level > 1 {
                return Err(format!("cell {id} is not as healthy as its parts"));
            }
        }
        Ok(())
    }

    /// The gang that runs on a leaf.
    pub fn used_by(&self, node: &str, slot: u32) -> Option<GangId> {
        let leaves = self.build.leaves.get(&(node.to_string(), slot))?;
        self.live(*leaves.first()?).using
    }
}
