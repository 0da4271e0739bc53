//! Gandiva (Xiao et al., OSDI 2018): every job gets a seat at once, on nodes meant for jobs of
//! its size if possible, and where seats are more than GPUs, jobs take turns. What runs is then
//! looked at and improved: two jobs share a GPU while that measures faster than turns, jobs move
//! where they stand in the way or too many take turns, and elastic jobs grow while nobody waits.

use super::seats::{kinds_for, nodes_for, seat_across};
use super::{Books, Load, Parts, Seating};
use crate::packing::pair_up;
use heeler_engine::{DemandId, Job, View};
use heeler_model::{KindSet, NodeId};
use std::collections::{BTreeMap, BTreeSet};

/// Gandiva's seating.
#[derive(Clone, Copy, Debug)]
pub struct Gandiva {
    /// Whether two jobs may share GPUs.
    pub packing: bool,
    /// Whether jobs that have run may move to other nodes.
    pub migration: bool,
    /// Whether elastic jobs grow.
    pub grow: bool,
}

/// How good a node is for a job, smaller being better: what it is meant for, how many times over
/// it would be used, by how much it is, by how many, and which it is.
type Rank = (u8, u64, u64, u32, NodeId);

impl Seating for Gandiva {
    fn improve(&self, books: &mut Books, view: &View) {
        books.leave_broken_nodes(view);
        if books.over {
            books.measure_alone(view);
            books.part_the_slower(view);
        }
        for id in books.standing.clone() {
            let job = view.job(id);
            if let Some(parts) = self.seat_for(job, books, view) {
                books.standing.remove(&id);
                books.seats.insert(job, parts);
                books.settled = false;
            }
        }
        if !books.settled {
            // Each move lowers what is asked of the nodes that are used most, so there is an end.
            while self.level(books, view) || (self.migration && books.spread_anew(view)) {}
        }
        let settled = std::mem::replace(&mut books.settled, true);
        if books.over || !settled {
            self.share(books, view);
        }
        if self.grow {
            books.allow_growth(view);
        }
    }

    fn packs(&self) -> bool {
        self.packing
    }

    fn grows(&self) -> bool {
        self.grow
    }

    fn fork(&self) -> Box<dyn Seating> {
        Box::new(*self)
    }
}

impl Gandiva {
    /// Where turns are taken two jobs may share, and nowhere else.
    fn share(&self, books: &mut Books, view: &View) {
        let paired: BTreeSet<NodeId> = books.seats.nodes_of_pairs().collect();
        for node in books.seats.nodes().collect::<Vec<_>>() {
            if books.height(node, view) == 1 {
                if paired.contains(&node) {
                    books.seats.part_all(node);
                }
            } else if self.packing && books.over {
                pair_up(node, &mut books.seats, &books.ledger, view);
            }
        }
    }

    /// A seat for a job: on the best node for it; if it would have to take turns there, on one from
    /// which others can move away; on several nodes, if it is larger than one.
    fn seat_for(&self, job: &Job, books: &mut Books, view: &View) -> Option<Parts> {
        let milli = job.milli() as i64;
        view.tenants().within_limits(job.spec.tenant, milli, |_| 0).ok()?;
        let Some((_, height, .., node)) = best(job, books, view, None, u64::MAX) else {
            return seat_across(job, &books.seats, view);
        };
        let moves = height > 1 && self.migration;
        let cleared = moves.then(|| clear_node(job, books, view)).flatten();
        Some(vec![(cleared.unwrap_or(node), job.spec.demand.asked())])
    }

    /// Move jobs from nodes where many take turns to nodes where fewer would. Only jobs that have
    /// nothing to lose by it move if migration is off. Says whether anybody moved.
    fn level(&self, books: &mut Books, view: &View) -> bool {
        let (least, mut moved) = (books.least_height(view), false);
        // How many times over a node may be used for there to be none used less for such a job. It
        // is as true for jobs of other nodes that are used no more than that.
        let mut vain: BTreeMap<(DemandId, KindSet), u64> = BTreeMap::new();
        for node in books.seats.nodes().collect::<Vec<_>>() {
            if books.height(node, view) <= least {
                continue;
            }
            let mut jobs: Vec<&Job> = books.only_on(node, view);
            jobs.retain(|job| self.migration || job.started.is_none());
            jobs.sort_by_key(|job| (job.is_placed(), job.id));
            for job in jobs {
                let height = books.height(node, view);
                let alike = (job.demand, kinds_for(job, view));
                if vain.get(&alike).is_some_and(|vain| height <= *vain) {
                    continue;
                }
                if let Some((.., other)) = best(job, books, view, Some(node), height) {
                    books.reseat(job, other);
                    moved = true;
                    vain.clear();
                } else {
                    vain.insert(alike, height);
                }
            }
        }
        moved
    }
}

/// The best node for a job of those that would be used fewer times over than `below`: with room
/// among jobs of its size, empty, with room, and then the same where it has to take turns.
fn best(job: &Job, books: &Books, view: &View, but: Option<NodeId>, below: u64) -> Option<Rank> {
    let (seats, gpus) = (&books.seats, job.spec.demand.asked());
    let more = Load::each(&job.spec.demand).on(gpus);
    let ranked = nodes_for(job, gpus, view).filter(|node| Some(*node) != but).map(|node| {
        let height = books.height_with(node, more, view);
        let class = match seats.affinity(node) {
            Some(affinity) if affinity == gpus => 0,
            None => 1,
            Some(_) => 2,
        };
        let turns = if height > 1 { 3 } else { 0 };
        (turns + class, height, seats.load(node).gpu_milli, seats.count(node), node)
    });
    ranked.filter(|(_, height, ..)| *height < below).min()
}

/// Move jobs off the node with most room to others with room, until a job fits there.
fn clear_node(job: &Job, books: &mut Books, view: &View) -> Option<NodeId> {
    let gpus = job.spec.demand.asked();
    let more = Load::each(&job.spec.demand).on(gpus);
    let fits = |node: NodeId, books: &Books| books.height_with(node, more, view) == 1;
    let mut nodes: Vec<NodeId> = nodes_for(job, gpus, view).collect();
    nodes.retain(|node| books.height(*node, view) == 1);
    nodes.sort_by_key(|node| (books.seats.load(*node), *node));
    if nodes.iter().map(|node| books.spare_milli(*node, view)).sum::<u64>() < more.gpu_milli {
        return None;
    }
    for node in nodes {
        let mut moves = Vec::new();
        for other in books.only_on(node, view) {
            if !fits(node, books)
                && let Some((.., to)) = best(other, books, view, Some(node), 2)
            {
                moves.push(books.seats.before(other.id, node, to));
                books.reseat(other, to);
            }
        }
        if fits(node, books) {
            return Some(node);
        }
        moves.into_iter().rev().for_each(|before| books.seats.put_back(before));
    }
    None
}
