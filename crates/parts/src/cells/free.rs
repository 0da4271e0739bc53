//! Taking cells out of the free list and putting them back: splitting what a cell is part of,
//! merging buddies, and counting what is left for whom.

use super::Cells;
use super::cell::{CellId, FREE, OPPORTUNISTIC};

impl Cells {
    /// Give a leaf to somebody: for a virtual leaf, with the bindings that takes, or without a
    /// guarantee. Says whether all virtual clusters can still have what they own.
    pub(super) fn take_leaf(&mut self, leaf: CellId, own: Option<CellId>, priority: i32) -> bool {
        let Some(own) = own else {
            self.set_priority(leaf, OPPORTUNISTIC);
            self.count_used(leaf, OPPORTUNISTIC, 1);
            return true;
        };
        for id in [own, leaf] {
            self.set_priority(id, priority);
            self.count_used(id, priority, 1);
        }
        let root = self.fixed(own).root;
        let is_new = self.bound(root).is_none();
        // A bad leaf was bound when it became bad.
        if self.bound(leaf).is_none() {
            self.bind(leaf, own);
        }
        let physical = self.bound(root).expect("a leaf is bound with all it is part of");
        let cluster = self.fixed(own).cluster;
        if is_new {
            return self.take_root(physical, cluster, false);
        }
        // A doomed cell of several nodes may have healthy ones; from now on it is in real use.
        self.undoom(physical, cluster);
        true
    }

    /// Take a leaf back.
    pub(super) fn give_leaf(&mut self, leaf: CellId) {
        // A leaf may be bound only because it is bad, while somebody without a guarantee uses it.
        let own = self.bound(leaf).filter(|own| self.live(*own).priority > OPPORTUNISTIC);
        if let Some(own) = own {
            self.count_used(own, self.live(own).priority, -1);
            self.set_priority(own, FREE);
            let (root, cluster) = (self.fixed(own).root, self.fixed(own).cluster);
            let physical = self.bound(root).expect("what is in use is bound");
            if self.live(leaf).healthy {
                self.unbind(leaf);
            }
            let in_use = self.live(root).priority > OPPORTUNISTIC;
            if !self.fixed(physical).pinned && !in_use && !self.is_doomed(physical, cluster) {
                self.give_root(physical, cluster, false);
            }
        }
        self.count_used(leaf, self.live(leaf).priority, -1);
        self.set_priority(leaf, FREE);
    }

    /// A physical cell goes to a virtual cluster. Says whether all of them can still have what
    /// they own: splitting by the rule of buddies sees to that, a changed layout may not.
    pub(super) fn take_root(&mut self, id: CellId, cluster: usize, doomed: bool) -> bool {
        let (chain, level) = (self.fixed(id).chain, self.fixed(id).level);
        self.count_unused(chain, level, cluster, -1);
        self.now.chains[chain].left[level] -= 1;
        let split_up_to = self.remove_free(id);
        let mut safe = true;
        let mut above = self.parent(id);
        for upper in level + 1..=split_up_to {
            self.now.chains[chain].left[upper] -= 1;
            safe &= self.is_safe_at(chain, upper);
            let parent = above.expect("what was split has parts");
            if self.live(parent).healthy {
                self.doom_some(chain, upper);
            } else {
                remove(&mut self.now.chains[chain].bad[upper], parent);
            }
            above = self.parent(parent);
        }
        if self.live(id).healthy {
            self.doom_some(chain, level);
        } else {
            self.take_bad(id);
            if !doomed {
                self.spare_some(chain, level);
            }
        }
        let mut fewer = self.build.chains[chain].parts[level] as i32;
        for lower in (1..level).rev() {
            self.now.chains[chain].left[lower] -= fewer;
            safe &= self.is_safe_at(chain, lower);
            if !doomed {
                self.doom_some(chain, lower);
            }
            fewer *= self.build.chains[chain].parts[lower] as i32;
        }
        safe
    }

    /// A physical cell comes back from a virtual cluster.
    pub(super) fn give_root(&mut self, id: CellId, cluster: usize, doomed: bool) {
        let (chain, level) = (self.fixed(id).chain, self.fixed(id).level);
        self.count_unused(chain, level, cluster, 1);
        self.now.chains[chain].left[level] += 1;
        let merged_up_to = self.add_free(id);
        let mut above = self.parent(id);
        for upper in level + 1..=merged_up_to {
            self.now.chains[chain].left[upper] += 1;
            let parent = above.expect("what was merged has parts");
            if self.live(parent).healthy {
                self.spare_some(chain, upper);
            } else {
                self.now.chains[chain].bad[upper].push(parent);
            }
            above = self.parent(parent);
        }
        if self.live(id).healthy {
            self.spare_some(chain, level);
        } else {
            self.give_bad(id);
            if !doomed {
                self.doom_some(chain, level);
            }
        }
        let mut more = self.build.chains[chain].parts[level] as i32;
        for lower in (1..level).rev() {
            self.now.chains[chain].left[lower] += more;
            if !doomed {
                self.spare_some(chain, lower);
            }
            more *= self.build.chains[chain].parts[lower] as i32;
        }
    }

    /// Whether all that clusters own and do not use at a level is still there in some form.
    fn is_safe_at(&self, chain: usize, level: usize) -> bool {
        let chain = &self.now.chains[chain];
        chain.left[level] >= chain.unused[level]
    }

    fn count_unused(&mut self, chain: usize, level: usize, cluster: usize, more: i32) {
        self.now.chains[chain].unused[level] += more;
        let unused = self.now.holdings[cluster].unused.get_mut(&chain);
        unused.expect("a cluster takes only what it owns")[level] += more;
    }

    /// Take a cell out of the free list, splitting what it is part of. Returns up to which level.
    fn remove_free(&mut self, mut id: CellId) -> usize {
        let (build, chain) = (self.build.clone(), self.fixed(id).chain);
        loop {
            let level = self.fixed(id).level;
            let whole = self.parent(id).filter(|parent| !self.live(*parent).split);
            if let Some(parent) = whole {
                let children = &build.cells[parent as usize].children;
                self.now.chains[chain].free[level].extend(children);
                self.live_mut(parent).split = true;
            }
            remove(&mut self.now.chains[chain].free[level], id);
            match whole {
                Some(parent) => id = parent,
                None => return level,
            }
        }
    }

    /// Put a cell back into the free list, merging buddies. Returns up to which level.
    fn add_free(&mut self, mut id: CellId) -> usize {
        let (build, chain) = (self.build.clone(), self.fixed(id).chain);
        loop {
            let level = self.fixed(id).level;
            let free = &mut self.now.chains[chain].free[level];
            let parent = self.build.cells[id as usize].parent;
            let buddies = parent.map(|parent| &build.cells[parent as usize].children[..]);
            let mut others = buddies.unwrap_or(&[]).iter().filter(|buddy| **buddy != id);
            let merges = parent.filter(|_| others.clone().all(|buddy| free.contains(buddy)));
            let Some(parent) = merges else {
                free.push(id);
                return level;
            };
            others.by_ref().for_each(|buddy| remove(free, *buddy));
            self.live_mut(parent).split = false;
            id = parent;
        }
    }
}

/// Take a cell out of a list, filling its place with the last: the order that later searches see
/// is that of the published program.
pub(super) fn remove(list: &mut Vec<CellId>, id: CellId) {
    if let Some(index) = list.iter().position(|other| *other == id) {
        list.swap_remove(index);
    }
}
