//! The cluster while a plan is made. What nobody may be given is filled in thought.

use super::loads::{Gpu, Tried, gpus};
use crate::place::{Fit, Racks, Remainder};
use heeler_engine::{Draft, Grip, Job, Pick, Place, View, Want};
use heeler_model::{
    Assignment, KindId, Milli, NodeId, Placement, Reach, Reason, Slice, Slots, TenantId,
};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// Half of each GPU for who is guaranteed it, half for whoever takes what is left over.
pub(super) const HALF: Milli = Milli(500);

/// On as few nodes as possible, but rather spread than wait.
const TOGETHER: Fit = Fit {
    pick: Pick::Tightest,
    remainder: Remainder::AsPicked,
    relax: true,
    racks: Racks::Fullest,
};

/// Whether a job asks for GPUs of its own, which others may be beside.
pub(super) fn has_classes(job: &Job) -> bool {
    let demand = &job.spec.demand;
    demand.share.is_whole() && demand.asked() > 0
}

/// What a job takes with a share of each GPU.
pub(super) fn grip(job: &Job, share: Milli) -> Grip {
    Grip { share, ..Grip::from(&job.spec.demand) }
}

/// The cluster while a plan is made.
pub(super) struct Desk<'a> {
    pub(super) draft: Draft<'a>,
    pub(super) view: View<'a>,
    fills: BTreeMap<Gpu, Grip>,
    /// How often anything has changed.
    turn: u64,
    /// Thousandths of GPUs that tenants use, where they have limits.
    used: BTreeMap<TenantId, i64>,
    /// GPUs of each node of a kind that is up, the largest first.
    sizes: Vec<Vec<u32>>,
}

