//! Where a gang goes: inside its virtual cluster first, and then on the physical cells bound to
//! those; or, without a guarantee, straight on physical cells.

use super::cell::{CellId, OPPORTUNISTIC, PRIORITY_MAX};
use super::gang::{Pods, sizes};
use super::map::Found;
use super::{
    Answer, Binding, BoundPod, Cells, Gang, GangId, GangState, Phase, Refusal, Request, Shortage,
    Suggested,
};
use std::collections::BTreeSet;

/// Leaves found for a gang: physical ones, and with a guarantee those of its cluster.
pub(super) struct Spot {
    pub physical: Pods,
    pub own: Option<Pods>,
}

/// The part of the cells to look at.
#[derive(Clone, Copy)]
enum Domain<'a> {
    Chain(usize),
    Pinned(&'a str),
}

impl Cells {
    /// Where a pod goes. Claims leaves that others must give up; a gang that can go somewhere
    /// takes nothing before `add` says that it did.
    pub fn schedule(
        &mut self,
        request: &Request,
        suggested: Suggested,
        phase: Phase,
    ) -> Result<Answer, Refusal> {
        self.check(request)?;
        let is_known = self.now.gangs.contains_key(&request.gang);
        if is_known && let Some(answer) = self.join(request, suggested, phase)? {
            return Ok(answer);
        }
        let spot = match self.find(request, suggested)? {
            Ok(spot) => spot,
            Err(shortage) => return Ok(Answer::Wait(shortage)),
        };
        let (victims, rivals) = self.in_the_way(&spot.physical);
        if phase == Phase::Preempting {
            for rival in rivals {
                self.cancel(rival);
            }
            if !victims.is_empty() {
                self.claim(request, spot);
                return Ok(Answer::Preempt(victims));
            }
        }
        if !victims.is_empty() {
            return Ok(Answer::Preempt(victims));
        }
        let first = first_of_size(&spot.physical, request.leaves);
        Ok(Answer::Bind(self.binding(&spot.physical, spot.own.as_ref(), first)))
    }

    fn check(&self, request: &Request) -> Result<(), Refusal> {
        let cluster = self.cluster_named(request.cluster);
        let cluster = cluster.ok_or_else(|| Refusal::NoSuchCluster(request.cluster.into()))?;
        if !(OPPORTUNISTIC..=PRIORITY_MAX).contains(&request.priority) {
            return Err(Refusal::Priority(request.priority));
        }
        let of_size = |(pods, leaves): &&(u32, u32)| *pods > 0 && *leaves == request.leaves;
        if request.leaves == 0 || !request.members.iter().any(|member| of_size(&member)) {
            return Err(Refusal::NotOfTheGang(request.gang));
        }
        let Some(pin) = request.pinned else { return Ok(()) };
        match self.build.pins[cluster].contains_key(pin) {
            false => Err(Refusal::NoSuchPin(pin.into())),
            true if request.priority == OPPORTUNISTIC => {
                Err(Refusal::PinWithoutGuarantee(pin.into()))
            }
            true => Ok(()),
        }
    }

    /// One more pod of a gang that is known. None if the gang had to give up its claim.
    fn join(
        &mut self,
        request: &Request,
        suggested: Suggested,
        phase: Phase,
    ) -> Result<Option<Answer>, Refusal> {
        let gang = &self.now.gangs[&request.gang];
        if gang.state != GangState::Preempting {
            let missing = gang.missing(request.leaves);
            let index = missing.ok_or(Refusal::NotOfTheGang(request.gang))?;
            return Ok(Some(Answer::Bind(self.binding(&gang.physical, gang.own.as_ref(), index))));
        }
        if phase == Phase::Preempting && !self.still_good(gang, suggested) {
            self.cancel(request.gang);
            return Ok(None);
        }
        let (victims, _) = self.in_the_way(&gang.physical);
        let first = first_of_size(&gang.physical, request.leaves);
        let binding = self.binding(&gang.physical, gang.own.as_ref(), first);
        let gang = self.now.gangs.get_mut(&request.gang).expect("it is known");
        gang.asking.insert(request.pod);
        match victims.is_empty() {
            true => Ok(Some(Answer::Bind(binding))),
            false => Ok(Some(Answer::Preempt(victims))),
        }
    }

    fn still_good(&self, gang: &Gang, suggested: Suggested) -> bool {
        gang.leaves().iter().all(|leaf| {
            let node = self.fixed(*leaf).first_node;
            self.live(*leaf).healthy && suggested.is_none_or(|nodes| nodes.contains(&node))
        })
    }

    /// Leaves for a new gang, in the first chain that has them.
    fn find(
        &mut self,
        request: &Request,
        suggested: Suggested,
    ) -> Result<Result<Spot, Shortage>, Refusal> {
        if let Some(pin) = request.pinned {
            return Ok(self.find_in(request, Domain::Pinned(pin), suggested));
        }
        let cluster = self.cluster_named(request.cluster).expect("the request was checked");
        let by_right = request.priority > OPPORTUNISTIC;
        let mut chains: Vec<usize> = (0..self.build.chains.len()).collect();
        let leaf = |chain: usize| self.build.chains[chain].types[0].as_str();
        match request.leaf_type {
            Some(name) => chains.retain(|chain| leaf(*chain) == name),
            None => chains.sort_by_key(|chain| leaf(*chain)),
        }
        let is_asked =
            |chain: usize| request.chain.is_none_or(|name| self.build.chains[chain].name == name);
        chains.retain(|chain| is_asked(*chain));
        chains.retain(|chain| !by_right || self.build.owned[cluster].contains_key(chain));
        if let (true, Some(name)) = (chains.is_empty(), request.leaf_type) {
            return Err(Refusal::NoSuchLeaf(name.into()));
        }
        let mut last = Shortage::TooFewCells;
        for chain in chains {
            match self.find_in(request, Domain::Chain(chain), suggested) {
                Ok(spot) => return Ok(Ok(spot)),
                Err(shortage) => last = shortage,
            }
        }
        Ok(Err(last))
    }

