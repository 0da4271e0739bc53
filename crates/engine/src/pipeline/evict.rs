//! Making room: take GPUs from running jobs, as few as will do, and never for nothing.

use super::memo::Vain;
use super::queue::Rank;
use super::walk::Walk;
use super::{Pipeline, Preempt};
use crate::fleet::{Draft, Grip};
use crate::state::Job;
use crate::traits::{Needs, Want, Wants};
use crate::view::View;
use heeler_model::{Assignment, JobId, NodeId, Placement, Reason, Run, Stop, TenantId};
use std::collections::{BTreeMap, BTreeSet};

/// At most so many jobs are looked at to make room for one: a backstop against going through a
/// whole cluster for a job that is kept out by fragments, not a tuning knob.
const LOOKED_AT_MAX: usize = 4096;

/// From whom GPUs may be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    /// Jobs behind in the order; they stop.
    Behind(Rank),
    /// Jobs of tenants beyond their quota; they stop.
    OverQuota,
    /// Jobs larger than they must be; they shrink.
    Large,
}

/// A job that gives way, and what it keeps.
struct Relief<'a> {
    rank: Rank,
    job: &'a Job,
    old: Placement,
    new: Option<Placement>,
}

impl<'a> Walk<'a> {
    /// Try to start a job on GPUs of others. On success the plan has both.
    pub(super) fn make_room(&mut self, job: &'a Job, rank: Rank, wants: &Wants) -> bool {
        if self.pipe.parts.resize.is_some()
            && let Some(smallest) = wants.last()
            && self.relieve(job, smallest, From::Large)
        {
            return true;
        }
        match self.pipe.parts.preempt {
            Preempt::Never => false,
            Preempt::ByOrder { .. } => {
                wants.iter().any(|want| self.relieve(job, want, From::Behind(rank)))
            }
            Preempt::Reclaim { .. } => wants.iter().any(|want| {
                self.is_within_quota(job, want) && self.relieve(job, want, From::OverQuota)
            }),
        }
    }

    fn relieve(&mut self, job: &'a Job, want: &Want, from: From) -> bool {
        let needs = self.pipe.parts.place.needs(want, &self.draft);
        let last = self.last_attempt(job, from);
        if let Some((vain, _)) = &last
            && needs == Needs::Count
            && self.pipe.memo.reseated_since(vain.reseated).is_empty()
            && self.view.touched().released_ever() - vain.released < u64::from(vain.missing)
        {
            return false;
        }
        let mut room = Room::new(needs, want, &self.draft);
        let others = match (last, needs) {
            // Nodes that were not free enough and have not changed are not free enough now.
            (Some((vain, mut changed)), Needs::OneNode | Needs::WholeNodes) => {
                changed.extend(vain.ready);
                Box::new(self.only_on(&changed).into_iter())
            }
            _ => self.everybody(from),
        };
        for other in others {
            if matches!(from, From::Behind(rank) if other <= rank) {
                break;
            }
            let Some(relief) = self.relief(other, want, from, &room) else { continue };
            if !room.add(relief, &self.draft) {
                continue;
            }
            let savepoint = self.draft.savepoint();
            for relief in room.useful() {
                self.give_way(relief);
            }
            if let Some(placement) = self.fits(want) {
                self.settle(job, want, placement, room.into_useful());
                return true;
            }
            self.draft.back_to(savepoint);
        }
        if let From::Behind(rank) = from
            && self.pipe.is_settled(self.view)
        {
            self.pipe.memo.remember(job.id, room.in_vain(rank, self.pipe, self.view));
        }
        false
    }

    /// The last attempt to make room for a job, if it is still worth something, and the nodes on
    /// which something has changed since.
    fn last_attempt(&self, job: &Job, from: From) -> Option<(Vain, BTreeSet<NodeId>)> {
        let From::Behind(rank) = from else { return None };
        if !self.pipe.is_settled(self.view) {
            return None;
        }
        let vain = self.pipe.memo.recall(job.id, rank)?;
        let touched = self.view.touched().since(vain.touched)?;
        let reseated = self.pipe.memo.reseated_since(vain.reseated);
        let mut changed: BTreeSet<NodeId> = touched.iter().chain(reseated).copied().collect();
        // What this plan has done so far is not in the logs.
        for (id, planned) in &self.planned {
            let before = self.view.job(*id).assignment.as_ref().map(|on| &on.placement);
            for placement in before.into_iter().chain(planned.as_ref()) {
                changed.extend(placement.slices().iter().map(|slice| slice.node));
            }
        }
        Some((vain, changed))
    }

