//! Who has a seat where. A seat is so many GPUs of each of some nodes on which a job runs when it
//! is its turn; a node may have more seats than GPUs. Two jobs may have one seat together.

use super::Load;
use super::benches::{Bench, Benches};
use crate::shares::rate;
use heeler_engine::{Job, View};
use heeler_model::{JobId, KindId, KindSet, Node, NodeId, Placement, Reach};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// So many GPUs of each of some nodes.
pub type Parts = Vec<(NodeId, u32)>;

/// A node for a part of a job: how many times over it would be used, by how many GPUs, and which.
type Candidate = (u64, Reverse<u32>, NodeId);

/// Where a job has its turns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seat {
    /// So many GPUs of each of these nodes, in the order of nodes.
    pub parts: Parts,
    /// The job that runs on the same GPUs at the same time.
    pub beside: Option<JobId>,
    /// GPUs it may have on its node when nobody waits; those of the seat, unless more are allowed.
    pub most: u32,
    /// What the job asks for beside each GPU, and of it.
    each: Load,
}

/// Who has a seat where.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seats {
    seats: BTreeMap<JobId, Seat>,
    benches: Benches,
}

/// How two nodes and whoever moves between them were before.
pub(super) struct Before {
    seats: Vec<(JobId, Seat)>,
    benches: [(NodeId, Bench); 2],
}

impl Seat {
    /// How many GPUs in all.
    pub fn gpus(&self) -> u32 {
        self.parts.iter().map(|(_, gpus)| gpus).sum()
    }

    /// The node, if it is just one.
    pub fn node(&self) -> Option<NodeId> {
        if let [(node, _)] = self.parts[..] { Some(node) } else { None }
    }

    /// Whether a placement has the seat's GPUs, node by node.
    pub fn is_met_by(&self, placement: &Placement) -> bool {
        let has = placement.slices().iter().map(|slice| (slice.node, slice.slots.count()));
        has.eq(self.parts.iter().copied())
    }
}

impl Seats {
    /// Give a job a seat.
    pub fn insert(&mut self, job: &Job, mut parts: Parts) {
        parts.sort_unstable();
        let each = Load::each(&job.spec.demand);
        for (node, gpus) in &parts {
            let bench = self.benches.at(*node);
            if bench.jobs.is_empty() {
                bench.affinity = *gpus;
            }
            bench.jobs.insert(job.id);
            bench.load += each.on(*gpus);
        }
        let most = parts.iter().map(|(_, gpus)| gpus).sum();
        self.seats.insert(job.id, Seat { parts, beside: None, most, each });
    }

    /// Let a job have so many GPUs of its node when nobody waits.
    pub fn allow(&mut self, id: JobId, most: u32) {
        if let Some(seat) = self.seats.get_mut(&id) {
            seat.most = most.max(seat.gpus());
        }
    }

    /// Take a job's seat away.
    pub fn remove(&mut self, id: JobId) -> Option<Seat> {
        self.part(id);
        let seat = self.seats.remove(&id)?;
        for (node, gpus) in &seat.parts {
            let bench = self.benches.at(*node);
            bench.jobs.remove(&id);
            bench.load -= seat.each.on(*gpus);
        }
        Some(seat)
    }

    /// Let two jobs have one seat together.
    pub fn pair(&mut self, one: JobId, other: JobId) {
        for (job, beside) in [(one, other), (other, one)] {
            if let Some(seat) = self.seats.get_mut(&job) {
                seat.beside = Some(beside);
            }
        }
    }

    /// Let a job have its seat for itself again.
    pub fn part(&mut self, id: JobId) {
        let beside = self.seats.get_mut(&id).and_then(|seat| seat.beside.take());
        if let Some(other) = beside.and_then(|other| self.seats.get_mut(&other)) {
            other.beside = None;
        }
    }

    /// How things are before a job moves from its node to another.
    pub(super) fn before(&self, id: JobId, from: NodeId, to: NodeId) -> Before {
        let beside = self.seats.get(&id).and_then(|seat| seat.beside);
        let both = [Some(id), beside].into_iter().flatten();
        let seats = both.filter_map(|id| Some((id, self.seats.get(&id)?.clone()))).collect();
        let bench = |node| (node, self.benches.get(node).cloned().unwrap_or_default());
        Before { seats, benches: [bench(from), bench(to)] }
    }

    /// Let it not have moved.
    pub(super) fn put_back(&mut self, before: Before) {
        self.seats.extend(before.seats);
        for (node, bench) in before.benches {
            *self.benches.at(node) = bench;
        }
    }

    /// Let everybody on a node have their seats for themselves.
    pub fn part_all(&mut self, node: NodeId) {
        for id in self.on(node).collect::<Vec<_>>() {
            self.part(id);
        }
    }

    /// A job's seat.
    pub fn get(&self, id: JobId) -> Option<&Seat> {
        self.seats.get(&id)
    }

