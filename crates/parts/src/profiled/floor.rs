//! The two parts of the cluster while a plan is made: some nodes on which jobs are tried out, and
//! the rest. What must not be touched is taken in thought.

use super::pairing::{Alone, Residents};
use super::trial::could_be_tried;
use crate::place::{Fit, Racks, Remainder, why_not};
use heeler_engine::{DemandId, Draft, Grip, Job, Pick, Place, View, Want};
use heeler_model::{Assignment, Milli, NodeId, Placement, Reason, Slice, Slots, TenantId};
use std::collections::BTreeMap;

/// Half of a GPU.
pub(super) const HALF: Milli = Milli(500);
/// Half of a GPU and nothing beside it.
const OTHER_HALF: Grip = Grip { share: HALF, ..Grip::NOTHING };

/// The fullest node that fits, and large jobs on whole nodes.
const PACKED: Fit =
    Fit { pick: Pick::Tightest, remainder: Remainder::Emptiest, relax: false, racks: Racks::Any };

/// What a job takes with a share of each GPU.
pub(super) fn grip(job: &Job, share: Milli) -> Grip {
    Grip { share, ..Grip::from(&job.spec.demand) }
}

/// The cluster while a plan is made.
pub(super) struct Floor<'a> {
    pub(super) draft: Draft<'a>,
    view: View<'a>,
    pub(super) trials: Vec<NodeId>,
    /// What is taken of the nodes for trials, so that nobody else gets it.
    kept: Vec<(Placement, Grip)>,
    /// What tenants get by this plan, and give back.
    more: BTreeMap<TenantId, i64>,
    /// GPUs of the largest node.
    pub(super) node_gpus: u32,
    /// Why jobs with such demands, and such shares, found no GPUs of their own. While jobs go on
    /// there is only less and less room.
    full: BTreeMap<(DemandId, Milli), Reason>,
}