    /// Running jobs from whom GPUs may be taken, last first.
    fn everybody(&self, from: From) -> Box<dyn Iterator<Item = Rank> + 'a> {
        let over = |tenant: TenantId| from != From::OverQuota || self.excess(tenant) > 0;
        let pipe = self.pipe;
        let others = pipe.queue.running_last_first(self.now(), |group| over(group.tenant));
        let others = others.take(LOOKED_AT_MAX);
        if from == From::Large {
            // Those who start in this plan can start smaller.
            return Box::new(self.started.clone().into_iter().rev().chain(others));
        }
        Box::new(others)
    }

    /// Running jobs on some nodes, last first.
    fn only_on(&self, nodes: &BTreeSet<NodeId>) -> Vec<Rank> {
        let state = self.view.state();
        let ids: BTreeSet<JobId> =
            nodes.iter().flat_map(|node| state.on_node(*node)).copied().collect();
        let rank = |id: &JobId| self.pipe.queue.rank_of(state.jobs(), *id, self.now());
        let mut ranks: Vec<Rank> = ids.iter().filter_map(rank).collect();
        ranks.sort_unstable_by(|a, b| b.cmp(a));
        ranks
    }

    /// What a running job could give, if it may be disturbed at all.
    fn relief(&self, other: Rank, want: &Want, from: From, room: &Room<'a>) -> Option<Relief<'a>> {
        let job = self.view.state().job(other.job);
        let leased = job.lease.is_some_and(|until| until > self.now());
        let starts = !job.is_placed() && from == From::Large;
        if leased || (self.planned.contains_key(&job.id) && !starts) {
            return None;
        }
        let old = self.placement_of(job)?;
        let kind = self.draft.kind_of(old.slices().first()?.node);
        if !want.demand.kinds.contains(kind) {
            return None;
        }
        let new = match from {
            From::Behind(_) => None,
            From::OverQuota => {
                let given = room.given.get(&job.spec.tenant).copied().unwrap_or(0);
                if self.excess(job.spec.tenant) <= given {
                    return None;
                }
                None
            }
            From::Large => {
                let resize = self.pipe.parts.resize.as_ref()?;
                let size = resize.shrink(job, old.gpus(), self.view)?;
                Some(keep_largest(&old, size))
            }
        };
        Some(Relief { rank: other, job, old, new })
    }

    fn give_way(&mut self, relief: &Relief<'a>) {
        let grip = Walk::grip(relief.job);
        self.draft.release(&relief.old, grip);
        if let Some(new) = &relief.new {
            self.draft.claim(new, grip);
        }
    }

    fn come_back(&mut self, relief: &Relief<'a>) {
        let grip = Walk::grip(relief.job);
        if let Some(new) = &relief.new {
            self.draft.release(new, grip);
        }
        self.draft.claim(&relief.old, grip);
    }

    fn fits(&self, want: &Want) -> Option<Placement> {
        let count = self.draft.free_of(want.demand.kinds);
        if want.demand.share.is_whole() && count < want.gpus {
            return None;
        }
        self.pipe.parts.place.place(want, &self.draft, self.view).ok()
    }

    /// Everybody who need not give way after all comes back, those first in order first. The
    /// others stop or shrink, and may run elsewhere when their turn comes.
    fn settle(&mut self, job: &'a Job, want: &Want, mut fit: Placement, reliefs: Vec<Relief<'a>>) {
        let mut given: Vec<Relief<'a>> = Vec::new();
        for relief in reliefs.into_iter().rev() {
            self.come_back(&relief);
            match self.fits(want) {
                Some(placement) => fit = placement,
                None => {
                    self.give_way(&relief);
                    given.push(relief);
                }
            }
        }
        for relief in given {
            self.count(relief.job, -relief.given());
            self.planned.insert(relief.job.id, relief.new.clone());
            match relief.new {
                None => {
                    let reason = Reason::Displaced { by: job.id };
                    self.plan.stop.push(Stop { job: relief.job.id, reason });
                    if let Some(door) = &mut self.door {
                        door.left(relief.job, relief.job.milli());
                    }
                    self.put_back(relief.job, relief.rank);
                }
                Some(placement) => {
                    let share = Walk::grip(relief.job).share;
                    let assignment = Assignment { placement, share };
                    let job = relief.job.id;
                    match self.plan.run.iter_mut().find(|run| run.job == job) {
                        Some(run) => run.assignment = assignment,
                        None => self.plan.run.push(Run { job, assignment, lease: None }),
                    }
                }
            }
        }
        self.start(job, want, fit);
    }

    /// A job that lost its GPUs and found others later in the walk need not move at all if those who
    /// took its GPUs can be placed elsewhere, now that it is known who stops.
    pub(super) fn spare_moves(&mut self) {
        let state = self.view.state();
        let moves = |run: &Run| state.job(run.job).is_placed();
        if self.pipe.parts.resize.is_some() || !self.plan.run.iter().any(moves) {
            return;
        }
        self.draft.back_to_start();
        for stop in &self.plan.stop {
            let job = state.job(stop.job);
            let placement = &job.assignment.as_ref().expect("a stopped job is placed").placement;
            self.draft.release(placement, Walk::grip(job));
        }
        let mut runs = Vec::new();
        for run in self.plan.run.iter().filter(|run| !moves(run)) {
            let job = state.job(run.job);
            let demand = job.spec.demand;
            let want = Want { gpus: run.assignment.gpus(), demand, skewed: job.spec.skewed };
            let Some(placement) = self.fits(&want) else { return };
            self.draft.claim(&placement, Grip::from(&demand));
            runs.push(Run { assignment: want.met_by(placement), ..run.clone() });
        }
        // Who stops now stops for whoever has the GPUs; those whose GPUs nobody has stay.
        let mut stops = Vec::new();
        for stop in &self.plan.stop {
            let job = state.job(stop.job);
            let placement = &job.assignment.as_ref().expect("a stopped job is placed").placement;
            let by = runs.iter().find(|run| run.assignment.placement.meets(placement));
            if let Some(run) = by {
                stops.push(Stop { reason: Reason::Displaced { by: run.job }, ..*stop });
            } else if self.draft.has_room_for(placement, Walk::grip(job)) {
                self.draft.claim(placement, Walk::grip(job));
            } else {
                return;
            }
        }
        self.plan.run = runs;
        self.plan.stop = stops;
    }

    /// Thousandths of GPUs a tenant would use beyond its quota if this plan were carried out.
    fn excess(&self, tenant: TenantId) -> i64 {
        let Some(quota) = self.view.tenants().spec(tenant).quota else { return i64::MIN / 2 };
        let used = self.view.tenants().usage(tenant).milli as i64 + self.extra(tenant);
        used - i64::from(quota) * 1000
    }

    fn is_within_quota(&self, job: &Job, want: &Want) -> bool {
        let need = i64::from(want.gpus) * i64::from(want.demand.share.0);
        let tenant = job.spec.tenant;
        self.view.tenants().spec(tenant).quota.is_some() && self.excess(tenant) + need <= 0
    }

    /// What a job takes beside GPU slots.
    pub(super) fn grip(job: &Job) -> Grip {
        let share = job.assignment.as_ref().map_or(job.spec.demand.share, |a| a.share);
        Grip { share, ..Grip::from(&job.spec.demand) }
    }
}

