//! How busy each GPU is taken to be. What jobs add is taken away when they leave, in the order in
//! which they come and go, so that GPUs that are as busy as each other may differ by a rounding
//! error: of those, the published program takes the one that came out lower.

use heeler_model::{NodeId, Placement};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// For which part of the time jobs are taken to keep a GPU busy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Uses {
    /// One that is guaranteed its GPUs.
    pub guaranteed: f64,
    /// One that takes what is left over.
    pub opportunistic: f64,
    /// GPUs that are busy for a smaller part take one more of the latter.
    pub below: f64,
}

impl Uses {
    /// How many jobs that take what is left over can be on one GPU.
    pub fn most(&self) -> u32 {
        (self.below / self.opportunistic).ceil().clamp(1.0, 500.0) as u32
    }
}

/// A GPU that is kept for a job counts so much less than one that the job runs on.
const KEPT: f64 = 0.01;

/// What GPUs are busy with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Loads {
    nodes: Vec<Vec<f64>>,
}

/// A GPU.
pub(super) type Gpu = (NodeId, u32);

/// The GPUs of a placement.
pub(super) fn gpus(placement: &Placement) -> impl Iterator<Item = Gpu> {
    let slices = placement.slices().iter();
    slices.flat_map(|slice| slice.slots.iter().map(|slot| (slice.node, slot)))
}

impl Loads {
    fn at(&self, (node, slot): Gpu) -> f64 {
        let node = self.nodes.get(node.index());
        node.and_then(|node| node.get(slot as usize)).copied().unwrap_or(0.0)
    }

    fn set(&mut self, (node, slot): Gpu, load: f64) {
        if self.nodes.len() <= node.index() {
            self.nodes.resize_with(node.index() + 1, Vec::new);
        }
        let node = &mut self.nodes[node.index()];
        if node.len() <= slot as usize {
            node.resize(slot as usize + 1, 0.0);
        }
        node[slot as usize] = load;
    }

    /// Carry out what was tried.
    pub(super) fn take(&mut self, changes: BTreeMap<Gpu, f64>) {
        for (gpu, load) in changes {
            self.set(gpu, load);
        }
    }
}

/// Loads while something is tried.
pub(super) struct Tried<'a> {
    loads: &'a Loads,
    uses: Uses,
    changed: BTreeMap<Gpu, f64>,
}

impl<'a> Tried<'a> {
    pub(super) fn new(loads: &'a Loads, uses: Uses) -> Tried<'a> {
        Tried { loads, uses, changed: BTreeMap::new() }
    }

    /// For which part of the time a GPU is taken to be busy.
    pub(super) fn at(&self, gpu: Gpu) -> f64 {
        self.changed.get(&gpu).copied().unwrap_or_else(|| self.loads.at(gpu))
    }

    /// Whether a GPU takes one more job that takes what is left over.
    pub(super) fn has_left(&self, gpu: Gpu) -> bool {
        self.at(gpu) < self.uses.below
    }

    fn add(&mut self, gpu: Gpu, load: f64) {
        self.changed.insert(gpu, self.at(gpu) + load);
    }

    /// A job is kept GPUs beyond those it had been kept.
    pub(super) fn keeps(&mut self, placement: &Placement, had: Option<&Placement>) {
        let kept: Vec<Gpu> = had.into_iter().flat_map(gpus).collect();
        for gpu in gpus(placement).filter(|gpu| !kept.contains(gpu)) {
            self.add(gpu, self.uses.guaranteed - KEPT);
        }
    }

    /// A job is no longer kept GPUs, but for those it is kept now.
    pub(super) fn lets_go(&mut self, placement: &Placement, now: Option<&Placement>) {
        let kept: Vec<Gpu> = now.into_iter().flat_map(gpus).collect();
        for gpu in gpus(placement).filter(|gpu| !kept.contains(gpu)) {
            self.add(gpu, KEPT - self.uses.guaranteed);
        }
    }

    /// A job runs on GPUs, some of which it had been kept.
    pub(super) fn enters(&mut self, on: &Held, had: Option<&Placement>) {
        match on.opportunistic {
            true => gpus(&on.placement).for_each(|gpu| self.add(gpu, self.uses.opportunistic)),
            false => {
                self.keeps(&on.placement, had);
                gpus(&on.placement).for_each(|gpu| self.add(gpu, KEPT));
            }
        }
    }

    /// A job runs there no longer.
    pub(super) fn leaves(&mut self, on: &Held) {
        let load = match on.opportunistic {
            true => self.uses.opportunistic,
            false => self.uses.guaranteed,
        };
        gpus(&on.placement).for_each(|gpu| self.add(gpu, -load));
    }

    /// What has changed.
    pub(super) fn changes(self) -> BTreeMap<Gpu, f64> {
        self.changed
    }
}

/// What a job has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Held {
    /// Whether it takes what is left over.
    pub opportunistic: bool,
    /// Its GPUs.
    pub placement: Placement,
}