impl<'a> Floor<'a> {
    pub(super) fn new(view: &View<'a>, trials: Vec<NodeId>) -> Floor<'a> {
        let (draft, more) = (view.state().draft(), BTreeMap::new());
        let node_gpus = draft.cluster().nodes.iter().map(|node| node.gpus).max().unwrap_or(0);
        let (kept, full) = (Vec::new(), BTreeMap::new());
        Floor { draft, view: *view, trials, kept, more, node_gpus, full }
    }

    /// Whether a tenant's limits let a job have a share of each GPU.
    pub(super) fn within_limits(&self, job: &Job, share: Milli) -> Result<(), Reason> {
        let milli = i64::from(job.spec.demand.asked()) * i64::from(share.0);
        let tenants = self.view.state().tenants();
        let used = |tenant| {
            let more = self.more.get(&tenant).copied().unwrap_or(0);
            tenants.usage(tenant).milli as i64 + more
        };
        tenants.within_limits(job.spec.tenant, milli, used)
    }

    fn count(&mut self, job: &Job, milli: i64) {
        for tenant in self.view.state().tenants().lineage(job.spec.tenant) {
            *self.more.entry(tenant).or_default() += milli;
        }
    }

    /// A job gives back what it has.
    pub(super) fn give_back(&mut self, job: &Job) {
        let Some(on) = &job.assignment else { return };
        self.draft.release(&on.placement, grip(job, on.share));
        self.count(job, -(on.milli() as i64));
    }

    /// A job gets GPUs.
    pub(super) fn take(&mut self, job: &Job, on: &Assignment) {
        self.draft.claim(&on.placement, grip(job, on.share));
        self.count(job, on.milli() as i64);
    }

    /// GPUs to try a job out on: those of the fullest node that has enough.
    pub(super) fn try_out(&self, job: &Job) -> Result<Placement, Reason> {
        let (gpus, grip) = (job.spec.demand.asked(), grip(job, Milli::WHOLE));
        let free = |node: &NodeId| self.draft.unused(*node).count();
        let fits = |node: &&NodeId| {
            could_be_tried(job, **node, &self.draft) && self.draft.room(**node, grip) >= gpus
        };
        let node = self.trials.iter().filter(fits).min_by_key(|node| (free(node), **node));
        let free = || self.trials.iter().map(free).sum();
        let node = node.ok_or_else(|| Reason::NotEnoughFree { need: gpus, free: free() })?;
        Ok(Placement::on(*node, self.draft.slots_for(*node, gpus)))
    }

    /// Trials are placed; nobody else gets what is left of their nodes, and nobody gets the other
    /// half of GPUs without being asked whether he agrees.
    pub(super) fn close_trials(&mut self, residents: &Residents) {
        residents.iter().for_each(|alone| self.draft.claim(&alone.placement, OTHER_HALF));
        for node in &self.trials {
            for slot in 0..self.draft.cluster().nodes[node.index()].gpus {
                let share = Milli(self.draft.left_of(*node, slot));
                let kept =
                    (Placement::on(*node, Slots::one(slot)), Grip { share, ..Grip::NOTHING });
                if share > Milli(0) {
                    self.draft.claim(&kept.0, kept.1);
                    self.kept.push(kept);
                }
            }
        }
    }

    /// Nobody else is there: what is left of the nodes for trials is to be had.
    pub(super) fn open_trials(&mut self) {
        for (kept, grip) in std::mem::take(&mut self.kept) {
            self.draft.release(&kept, grip);
        }
    }

    /// GPUs for a job that goes on, with a share of each, out of what is free.
    pub(super) fn place_on(&mut self, job: &Job, share: Milli) -> Result<Placement, Reason> {
        if let Some(reason) = self.full.get(&(job.demand, share)) {
            return Err(*reason);
        }
        let placed = self.place(job, share);
        if let Err(reason) = &placed {
            self.full.insert((job.demand, share), *reason);
        }
        placed
    }

    /// GPUs for a job, with a share of each, out of what is free.
    pub(super) fn place(&self, job: &Job, share: Milli) -> Result<Placement, Reason> {
        let mut want = Want::as_asked(job);
        // A job that may get a neighbour is alone at first, on GPUs that nobody uses.
        if job.spec.demand.share.is_whole() {
            want.demand.share = Milli::WHOLE;
        }
        let placement = PACKED.place(&want, &self.draft, &self.view)?;
        match self.draft.has_room_for(&placement, grip(job, share)) {
            true => Ok(placement),
            false => Err(why_not(&want, &self.draft)),
        }
    }

    /// Whether just half of each GPU of a placement is free.
    pub(super) fn is_half_free(&self, placement: &Placement) -> bool {
        let half = |slice: &Slice| {
            slice.slots.iter().all(|slot| self.draft.left_of(slice.node, slot) == HALF.0)
        };
        placement.slices().iter().all(half)
    }

    /// Keep the other half of a job's GPUs for whom it agrees with.
    pub(super) fn keep_half(&mut self, placement: &Placement) {
        self.draft.claim(placement, OTHER_HALF);
    }

    /// Whether a newcomer has room beside a job.
    pub(super) fn has_room_beside(&self, job: &Job, alone: &Alone) -> bool {
        let demand = &job.spec.demand;
        let grip = Grip { share: Milli(0), ..grip(job, HALF) };
        let nodes = || alone.placement.slices().iter().map(|slice| slice.node);
        let kinds = nodes().all(|node| demand.kinds.contains(self.draft.kind_of(node)));
        kinds && self.draft.has_room_for(&alone.placement, grip)
    }

    /// A newcomer joins a job.
    pub(super) fn join(&mut self, job: &Job, alone: &Alone) -> Assignment {
        self.draft.release(&alone.placement, OTHER_HALF);
        let on = Assignment::new(alone.placement.clone(), HALF);
        self.take(job, &on);
        on
    }
}