/// Room that would come free if some jobs gave way, counted where it helps.
struct Room<'a> {
    needs: Needs,
    gpus: u32,
    reliefs: Vec<Relief<'a>>,
    /// What they give, by tenant.
    given: BTreeMap<TenantId, i64>,
    /// GPUs that would come free beside those that are, by node.
    gain: BTreeMap<NodeId, u32>,
    /// All GPUs that are or would come free.
    total: u32,
    /// Nodes that would be as free as needed.
    ready: BTreeSet<NodeId>,
    /// Nodes that are wholly free already.
    idle: u32,
}

impl<'a> Room<'a> {
    fn new(needs: Needs, want: &Want, draft: &Draft) -> Room<'a> {
        let kinds = want.demand.kinds;
        let count = |kind| draft.idle_nodes(kind, None).count() as u32;
        let idle = match needs {
            Needs::Count | Needs::OneNode => 0,
            Needs::WholeNodes => kinds.iter(draft.cluster().kinds.len()).map(count).sum(),
        };
        Room {
            needs,
            gpus: want.gpus,
            reliefs: Vec::new(),
            given: BTreeMap::new(),
            gain: BTreeMap::new(),
            total: draft.free_of(kinds),
            ready: BTreeSet::new(),
            idle,
        }
    }

    /// Count what a job could give. Says whether the want might fit now.
    fn add(&mut self, relief: Relief<'a>, draft: &Draft) -> bool {
        *self.given.entry(relief.job.spec.tenant).or_default() += relief.given();
        let whole_gpus = Walk::grip(relief.job).share.is_whole();
        self.total += relief.old.gpus() - relief.new.as_ref().map_or(0, Placement::gpus);
        let mut helps = match self.needs {
            Needs::Count => self.total >= self.gpus || !whole_gpus,
            Needs::OneNode | Needs::WholeNodes => false,
        };
        for slice in relief.old.slices().iter().filter(|_| self.needs != Needs::Count && whole_gpus)
        {
            let kept = relief.new.as_ref().map_or(0, |new| on_node(new, slice.node));
            let gain = self.gain.entry(slice.node).or_default();
            *gain += slice.slots.count() - kept;
            let free = draft.unused(slice.node).count() + *gain;
            let node = draft.cluster().nodes[slice.node.index()].gpus;
            let enough = if self.needs == Needs::OneNode { self.gpus } else { node };
            if free >= enough {
                self.ready.insert(slice.node);
                let nodes = self.idle + self.ready.len() as u32;
                helps |= self.needs == Needs::OneNode || (nodes + 1) * node > self.gpus;
            }
        }
        self.reliefs.push(relief);
        helps
    }

    /// Whether it helps to free a job's GPUs.
    fn is_useful(&self, relief: &Relief<'a>) -> bool {
        let ready = |slice: &heeler_model::Slice| self.ready.contains(&slice.node);
        self.needs == Needs::Count || relief.old.slices().iter().any(ready)
    }

    fn useful(&self) -> impl Iterator<Item = &Relief<'a>> {
        self.reliefs.iter().filter(|relief| self.is_useful(relief))
    }

    fn into_useful(mut self) -> Vec<Relief<'a>> {
        let reliefs = std::mem::take(&mut self.reliefs);
        reliefs.into_iter().filter(|relief| self.is_useful(relief)).collect()
    }

    fn in_vain(self, rank: Rank, pipe: &Pipeline, view: &View) -> Vain {
        Vain {
            rank,
            ready: self.ready,
            missing: self.gpus.saturating_sub(self.total),
            touched: view.touched().end(),
            reseated: pipe.memo.reseated_end(),
            released: view.touched().released_ever(),
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
    fn given(&self) -> i64 {
        let kept = self.new.as_ref().map_or(0, Placement::gpus);
        i64::from(self.old.gpus() - kept) * i64::from(Walk::grip(self.job).share.0)
    }
}

/// The part of a placement that keeps so many GPUs on as few nodes as possible.
fn keep_largest(placement: &Placement, gpus: u32) -> Placement {
    let mut slices = placement.slices().to_vec();
    slices.sort_by_key(|slice| (std::cmp::Reverse(slice.slots.count()), slice.node));
    let mut left = gpus;
    for slice in &mut slices {
        slice.slots = slice.slots.lowest(left.min(slice.slots.count()));
        left -= slice.slots.count();
    }
    Placement::new(slices.into_iter().filter(|slice| !slice.slots.is_empty()).collect())
}
