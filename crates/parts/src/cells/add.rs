//! Gangs come, as they were told where to go or as they were found after a restart, and go. A gang
//! found on leaves that its cluster has no cells for any more goes on without a guarantee.

use super::cell::{CellId, FREE, LeafState};
use super::gang::sizes;
use super::{Binding, Cells, GangId, GangState, Request};

/// What a leaf is to a gang that is found on it.
enum Claim {
    /// It is part of a cell that the gang's cluster owns.
    Owned(CellId),
    /// It was used without a guarantee.
    Unowned,
    /// It was part of an owned cell, and there is none.
    Lost,
}

impl Cells {
    /// A pod is where it was told to go.
    pub fn add(&mut self, request: &Request, binding: &Binding) {
        match self.now.gangs.get(&request.gang).map(|gang| gang.state) {
            None => self.create(request, binding),
            Some(GangState::Preempting) => self.allocate(request.gang),
            Some(_) => {}
        }
        let gang = self.now.gangs.get_mut(&request.gang).expect("it was just made");
        if let Some(taken) = gang.taken.get_mut(binding.index) {
            *taken = true;
        }
    }

    /// A pod is gone; with the last one, the gang is.
    pub fn delete(&mut self, id: GangId, index: usize) {
        let Some(gang) = self.now.gangs.get_mut(&id) else { return };
        if let Some(taken) = gang.taken.get_mut(index) {
            *taken = false;
        }
        if gang.taken.iter().any(|taken| *taken) {
            return;
        }
        let gang = self.now.gangs.remove(&id).expect("it is known");
        for leaf in gang.leaves() {
            self.live_mut(leaf).using = None;
            if self.is_used(leaf) {
                self.give_leaf(leaf);
                self.live_mut(leaf).state = LeafState::Free;
            } else {
                // Whoever claimed it has it.
                self.live_mut(leaf).state = LeafState::Reserved;
            }
        }
    }

    /// A whole gang is where it was told to go.
    pub fn enter(&mut self, request: &Request, binding: &Binding) {
        self.add(request, binding);
        let gang = self.now.gangs.get_mut(&request.gang).expect("it was just added");
        gang.taken.fill(true);
    }

    /// A whole gang is gone, if it was there.
    pub fn leave(&mut self, id: GangId) {
        if let Some(gang) = self.now.gangs.get_mut(&id) {
            gang.taken.fill(false);
            self.delete(id, 0);
        }
    }

    /// Take all gangs that run over into cells of another layout. Those for which there are no
    /// cells any more go on without a guarantee.
    pub fn move_to(&self, other: &mut Cells) {
        for (id, gang) in self.gangs().filter(|(_, gang)| gang.state != GangState::Preempting) {
            let members: Vec<(u32, u32)> =
                gang.physical.iter().map(|pod| (1, pod.len() as u32)).collect();
            let request = Request {
                cluster: &self.build.clusters[gang.cluster],
                priority: gang.priority,
                lazy: gang.lazy,
                pinned: None,
                leaf_type: None,
                chain: None,
                gang: id,
                members: &members,
                pod: 0,
                leaves: members.first().map_or(0, |(_, leaves)| *leaves),
            };
            other.enter(&request, &self.binding(&gang.physical, gang.own.as_ref(), 0));
        }
    }

    /// A pod that waited for others to give way does not want to any more.
    pub fn withdraw(&mut self, id: GangId, pod: u32) {
        let Some(gang) = self.now.gangs.get_mut(&id) else { return };
        gang.asking.remove(&pod);
        if gang.state == GangState::Preempting && gang.asking.is_empty() {
            self.cancel(id);
        }
    }

    /// A gang that had claimed leaves takes them.
    fn allocate(&mut self, id: GangId) {
        let gang = self.now.gangs.get_mut(&id).expect("it is known");
        gang.state = GangState::Allocated;
        gang.asking.clear();
        for leaf in self.now.gangs[&id].leaves() {
            let live = self.live_mut(leaf);
            live.reserving = None;
            live.using = Some(id);
            live.state = LeafState::Used;
        }
    }

