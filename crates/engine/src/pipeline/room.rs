//! Room that would come free: who could give way, what they would keep, and where that helps.

use super::Pipeline;
use super::memo::Vain;
use super::queue::Rank;
use super::walk::Walk;
use crate::fleet::{Draft, Grip};
use crate::state::Job;
use crate::traits::{Needs, Want};
use crate::view::View;
use heeler_model::{KindId, Milli, NodeId, Placement, Slice};
use std::collections::{BTreeMap, BTreeSet};

/// A job that gives way, and what it keeps.
pub(super) struct Relief<'a> {
    pub(super) rank: Rank,
    pub(super) job: &'a Job,
    pub(super) old: Placement,
    pub(super) new: Option<Placement>,
    /// What a neighbour has left behind on its GPUs.
    pub(super) rest: Option<Grip>,
}

/// Room that would come free if some jobs gave way, counted where it helps.
pub(super) struct Room<'a> {
    needs: Needs,
    gpus: u32,
    /// What room is made for.
    pub(super) want: Want,
    /// Of which kind of GPU.
    pub(super) kind: KindId,
    reliefs: Vec<Relief<'a>>,
    /// Thousandths and memory, MB, that would come free of GPUs that are shared.
    parts: BTreeMap<(NodeId, u32), (u32, i64)>,
    /// GPUs that would come free beside those that are, by node.
    gain: BTreeMap<NodeId, u32>,
    /// All GPUs that are or would come free.
    total: u32,
    /// Nodes that would be as free as needed.
    ready: BTreeSet<NodeId>,
    /// GPUs of nodes that are wholly free, or would be.
    whole: u32,
    /// GPUs of the largest node: the remainder may be on a node that is not wholly free.
    largest: u32,
    /// Whether the want might fit with what was added since it was last tried out.
    promising: bool,
    /// With how many jobs it is tried out again.
    due: usize,
}

