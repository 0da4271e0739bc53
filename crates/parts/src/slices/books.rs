//! What a policy of time slices remembers: who has a seat where, who has none, when turns are over,
//! and what was measured.

use super::seats::seat_across;
use super::{Load, Seat, Seats};
use crate::packing::{Ledger, TURNS};
use heeler_engine::{Job, View};
use heeler_model::{JobId, NodeId, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What is remembered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Books {
    /// Who has a seat where.
    pub seats: Seats,
    /// What was measured.
    pub ledger: Ledger,
    /// Jobs that have no seat.
    pub standing: BTreeSet<JobId>,
    /// When turns are over.
    pub next: Time,
    /// Whether they are over now.
    pub over: bool,
    /// Whether something happened since the last decision.
    pub stirred: bool,
    /// Whether nothing happened by which anybody could be seated better than they were then. To
    /// forget it costs nothing but the time to look again.
    #[serde(skip)]
    pub settled: bool,
}

impl Books {
    /// A job came, or came back.
    pub(super) fn joined(&mut self, job: &Job) {
        let demand = &job.spec.demand;
        let seat = self.seats.get(job.id);
        if seat.is_none_or(|seat| seat.gpus() != demand.asked()) {
            self.seats.remove(job.id);
            self.standing.insert(job.id);
        }
    }

    /// A job is gone.
    pub(super) fn left(&mut self, id: JobId) {
        self.settled = false;
        self.seats.remove(id);
        self.standing.remove(&id);
        self.ledger.forget(id);
    }

    /// Jobs lose their seats on nodes that are gone.
    pub fn leave_broken_nodes(&mut self, view: &View) {
        let fleet = view.fleet();
        let gone: Vec<NodeId> = self.seats.nodes().filter(|node| !fleet.is_up(*node)).collect();
        for id in gone.iter().flat_map(|node| self.seats.on(*node)).collect::<Vec<_>>() {
            self.seats.remove(id);
            self.standing.insert(id);
        }
    }

    /// Give a job another seat of the same size, for itself.
    pub fn reseat(&mut self, job: &Job, node: NodeId) {
        self.seats.remove(job.id);
        self.seats.insert(job, vec![(node, job.spec.demand.asked())]);
    }

    /// Give jobs on several nodes others where fewer take turns. Says whether anybody moved.
    pub fn spread_anew(&mut self, view: &View) -> bool {
        let wide = self.seats.iter().filter(|(_, seat)| seat.node().is_none());
        let mut moved = false;
        for id in wide.map(|(id, _)| id).collect::<Vec<_>>() {
            let (job, before) = (view.job(id), self.highest(id, view));
            if before == 1 {
                continue;
            }
            let Some(old) = self.seats.remove(id) else { continue };
            if let Some(parts) = seat_across(job, &self.seats, view) {
                self.seats.insert(job, parts);
                if self.highest(id, view) < before {
                    moved = true;
                    continue;
                }
                self.seats.remove(id);
            }
            self.seats.insert(job, old.parts);
        }
        moved
    }

    /// How many times over the most used node of a job's seat is used.
    fn highest(&self, id: JobId, view: &View) -> u64 {
        let parts = self.seats.get(id).map_or(&[][..], |seat| &seat.parts);
        parts.iter().map(|(node, _)| self.height(*node, view)).max().unwrap_or(1)
    }

    /// How many times over a node would be used with some more.
    pub fn height_with(&self, node: NodeId, more: Load, view: &View) -> u64 {
        (self.seats.load(node) + more).height(&view.fleet().cluster().nodes[node.index()])
    }

    /// How many times over a node is used.
    pub fn height(&self, node: NodeId, view: &View) -> u64 {
        self.height_with(node, Load::default(), view)
    }

    /// Thousandths of GPUs that are free when everybody on a node runs.
    pub fn spare_milli(&self, node: NodeId, view: &View) -> u64 {
        let there = u64::from(view.fleet().cluster().nodes[node.index()].gpus) * 1000;
        there.saturating_sub(self.seats.load(node).gpu_milli)
    }

    /// How many times over the node that is used the least would be used with a little more.
    pub fn least_height(&self, view: &View) -> u64 {
        let fleet = view.fleet();
        let nodes = (0..fleet.cluster().nodes.len() as u32).map(NodeId);
        let up = nodes.filter(|node| fleet.is_up(*node));
        let little = Load { gpu_milli: 1, ..Load::default() };
        up.map(|node| self.height_with(node, little, view)).min().unwrap_or(u64::MAX)
    }

    /// Jobs that have a seat on a node and on no other.
    pub fn only_on<'a>(&self, node: NodeId, view: &View<'a>) -> Vec<&'a Job> {
        let only = |id: &JobId| self.seats.get(*id).is_some_and(|seat| seat.node() == Some(node));
        self.seats.on(node).filter(only).map(|id| view.state().job(id)).collect()
    }

    /// Look at what runs by itself.
    pub fn measure_alone(&mut self, view: &View) {
        for (id, _) in self.seats.iter().filter(|(_, seat)| seat.beside.is_none()) {
            let job = view.job(id);
            if job.assignment.as_ref().is_some_and(|on| on.share == job.spec.demand.share) {
                self.ledger.measure_alone(job, view);
            }
        }
    }

    /// Look at those who share GPUs: two that did worse than in turns part.
    pub fn part_the_slower(&mut self, view: &View) {
        for (one, other) in self.seats.pairs().collect::<Vec<_>>() {
            let sum = self.ledger.measure_pair(view.job(one), view.job(other), view);
            if sum.is_some_and(|sum| sum < TURNS) {
                self.seats.part(one);
            }
        }
    }

    /// Let elastic jobs, once measured as they asked to run, grow as far as that was of use.
    pub fn allow_growth(&mut self, view: &View) {
        for job in self.elastic(view) {
            if self.ledger.knows_size(job) || job.gpus() > job.spec.demand.asked() {
                self.seats.allow(job.id, self.ledger.most_of_use(job));
            }
        }
    }

    /// Whether a trial is on whose outcome is not known yet.
    pub(super) fn is_curious(&self, grows: bool, view: &View) -> bool {
        let tried = |(one, other): (JobId, JobId)| {
            let (one, other) = (view.job(one), view.job(other));
            let node = self.seats.get(one.id).and_then(Seat::node);
            let kind = node.map(|node| view.fleet().kind_of(node));
            kind.is_some_and(|kind| {
                self.ledger.sum(kind, one.spec.model, other.spec.model).is_none()
            })
        };
        let open = |job: &Job| job.is_placed() && !self.ledger.knows_size(job);
        let sized = || self.elastic(view).into_iter().any(open);
        self.seats.pairs().any(tried) || (grows && sized())
    }

    /// Jobs that can use more GPUs of their node than they asked for.
    fn elastic<'a>(&self, view: &View<'a>) -> Vec<&'a Job> {
        let jobs = self.seats.iter().filter(|(_, seat)| seat.node().is_some());
        let can = |job: &&Job| {
            let demand = &job.spec.demand;
            let whole = demand.share.is_whole() && demand.asked() > 0;
            whole && demand.sizes.max > demand.asked()
        };
        jobs.map(|(id, _)| view.state().job(id)).filter(can).collect()
    }
}