impl<'a> Desk<'a> {
    pub(super) fn new(view: &View<'a>) -> Desk<'a> {
        let draft = view.state().draft();
        let mut sizes = vec![Vec::new(); draft.cluster().kinds.len()];
        for (index, node) in draft.cluster().nodes.iter().enumerate() {
            if draft.is_up(NodeId(index as u32)) {
                sizes[node.kind.index()].push(node.gpus);
            }
        }
        sizes.iter_mut().for_each(|sizes| sizes.sort_unstable_by(|one, other| other.cmp(one)));
        let (fills, used) = (BTreeMap::new(), BTreeMap::new());
        let mut desk = Desk { draft, view: *view, fills, turn: 0, used, sizes };
        if view.tenants().have_limits() {
            let placed = view.state().jobs().iter().filter(|job| job.assignment.is_some());
            placed.for_each(|job| desk.count(job));
        }
        desk
    }

    /// How often what is free has changed.
    pub(super) fn turn(&self) -> u64 {
        self.turn
    }

    /// GPUs of the largest node of a kind.
    pub(super) fn size(&self, kind: KindId) -> u32 {
        self.sizes[kind.index()].first().copied().unwrap_or(0)
    }

    /// Whether so many GPUs of a kind are whole nodes of the largest size and part of another.
    pub(super) fn are_nodes(&self, need: u32, kind: KindId) -> bool {
        let (sizes, size) = (&self.sizes[kind.index()], self.size(kind).max(1));
        let (whole, rest) = ((need / size) as usize, need % size);
        let last = whole + usize::from(rest > 0);
        sizes.len() >= last
            && sizes[..whole].iter().all(|gpus| *gpus == size)
            && sizes[whole..last].iter().all(|gpus| *gpus >= rest)
    }

    /// Jobs count as if they had their GPUs to themselves. Another recipe may have let one grow.
    fn count(&mut self, job: &Job) {
        let demand = &job.spec.demand;
        let asked = i64::from(demand.asked()) * i64::from(demand.share.0);
        let has = job.assignment.as_ref().map_or(0, |on| on.milli() as i64);
        let milli = asked.max(has);
        for tenant in self.view.state().tenants().lineage(job.spec.tenant) {
            *self.used.entry(tenant).or_default() += milli;
        }
    }

    /// Whether a tenant's limits let a job run.
    pub(super) fn within_limits(&self, job: &Job) -> Result<(), Reason> {
        let (tenants, demand) = (self.view.state().tenants(), &job.spec.demand);
        let milli = i64::from(demand.asked()) * i64::from(demand.share.0);
        let used = |tenant| self.used.get(&tenant).copied().unwrap_or(0);
        tenants.within_limits(job.spec.tenant, milli, used)
    }

    /// Nobody gets what is left of some GPUs.
    pub(super) fn fill(&mut self, placement: &Placement) {
        for (node, slot) in gpus(placement) {
            let share = Milli(self.draft.left_of(node, slot));
            if share > Milli(0) && !self.fills.contains_key(&(node, slot)) {
                let grip = Grip { share, ..Grip::NOTHING };
                self.draft.claim(&Placement::on(node, Slots::one(slot)), grip);
                self.fills.insert((node, slot), grip);
                self.turn += 1;
            }
        }
    }

    /// It is to be had again.
    pub(super) fn open(&mut self, placement: &Placement) {
        for gpu in gpus(placement) {
            if let Some(grip) = self.fills.remove(&gpu) {
                self.draft.release(&Placement::on(gpu.0, Slots::one(gpu.1)), grip);
                self.turn += 1;
            }
        }
    }

    /// Everything is.
    pub(super) fn open_all(&mut self) {
        for ((node, slot), grip) in std::mem::take(&mut self.fills) {
            self.draft.release(&Placement::on(node, Slots::one(slot)), grip);
        }
    }

    /// A job is kept GPUs. It counts as if it had all it needs, or others of its tenant would pass
    /// it.
    pub(super) fn keep(&mut self, job: &Job, placement: &Placement) {
        self.fill(placement);
        if self.view.tenants().have_limits() {
            self.count(job);
        }
    }

    /// A job gets GPUs, of each of which it has a share.
    pub(super) fn take(&mut self, job: &Job, placement: Placement, share: Milli) -> Assignment {
        let share = if has_classes(job) { share } else { job.spec.demand.share };
        self.draft.claim(&placement, grip(job, share));
        self.turn += 1;
        if self.view.tenants().have_limits() {
            self.count(job);
        }
        Assignment::new(placement, share)
    }

    /// GPUs for a job as it asks for them, out of what is free.
    pub(super) fn as_asked(&self, job: &Job) -> Result<Placement, Reason> {
        TOGETHER.place(&Want::as_asked(job), &self.draft, &self.view)
    }

    /// The least busy GPUs for a job that takes what is left over, if there are enough.
    pub(super) fn least_busy(
        &self,
        job: &Job,
        share: Milli,
        loads: &Tried,
    ) -> Result<Placement, Reason> {
        if !has_classes(job) {
            return self.as_asked(job);
        }
        let (need, grip) = (job.spec.demand.asked(), grip(job, share));
        let (mut best, mut most): (Option<Vec<(f64, Gpu)>>, u32) = (None, 0);
        for mut found in self.left_over(job, grip, loads) {
            most = most.max(found.len() as u32);
            if found.len() < need as usize {
                continue;
            }
            found.sort_by(|one, other| one.0.total_cmp(&other.0));
            found.truncate(need as usize);
            let busiest = |gpus: &[(f64, Gpu)]| gpus.last().map_or(0.0, |(load, _)| *load);
            if best.as_ref().is_none_or(|best| busiest(&found) < busiest(best)) {
                best = Some(found);
            }
        }
        let best = best.ok_or(Reason::NotEnoughFree { need, free: most })?;
        let mut slots: BTreeMap<NodeId, Slots> = BTreeMap::new();
        for (_, (node, slot)) in best {
            let here = slots.entry(node).or_default();
            *here = here.or(Slots::one(slot));
        }
        let slices: SmallVec<[Slice; 1]> =
            slots.into_iter().map(|(node, slots)| Slice { node, slots }).collect();
        Ok(Placement::new(slices))
    }

    /// GPUs that a job could be on beside others: those of a kind, or of a rack or a node if that
    /// is how far it may reach, each with how busy it is.
    fn left_over(&self, job: &Job, grip: Grip, loads: &Tried) -> Vec<Vec<(f64, Gpu)>> {
        let (demand, draft) = (&job.spec.demand, &self.draft);
        let mut found: BTreeMap<(KindId, u32), Vec<(f64, Gpu)>> = BTreeMap::new();
        for (index, node) in draft.cluster().nodes.iter().enumerate() {
            let id = NodeId(index as u32);
            if !draft.is_up(id) || !demand.kinds.contains(node.kind) {
                continue;
            }
            let has_left = |slot: &u32| {
                loads.has_left((id, *slot))
                    && draft.left_of(id, *slot) >= grip.share.0
                    && draft.gpu_memory_left(id, *slot) >= i64::from(grip.gpu_memory_mb)
            };
            let free = (0..node.gpus).filter(has_left);
            let mut here: Vec<(f64, Gpu)> =
                free.map(|slot| (loads.at((id, slot)), (id, slot))).collect();
            if grip.cpu_milli > 0 || grip.memory_mb > 0 {
                // CPUs and memory of the node may do for some of them only.
                here.sort_by(|one, other| one.0.total_cmp(&other.0));
                let fits = |count: usize| {
                    let slots = here[..count].iter().map(|(_, gpu)| Slots::one(gpu.1));
                    let slots = slots.fold(Slots::default(), Slots::or);
                    count == 0 || draft.has_room_for(&Placement::on(id, slots), grip)
                };
                let most = (0..=here.len()).rev().find(|count| fits(*count)).unwrap_or(0);
                here.truncate(most);
            }
            let within = match demand.reach {
                Reach::Cluster => 0,
                Reach::Rack => node.rack.0,
                Reach::Node => id.0,
            };
            found.entry((node.kind, within)).or_default().extend(here);
        }
        found.into_values().collect()
    }
}