impl<'a> Room<'a> {
    pub(super) fn new(needs: Needs, kind: KindId, want: &Want, draft: &Draft) -> Room<'a> {
        let gpus = |node: NodeId| draft.cluster().nodes[node.index()].gpus;
        let (whole, largest) = match needs {
            Needs::Count | Needs::OneNode => (0, 0),
            Needs::WholeNodes => {
                let idle = draft.idle_nodes(kind, None);
                (idle.map(gpus).sum(), draft.most_ever(kind, Grip::from(&want.demand)))
            }
        };
        Room {
            needs,
            gpus: want.gpus,
            want: *want,
            kind,
            reliefs: Vec::new(),
            parts: BTreeMap::new(),
            gain: BTreeMap::new(),
            total: draft.could_serve(want.demand.kinds, Grip::from(&want.demand)),
            ready: BTreeSet::new(),
            whole,
            largest,
            promising: false,
            due: 1,
        }
    }

    /// Whether it is time to try the want out: it might fit, and the last attempt was so long ago
    /// that all attempts together cost little more than the last. Trying late changes nothing:
    /// whoever is not needed comes back.
    pub(super) fn is_due(&self) -> bool {
        self.promising && self.reliefs.len() >= self.due
    }

    /// Whether the want might fit and was not tried out since.
    pub(super) fn is_untried(&self) -> bool {
        self.promising
    }

    /// The want is being tried out.
    pub(super) fn tried(&mut self) {
        self.promising = false;
        self.due = self.reliefs.len() + 1 + self.reliefs.len() / 2;
    }

    /// Count what a job could give.
    pub(super) fn add(&mut self, relief: Relief<'a>, draft: &Draft) {
        let mut helps = false;
        for slice in relief.old.slices() {
            let freed = self.freed(&relief, *slice, draft);
            self.total += freed;
            let gain = self.gain.entry(slice.node).or_default();
            *gain += freed;
            let free = draft.unused(slice.node).count() + *gain;
            let node = draft.cluster().nodes[slice.node.index()].gpus;
            let enough = if self.needs == Needs::WholeNodes { node } else { self.gpus };
            if self.needs != Needs::Count && free >= enough && self.ready.insert(slice.node) {
                self.whole += node;
            }
            helps |= self.ready.contains(&slice.node);
        }
        self.reliefs.push(relief);
        self.promising |= match self.needs {
            Needs::Count => self.total >= self.gpus,
            Needs::OneNode => helps,
            // The remainder may be on any node, so every job that gives way may be the last needed.
            Needs::WholeNodes => self.total >= self.gpus && self.whole + self.largest > self.gpus,
        };
    }

    /// GPUs of a node that come free enough.
    fn freed(&mut self, relief: &Relief<'a>, slice: Slice, draft: &Draft) -> u32 {
        let (own, rest) = (Walk::grip(relief.job), relief.rest.unwrap_or(Grip::NOTHING));
        let share = Milli(own.share.0 + rest.share.0);
        if share.is_whole() {
            let kept = relief.new.as_ref().map_or(0, |new| on_node(new, slice.node));
            return slice.slots.count() - kept;
        }
        // Whoever takes parts of GPUs goes where others are, if both is left of them.
        let memory_mb = i64::from(own.gpu_memory_mb) + i64::from(rest.gpu_memory_mb);
        let need = &self.want.demand;
        let enough = |(milli, memory_mb): (u32, i64)| {
            milli >= need.share.0 && memory_mb >= i64::from(need.gpu_memory_mb)
        };
        let mut freed = 0;
        for slot in slice.slots.iter() {
            let left = (draft.left_of(slice.node, slot), draft.gpu_memory_left(slice.node, slot));
            let parts = self.parts.entry((slice.node, slot)).or_default();
            let before = (left.0 + parts.0, left.1 + parts.1);
            *parts = (parts.0 + share.0, parts.1 + memory_mb);
            let after = (left.0 + parts.0, left.1 + parts.1);
            freed += u32::from(!enough(before) && enough(after));
        }
        freed
    }

    /// Whether it helps to free a job's GPUs.
    fn is_useful(&self, relief: &Relief<'a>) -> bool {
        let ready = |slice: &Slice| self.ready.contains(&slice.node);
        self.needs != Needs::OneNode || relief.old.slices().iter().any(ready)
    }

    pub(super) fn useful(&self) -> impl Iterator<Item = &Relief<'a>> {
        self.reliefs.iter().filter(|relief| self.is_useful(relief))
    }

    pub(super) fn into_useful(mut self) -> Vec<Relief<'a>> {
        let reliefs = std::mem::take(&mut self.reliefs);
        reliefs.into_iter().filter(|relief| self.is_useful(relief)).collect()
    }

    pub(super) fn in_vain(self, rank: Rank, pipe: &Pipeline, view: &View) -> Vain {
        Vain {
            rank,
            missing: self.gpus.saturating_sub(self.total),
            touched: view.touched().end(),
            reseated: pipe.memo.reseated_end(),
            released: view.touched().released_ever(),
            moved: pipe.memo.moved_ever(),
        }
    }
}

/// GPUs of a placement on one node.
fn on_node(placement: &Placement, node: NodeId) -> u32 {
    let here = placement.slices().iter().find(|slice| slice.node == node);
    here.map_or(0, |slice| slice.slots.count())
}

impl Relief<'_> {
    /// Thousandths of GPUs it gives.
    pub(super) fn given(&self) -> i64 {
        let kept = self.new.as_ref().map_or(0, Placement::gpus);
        i64::from(self.old.gpus() - kept) * i64::from(Walk::grip(self.job).share.0)
    }
}

/// The part of a placement that keeps so many GPUs on as few nodes as possible.
pub(super) fn keep_largest(placement: &Placement, gpus: u32) -> Placement {
    let mut slices = placement.slices().to_vec();
    slices.sort_by_key(|slice| (std::cmp::Reverse(slice.slots.count()), slice.node));
    let mut left = gpus;
    for slice in &mut slices {
        slice.slots = slice.slots.lowest(left.min(slice.slots.count()));
        left -= slice.slots.count();
    }
    Placement::new(slices.into_iter().filter(|slice| !slice.slots.is_empty()).collect())
}