    fn create(&mut self, request: &Request, binding: &Binding) {
        let mut gang = self.new_gang(request, GangState::Allocated);
        let sizes = sizes(request.members);
        gang.physical = sizes.iter().map(|size| vec![None; *size as usize]).collect();
        gang.taken = vec![false; sizes.len()];
        let mut own = Some(gang.physical.clone());
        let mut loses = false;
        self.hold = true;
        for (pod, bound) in binding.pods.iter().enumerate() {
            for (place, slot) in bound.slots.iter().enumerate() {
                let leaf = self.leaf_at(&binding.chain, &bound.node, *slot);
                let slots = gang.physical.get_mut(pod).and_then(|pod| pod.get_mut(place));
                let Some((leaf, slot)) = leaf.zip(slots) else { continue };
                *slot = Some(leaf);
                let shape = &self.build.chains[self.fixed(leaf).chain];
                let level = bound.roots[place].as_deref().and_then(|root| shape.level_of(root));
                if let Some(level) = level {
                    self.clear_way(leaf, gang.cluster, level);
                }
                let claim = match own.is_some() && !loses {
                    true => self.claim_of(request, leaf, bound.roots[place].as_deref()),
                    false => Claim::Unowned,
                };
                let own_leaf = match claim {
                    Claim::Owned(own_leaf) => {
                        let root = self.fixed(own_leaf).root;
                        if self.is_free(leaf) && self.live(root).priority > FREE {
                            // The owned cell is bound elsewhere; that was before a change.
                            self.relieve_in(root, request.gang);
                        }
                        own.as_mut().expect("looked at above")[pod][place] = Some(own_leaf);
                        Some(own_leaf)
                    }
                    Claim::Unowned => {
                        if !loses {
                            own = None;
                        }
                        None
                    }
                    Claim::Lost => {
                        loses = true;
                        None
                    }
                };
                loses |= !self.take_leaf(leaf, own_leaf, request.priority);
                let live = self.live_mut(leaf);
                live.using = Some(request.gang);
                live.state = LeafState::Used;
            }
        }
        gang.own = own;
        self.now.gangs.insert(request.gang, gang);
        self.settle();
        if loses {
            self.relieve(request.gang, request.gang);
        }
    }

    /// A leaf by its node and number, in a chain or else in any.
    fn leaf_at(&self, chain: &str, node: &str, slot: u32) -> Option<CellId> {
        let leaves = self.build.leaves.get(&(node.to_string(), slot))?;
        let is_there = |id: &&CellId| self.build.chains[self.fixed(**id).chain].name == chain;
        leaves.iter().find(is_there).or_else(|| leaves.first()).copied()
    }

    /// The virtual leaf for a physical one that is used as part of an owned cell of some type.
    fn claim_of(&self, request: &Request, leaf: CellId, root: Option<&str>) -> Claim {
        let Some(root) = root else { return Claim::Unowned };
        let chain = self.fixed(leaf).chain;
        let level = self.build.chains[chain].level_of(root);
        let cluster = self.cluster_named(request.cluster);
        let Some((level, cluster)) = level.zip(cluster) else { return Claim::Lost };
        let pinned = request.pinned.and_then(|pin| self.build.pins[cluster].get(pin));
        let owned = match request.pinned {
            Some(_) => pinned.map(|pin| vec![*pin]),
            None => self.build.owned[cluster].get(&chain).map(|lists| lists[level].clone()),
        };
        let own = owned.and_then(|owned| self.own_of(leaf, &owned, level, request.priority));
        own.map_or(Claim::Lost, Claim::Owned)
    }

    pub(super) fn own_of(
        &self,
        id: CellId,
        owned: &[CellId],
        level: usize,
        priority: i32,
    ) -> Option<CellId> {
        if let Some(own) = self.bound(id) {
            return Some(own);
        }
        if self.fixed(id).level == level {
            return self.weakest(owned, priority);
        }
        let parent = self.own_of(self.parent(id)?, owned, level, priority)?;
        self.weakest(&self.fixed(parent).children, priority)
    }

    /// Of some virtual cells, one that is free and not bound, or else the one of lowest priority
    /// below another.
    fn weakest(&self, cells: &[CellId], priority: i32) -> Option<CellId> {
        let is_free = |id: &&CellId| self.live(**id).priority == FREE && self.bound(**id).is_none();
        let lower = cells.iter().filter(|id| {
            let at = self.live(**id).priority;
            at != FREE && at < priority
        });
        let free = cells.iter().find(is_free);
        free.or_else(|| lower.min_by_key(|id| self.live(**id).priority)).copied()
    }
}
