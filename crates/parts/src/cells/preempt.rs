//! Giving way. A gang that needs leaves of others claims them, so that no two wait for the same;
//! the others give them up when they can. A gang may also lose its guarantee only, and go on until
//! somebody needs its very leaves.

use super::cell::{CellId, LeafState};
use super::schedule::Spot;
use super::{Cells, Gang, GangId, GangState, Request};

impl Cells {
    pub(super) fn is_used(&self, leaf: CellId) -> bool {
        self.live(leaf).state == LeafState::Used
    }

    /// A gang claims leaves of others.
    pub(super) fn claim(&mut self, request: &Request, mut spot: Spot) {
        let mut gang = self.new_gang(request, GangState::Preempting);
        gang.asking.insert(request.pod);
        self.hold = true;
        for (pod, leaves) in spot.physical.iter().enumerate() {
            for (place, leaf) in leaves.iter().enumerate() {
                let Some(leaf) = *leaf else { continue };
                let used = self.is_used(leaf);
                if used {
                    self.give_leaf(leaf);
                    let using = self.live(leaf).using;
                    if let Some(victim) = using.and_then(|id| self.now.gangs.get_mut(&id)) {
                        victim.state = GangState::BeingPreempted;
                    }
                }
                if let Some(own) = spot.own.as_ref().and_then(|own| own[pod][place]) {
                    let level = self.fixed(self.fixed(own).root).level;
                    self.clear_way(leaf, gang.cluster, level);
                }
                let own = spot.own.as_mut().and_then(|own| {
                    own[pod][place] = self.fitted(leaf, own[pod][place], request.priority);
                    own[pod][place]
                });
                self.take_leaf(leaf, own, request.priority);
                let live = self.live_mut(leaf);
                live.reserving = Some(request.gang);
                live.state = if used { LeafState::Reserving } else { LeafState::Reserved };
            }
        }
        gang.taken = vec![false; spot.physical.len()];
        gang.physical = spot.physical;
        gang.own = spot.own;
        self.now.gangs.insert(request.gang, gang);
        self.settle();
    }

    /// A gang gives up what it has claimed; who was to give way keeps their leaves.
    pub(super) fn cancel(&mut self, id: GangId) {
        let Some(gang) = self.now.gangs.remove(&id) else { return };
        self.hold = true;
        for leaf in gang.leaves() {
            self.give_leaf(leaf);
            self.live_mut(leaf).reserving = None;
            if self.live(leaf).state != LeafState::Reserving {
                self.live_mut(leaf).state = LeafState::Free;
                continue;
            }
            self.live_mut(leaf).state = LeafState::Used;
            let Some(id) = self.live(leaf).using else { continue };
            let mut victim = self.now.gangs.remove(&id).expect("who uses a leaf is known");
            let priority = victim.priority;
            let own = own_leaf(&mut victim, leaf).and_then(|own| {
                *own = self.fitted(leaf, *own, priority);
                *own
            });
            self.now.gangs.insert(id, victim);
            self.take_leaf(leaf, own, priority);
        }
        self.settle();
        self.settle_states();
    }

    /// Gangs that nobody wants leaves of any more are not being preempted.
    fn settle_states(&mut self) {
        let ids: Vec<GangId> = self.now.gangs.keys().copied().collect();
        for id in ids {
            let gang = &self.now.gangs[&id];
            let wanted = gang.leaves().iter().any(|leaf| self.live(*leaf).reserving.is_some());
            if gang.state == GangState::BeingPreempted && !wanted {
                self.now.gangs.get_mut(&id).expect("it is known").state = GangState::Allocated;
            }
        }
    }

    /// Take a gang's guarantee.
    pub(super) fn relieve(&mut self, victim: GangId, by: GangId) {
        let gang = self.now.gangs.get_mut(&victim);
        let Some(own) = gang.and_then(|gang| gang.own.take()) else { return };
        self.now.gangs.get_mut(&victim).expect("looked at above").lost_to = Some(by);
        for leaf in own.iter().flatten().flatten() {
            if let Some(physical) = self.bound(*leaf) {
                self.give_leaf(physical);
                self.take_leaf(physical, None, 0);
            }
        }
    }

    /// If a leaf is part of a doomed cell of another cluster, or of another size than it is wanted
    /// for, that cell is let go.
    pub(super) fn clear_way(&mut self, leaf: CellId, cluster: usize, level: usize) {
        let mut next = Some(leaf);
        while let Some(id) = next {
            if let Some(own) = self.bound(id) {
                let (root, other) = (self.fixed(own).root, self.fixed(own).cluster);
                let top = self.bound(root).filter(|top| self.is_doomed(*top, other));
                let same = other == cluster && self.fixed(root).level == level;
                if let Some(top) = top.filter(|_| !same) {
                    self.untie(top);
                    self.undoom(top, other);
                    self.give_root(top, other, true);
                }
                return;
            }
            next = self.parent(id);
        }
    }

    /// The virtual leaf that a physical one is to be used as, or another where that does not do any
    /// more: taking or giving cells may have doomed others, and bound what was free.
    fn fitted(&self, leaf: CellId, own: Option<CellId>, priority: i32) -> Option<CellId> {
        let own = own?;
        let mut pair = Some((leaf, own));
        while let Some((id, own_id)) = pair {
            if self.bound(own_id).is_some_and(|bound| bound != id) {
                let fixed = self.fixed(self.fixed(own).root);
                let (root, level) = (self.fixed(own).root, fixed.level);
                let owned = self.build.owned[fixed.cluster].get(&fixed.chain);
                let owned = owned.map(|lists| &lists[level]).filter(|list| list.contains(&root));
                return self.own_of(leaf, owned.map_or(&[root], Vec::as_slice), level, priority);
            }
            pair = self.parent(id).zip(self.parent(own_id));
        }
        Some(own)
    }

    /// Take the guarantee of all gangs inside a virtual cell.
    pub(super) fn relieve_in(&mut self, own: CellId, by: GangId) {
        if self.fixed(own).level == 1 {
            let physical = self.bound(own).filter(|leaf| self.is_used(*leaf));
            if let Some(victim) = physical.and_then(|leaf| self.live(leaf).using) {
                self.relieve(victim, by);
            }
            return;
        }
        for child in self.fixed(own).children.clone() {
            self.relieve_in(child, by);
        }
    }

    pub(super) fn new_gang(&self, request: &Request, state: GangState) -> Gang {
        Gang {
            cluster: self.cluster_named(request.cluster).unwrap_or_default(),
            priority: request.priority,
            lazy: request.lazy,
            state,
            lost_to: None,
            physical: Vec::new(),
            own: None,
            taken: Vec::new(),
            asking: Default::default(),
        }
    }
}

/// The leaf in its cluster that a gang uses a physical leaf as.
fn own_leaf(gang: &mut Gang, leaf: CellId) -> Option<&mut Option<CellId>> {
    let own = gang.own.as_mut()?;
    let mut pairs = gang.physical.iter().flatten().zip(own.iter_mut().flatten());
    pairs.find(|(physical, _)| **physical == Some(leaf)).map(|(_, own)| own)
}
