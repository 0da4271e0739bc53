//! Giving way. A gang that needs leaves of others claims them, so that no two wait for the same;
//! the others give them up when they can. A gang may also lose its guarantee only, and go on until
//! somebody needs its very leaves.

use super::cell::{CellId, LeafState};
use super::gang::Pods;
use super::schedule::Spot;
use super::{Cells, Gang, GangId, GangState, Request};

impl Cells {
    pub(super) fn is_used(&self, leaf: CellId) -> bool {
        self.live(leaf).state == LeafState::Used
    }

    /// A gang claims leaves of others.
    pub(super) fn claim(&mut self, request: &Request, spot: Spot) {
        let mut gang = self.new_gang(request, GangState::Preempting);
        gang.asking.insert(request.pod);
        for (pod, leaves) in spot.physical.iter().enumerate() {
            for (place, leaf) in leaves.iter().enumerate() {
                let Some(leaf) = *leaf else { continue };
                let own = spot.own.as_ref().and_then(|own| own[pod][place]);
                let used = self.is_used(leaf);
                if used {
                    self.give_leaf(leaf);
                    let using = self.live(leaf).using;
                    if let Some(victim) = using.and_then(|id| self.now.gangs.get_mut(&id)) {
                        victim.state = GangState::BeingPreempted;
                    }
                }
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
    }

    /// A gang gives up what it has claimed; who was to give way keeps their leaves.
    pub(super) fn cancel(&mut self, id: GangId) {
        let Some(gang) = self.now.gangs.remove(&id) else { return };
        for leaf in gang.leaves() {
            self.give_leaf(leaf);
            self.live_mut(leaf).reserving = None;
            if self.live(leaf).state != LeafState::Reserving {
                self.live_mut(leaf).state = LeafState::Free;
                continue;
            }
            self.live_mut(leaf).state = LeafState::Used;
            let victim = self.live(leaf).using.and_then(|id| self.now.gangs.get(&id));
            let Some(victim) = victim else { continue };
            let (own, priority) = (own_leaf(victim, leaf), victim.priority);
            self.take_leaf(leaf, own, priority);
        }
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

    /// Take a gang's guarantee, and return its leaves in its cluster.
    pub(super) fn relieve(&mut self, victim: GangId, by: GangId) -> Option<Pods> {
        let gang = self.now.gangs.get_mut(&victim)?;
        let own = gang.own.take()?;
        gang.lost_to = Some(by);
        for leaf in own.iter().flatten().flatten() {
            if let Some(physical) = self.bound(*leaf) {
                self.give_leaf(physical);
                self.take_leaf(physical, None, 0);
            }
        }
        Some(own)
    }

    /// Give a gang its guarantee back.
    pub(super) fn reinstate(&mut self, id: GangId, own: Pods) {
        let Some(gang) = self.now.gangs.get_mut(&id) else { return };
        gang.lost_to = None;
        gang.own = Some(own.clone());
        let (physical, priority) = (gang.physical.clone(), gang.priority);
        for (leaf, own) in physical.iter().flatten().zip(own.iter().flatten()) {
            if let Some(leaf) = *leaf {
                self.give_leaf(leaf);
                self.take_leaf(leaf, *own, priority);
            }
        }
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
fn own_leaf(gang: &Gang, leaf: CellId) -> Option<CellId> {
    let own = gang.own.as_ref()?;
    let mut pairs = gang.physical.iter().flatten().zip(own.iter().flatten());
    pairs.find(|(physical, _)| **physical == Some(leaf)).and_then(|(_, own)| *own)
}
