//! Bad hardware. A cell is bad if any part of it is. Where fewer healthy cells are free than a
//! virtual cluster still owns, some of its cells are doomed: they are bound to bad ones, so that
//! whoever places gangs inside the cluster sees it.

use super::Cells;
use super::cell::{CellId, OPPORTUNISTIC};
use super::free::remove;

impl Cells {
    /// A node broke or went away.
    pub fn set_bad(&mut self, node: u32) {
        if self.now.bad_nodes.insert(node) {
            for leaf in self.leaves_of(node) {
                self.spoil(leaf);
            }
        }
    }

    /// A node is there again.
    pub fn set_healthy(&mut self, node: u32) {
        if self.now.bad_nodes.remove(&node) {
            for leaf in self.leaves_of(node) {
                self.heal(leaf);
            }
        }
    }

    fn leaves_of(&self, node: u32) -> Vec<CellId> {
        let is_there = |id: &CellId| self.fixed(*id).first_node == node;
        let name = &self.build.nodes[node as usize];
        let from = (name.clone(), 0);
        let of_name = self.build.leaves.range(from..).take_while(|((other, _), _)| other == name);
        let mut leaves: Vec<CellId> =
            of_name.flat_map(|(_, leaves)| leaves).copied().filter(is_there).collect();
        leaves.sort_unstable();
        leaves
    }

    fn spoil(&mut self, id: CellId) {
        if !self.live(id).healthy {
            return;
        }
        self.live_mut(id).healthy = false;
        if let Some(parent) = self.parent(id) {
            self.spoil(parent);
        }
        if self.is_free(id) {
            let (chain, level) = (self.fixed(id).chain, self.fixed(id).level);
            self.now.chains[chain].bad[level].push(id);
            if self.now.chains[chain].unused[level] > self.healthy_left(chain, level) {
                self.doom_some(chain, level);
            }
        } else if self.bound(id).is_none() && !self.live(id).split {
            self.show(id);
        }
    }

    /// Bind a bad cell inside a bound one, so that it can be seen from inside the cluster.
    fn show(&mut self, id: CellId) {
        let own_parent = self.parent(id).and_then(|parent| self.bound(parent));
        let own = own_parent.and_then(|own| self.first_unbound(&self.fixed(own).children));
        if let Some(own) = own {
            self.tie(id, own);
        }
    }

    fn heal(&mut self, id: CellId) {
        if self.live(id).healthy {
            return;
        }
        self.live_mut(id).healthy = true;
        let (chain, level) = (self.fixed(id).chain, self.fixed(id).level);
        if self.is_free(id) {
            remove(&mut self.now.chains[chain].bad[level], id);
            self.spare_some(chain, level);
        } else if let Some(own) = self.bound(id) {
            let in_use = self.live(id).priority > OPPORTUNISTIC;
            if !self.fixed(id).pinned && !in_use {
                // It was bound only because it was bad.
                self.untie(id);
                if self.parent(own).is_none() {
                    let cluster = self.fixed(own).cluster;
                    self.undoom(id, cluster);
                    self.give_root(id, cluster, true);
                }
            }
        }
        let Some(parent) = self.parent(id) else { return };
        if self.fixed(parent).children.iter().all(|buddy| self.live(*buddy).healthy) {
            self.heal(parent);
        }
    }

    fn healthy_left(&self, chain: usize, level: usize) -> i32 {
        let chain = &self.now.chains[chain];
        chain.left[level] - chain.bad[level].len() as i32
    }

    fn unused(&self, cluster: usize, chain: usize, level: usize) -> Option<i32> {
        self.now.holdings[cluster].unused.get(&chain).map(|unused| unused[level])
    }

    fn clusters_to_doom(&self) -> usize {
        if self.hold { 0 } else { self.now.holdings.len() }
    }

    /// Do what was held back.
    pub(super) fn settle(&mut self) {
        self.hold = false;
        for chain in 0..self.now.chains.len() {
            // Without bad cells there is nothing to doom or to spare.
            if self.now.bad_nodes.is_empty() {
                return;
            }
            for level in (1..=self.build.chains[chain].top()).rev() {
                self.doom_some(chain, level);
                self.spare_some(chain, level);
            }
        }
    }

    /// Doom cells of clusters that own more of a level than healthy ones are left.
    pub(super) fn doom_some(&mut self, chain: usize, level: usize) {
        for cluster in 0..self.clusters_to_doom() {
            while self
                .unused(cluster, chain, level)
                .is_some_and(|unused| unused > self.healthy_left(chain, level))
            {
                let bad = self.now.chains[chain].bad[level].first().copied();
                let owned = self.build.owned[cluster].get(&chain);
                let own = owned.and_then(|lists| self.first_unbound(&lists[level]));
                let Some((bad, own)) = bad.zip(own) else { break };
                self.tie(bad, own);
                let doomed = self.now.holdings[cluster].doomed.get_mut(&chain);
                doomed.expect("a cluster has a list for each of its chains")[level].push(bad);
                self.take_root(bad, cluster, true);
            }
        }
    }

    /// Let go of doomed cells where healthy ones can be had again.
    pub(super) fn spare_some(&mut self, chain: usize, level: usize) {
        for cluster in 0..self.clusters_to_doom() {
            loop {
                let doomed = self.now.holdings[cluster].doomed.get(&chain);
                let first = doomed.and_then(|lists| lists[level].first().copied());
                let Some((id, unused)) = first.zip(self.unused(cluster, chain, level)) else {
                    break;
                };
                if unused >= self.healthy_left(chain, level) {
                    break;
                }
                self.untie(id);
                self.undoom(id, cluster);
                self.give_root(id, cluster, true);
            }
        }
    }

    pub(super) fn undoom(&mut self, id: CellId, cluster: usize) {
        let (chain, level) = (self.fixed(id).chain, self.fixed(id).level);
        if let Some(lists) = self.now.holdings[cluster].doomed.get_mut(&chain) {
            remove(&mut lists[level], id);
        }
    }

    pub(super) fn is_doomed(&self, id: CellId, cluster: usize) -> bool {
        let (chain, level) = (self.fixed(id).chain, self.fixed(id).level);
        let lists = self.now.holdings[cluster].doomed.get(&chain);
        lists.is_some_and(|lists| lists[level].contains(&id))
    }

    /// A bad cell leaves the free list: what is bad in it is bound, so that it is seen.
    pub(super) fn take_bad(&mut self, id: CellId) {
        let (chain, level) = (self.fixed(id).chain, self.fixed(id).level);
        remove(&mut self.now.chains[chain].bad[level], id);
        if self.bound(id).is_none() {
            self.show(id);
        }
        for child in self.bad_children(id) {
            self.take_bad(child);
        }
    }

    /// A bad cell comes back into the free list, and is bound to nobody.
    pub(super) fn give_bad(&mut self, id: CellId) {
        let (chain, level) = (self.fixed(id).chain, self.fixed(id).level);
        self.now.chains[chain].bad[level].push(id);
        self.untie(id);
        for child in self.bad_children(id) {
            self.give_bad(child);
        }
    }

    fn bad_children(&self, id: CellId) -> Vec<CellId> {
        let children = self.fixed(id).children.iter().copied();
        children.filter(|child| !self.live(*child).healthy).collect()
    }
}