    /// All seats, by job.
    pub fn iter(&self) -> impl Iterator<Item = (JobId, &Seat)> {
        self.seats.iter().map(|(id, seat)| (*id, seat))
    }

    /// Jobs that have one seat together, each two once.
    pub fn pairs(&self) -> impl Iterator<Item = (JobId, JobId)> {
        let pair = |(id, seat): (&JobId, &Seat)| Some((*id, seat.beside?));
        self.seats.iter().filter_map(pair).filter(|(id, beside)| id < beside)
    }

    /// Nodes of jobs that have one seat together.
    pub(super) fn nodes_of_pairs(&self) -> impl Iterator<Item = NodeId> {
        let paired = self.seats.values().filter(|seat| seat.beside.is_some());
        paired.flat_map(|seat| seat.parts.iter().map(|(node, _)| *node))
    }

    /// Nodes with seats.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> {
        self.benches.iter().map(|(node, _)| node)
    }

    /// Jobs with a seat on a node.
    pub fn on(&self, node: NodeId) -> impl Iterator<Item = JobId> {
        self.benches.get(node).into_iter().flat_map(|bench| bench.jobs.iter().copied())
    }

    /// How many jobs have a seat on a node.
    pub fn count(&self, node: NodeId) -> u32 {
        self.benches.get(node).map_or(0, |bench| bench.jobs.len() as u32)
    }

    /// What jobs ask of a node.
    pub fn load(&self, node: NodeId) -> Load {
        self.benches.get(node).map_or_else(Load::default, |bench| bench.load)
    }

    /// GPUs of the jobs that a node is meant for; none, if nobody has a seat there.
    pub fn affinity(&self, node: NodeId) -> Option<u32> {
        self.benches.get(node).map(|bench| bench.affinity)
    }

    /// What jobs ask of a node at one time, where those that run together count once.
    pub fn load_of_seats(&self, node: NodeId) -> u64 {
        let both = self.on(node).filter_map(|id| {
            let seat = &self.seats[&id];
            let first = seat.beside.is_some_and(|beside| id < beside) && seat.node() == Some(node);
            first.then(|| seat.each.on(seat.gpus()).gpu_milli)
        });
        self.load(node).gpu_milli - both.sum::<u64>()
    }
}

/// The kinds of GPU on which a job gets on.
pub(super) fn kinds_for(job: &Job, view: &View) -> KindSet {
    let kinds = job.spec.demand.kinds.iter(view.fleet().cluster().kinds.len());
    kinds.filter(|kind| rate(job, *kind, view) > 0.0).fold(KindSet::NONE, KindSet::with)
}

/// Nodes that are up and could have so many GPUs of a job at once, if they were empty.
pub(super) fn nodes_for<'a>(
    job: &'a Job,
    gpus: u32,
    view: &'a View,
) -> impl Iterator<Item = NodeId> + 'a {
    let fleet = view.fleet();
    let kinds = kinds_for(job, view);
    let all = Load::each(&job.spec.demand).on(gpus);
    (0..fleet.cluster().nodes.len() as u32).map(NodeId).filter(move |id| {
        let node = &fleet.cluster().nodes[id.index()];
        let there = fleet.is_up(*id) && node.gpus >= gpus && kinds.contains(node.kind);
        there && all.height(node) == 1
    })
}

/// A seat on as few nodes as possible for a job that is larger than a node: those that are used the
/// least, of one kind, and within reach of each other.
pub(super) fn seat_across(job: &Job, seats: &Seats, view: &View) -> Option<Parts> {
    let demand = &job.spec.demand;
    if demand.reach == Reach::Node {
        return None;
    }
    let fleet = view.fleet();
    let all = &fleet.cluster().nodes;
    let each = Load::each(demand);
    let most = |node: &Node| (1..=node.gpus).rev().find(|gpus| each.on(*gpus).height(node) == 1);
    let mut groups: BTreeMap<(KindId, u32), Vec<Candidate>> = BTreeMap::new();
    for id in nodes_for(job, 1, view) {
        let node = &all[id.index()];
        let Some(gpus) = most(node) else { continue };
        let height = (seats.load(id) + each.on(gpus)).height(node);
        let rack = if demand.reach == Reach::Rack { node.rack.0 } else { 0 };
        groups.entry((node.kind, rack)).or_default().push((height, Reverse(gpus), id));
    }
    let mut best: Option<(u64, usize, Parts)> = None;
    for mut nodes in groups.into_values() {
        nodes.sort_unstable();
        let (mut left, mut height, mut parts) = (demand.asked(), 0, Vec::new());
        for (above, Reverse(gpus), id) in nodes {
            let take = left.min(gpus);
            if take > 0 {
                parts.push((id, take));
                height = height.max(above);
                left -= take;
            }
        }
        let found = (height, parts.len(), parts);
        if left == 0 && best.as_ref().is_none_or(|best| found < *best) {
            best = Some(found);
        }
    }
    best.map(|(_, _, parts)| parts)
}