    fn find_in(
        &mut self,
        request: &Request,
        domain: Domain,
        suggested: Suggested,
    ) -> Result<Spot, Shortage> {
        let sizes = sizes(request.members);
        let cluster = self.cluster_named(request.cluster).expect("the request was checked");
        if request.priority == OPPORTUNISTIC {
            let Domain::Chain(chain) = domain else { return Err(Shortage::TooFewCells) };
            let mut view = std::mem::take(&mut self.now.chains[chain].view);
            let physical = self.place_pods(&mut view, &sizes, OPPORTUNISTIC, suggested);
            self.now.chains[chain].view = view;
            return Ok(Spot { physical: physical?, own: None });
        }
        let place = |cells: &Cells, view: &mut Vec<CellId>| {
            cells.place_pods(view, &sizes, request.priority, suggested)
        };
        let own = match domain {
            Domain::Chain(chain) => {
                let mut view = self.now.holdings[cluster].views[&chain].clone();
                let own = place(self, &mut view);
                self.now.holdings[cluster].views.insert(chain, view);
                own?
            }
            Domain::Pinned(pin) => {
                let mut view = self.now.holdings[cluster].pinned_views[pin].clone();
                let own = place(self, &mut view);
                self.now.holdings[cluster].pinned_views.insert(pin.into(), view);
                own?
            }
        };
        let chain = match domain {
            Domain::Chain(chain) => chain,
            Domain::Pinned(pin) => self.fixed(self.build.pins[cluster][pin]).chain,
        };
        self.map_own(own, chain, request.gang, suggested)
    }

    /// Physical leaves for those of a cluster. Gangs of the cluster that are there lose their
    /// guarantee, where that is how they give way.
    fn map_own(
        &mut self,
        own: Pods,
        chain: usize,
        gang: GangId,
        suggested: Suggested,
    ) -> Result<Spot, Shortage> {
        let leaves: Vec<CellId> = own.iter().flatten().copied().flatten().collect();
        let mut before = None;
        for leaf in &leaves {
            let Some(physical) = self.bound(*leaf) else { continue };
            let using = self.live(physical).using.filter(|_| self.is_used(physical));
            let Some(victim) = using.filter(|id| self.now.gangs[id].lazy) else { continue };
            before.get_or_insert_with(|| self.now.clone());
            self.hold = true;
            self.relieve(victim, gang);
        }
        let mut found = Found::new();
        let paths = self.paths(&leaves, &mut found);
        let mapped = self.map_all(chain, &paths, suggested, &mut found);
        if let Some(before) = before {
            match mapped {
                true => self.settle(),
                // Nobody loses anything for a gang that does not start.
                false => (self.now, self.hold) = (before, false),
            }
        }
        if !mapped {
            return Err(Shortage::Unmapped);
        }
        let map = |pod: &Vec<Option<CellId>>| {
            pod.iter().map(|leaf| leaf.and_then(|leaf| found.get(&leaf).copied())).collect()
        };
        Ok(Spot { physical: own.iter().map(map).collect(), own: Some(own) })
    }

    /// Gangs that run on some leaves, and gangs that have claimed some of them.
    pub(super) fn in_the_way(&self, pods: &Pods) -> (Vec<GangId>, Vec<GangId>) {
        let (mut victims, mut rivals) = (BTreeSet::new(), BTreeSet::new());
        for leaf in pods.iter().flatten().flatten() {
            victims.extend(self.live(*leaf).using);
            rivals.extend(self.live(*leaf).reserving);
        }
        (victims.into_iter().collect(), rivals.into_iter().collect())
    }

    pub(super) fn binding(&self, physical: &Pods, own: Option<&Pods>, index: usize) -> Binding {
        let mut chain = 0;
        let mut pods = Vec::new();
        for (pod, leaves) in physical.iter().enumerate() {
            let mut bound = BoundPod { node: String::new(), slots: Vec::new(), roots: Vec::new() };
            for (place, leaf) in leaves.iter().enumerate() {
                let Some(leaf) = *leaf else { continue };
                let fixed = self.fixed(leaf);
                chain = fixed.chain;
                bound.node.clone_from(&self.build.nodes[fixed.first_node as usize]);
                bound.slots.push(fixed.slot);
                let own = own.and_then(|own| own[pod][place]);
                let root = own.map(|own| self.fixed(self.fixed(own).root).level);
                let types = &self.build.chains[chain].types;
                bound.roots.push(root.map(|level| types[level - 1].clone()));
            }
            pods.push(bound);
        }
        Binding { chain: self.build.chains[chain].name.clone(), pods, index }
    }
}

fn first_of_size(pods: &Pods, leaves: u32) -> usize {
    pods.iter().position(|pod| pod.len() == leaves as usize).unwrap_or(0)
}
