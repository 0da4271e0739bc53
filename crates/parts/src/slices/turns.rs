//! Whose turn it is. When a turn is over, those who have waited longest go first and those who have
//! run longest go last, so that jobs of one size on a node run in rotation; in between, nobody is
//! disturbed and free GPUs go to who has waited longest. Jobs that grew beyond what they asked for
//! are cut down where others wait.

use super::{Seat, Seats};
use heeler_engine::{Draft, Grip, Job, Phase, View};
use heeler_model::{
    Assignment, JobId, Milli, NodeId, Placement, Reason, Slice, Slots, TenantId, Time,
};
use smallvec::{SmallVec, smallvec};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// How much of a GPU each of two jobs has that run on it together.
const HALF: Milli = Milli(500);

/// Who should run on what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Targets {
    /// What each job should have.
    pub runs: BTreeMap<JobId, Assignment>,
    /// Jobs that a limit keeps out.
    pub refused: BTreeMap<JobId, Reason>,
    /// Nodes on which somebody waits.
    pub crowded: BTreeSet<NodeId>,
    /// Whoever has GPUs and is not named above keeps them.
    pub others_stay: bool,
}

/// Jobs that run together: one, or two on the same GPUs.
type Crew = SmallVec<[JobId; 2]>;

/// Who should run now. `over` says that the turns are over.
pub fn take_turns(view: &View, seats: &Seats, over: bool) -> Targets {
    let first = Walk::new(view, seats, over, &BTreeSet::new()).run();
    if first.others_stay {
        return first;
    }
    let grown = |(id, seat): (JobId, &Seat)| {
        let crowded = seat.node().is_some_and(|node| first.crowded.contains(&node));
        let gpus = first.runs.get(&id).map_or(0, Assignment::gpus);
        crowded && gpus > seat.gpus()
    };
    match seats.iter().any(grown) {
        true => Walk::new(view, seats, over, &first.crowded).run(),
        false => first,
    }
}

/// A walk over everybody with a seat, in the order in which they may choose.
struct Walk<'a> {
    view: &'a View<'a>,
    seats: &'a Seats,
    /// Nodes on which jobs have no more than they asked for.
    tight: &'a BTreeSet<NodeId>,
    order: Vec<Crew>,
    /// How late in the order the present holder of each GPU of each node is.
    held: Vec<Vec<usize>>,
    used: BTreeMap<TenantId, i64>,
    draft: Draft<'a>,
    targets: Targets,
}

impl<'a> Walk<'a> {
    fn new(
        view: &'a View<'a>,
        seats: &'a Seats,
        over: bool,
        tight: &'a BTreeSet<NodeId>,
    ) -> Walk<'a> {
        let crews = seats.iter().filter_map(|(id, seat)| match seat.beside {
            Some(beside) if beside < id => None,
            Some(beside) => Some(smallvec![id, beside]),
            None => Some(smallvec![id]),
        });
        // Between turns nearly always nobody can be disturbed: then only those who wait matter.
        let others_stay = !over && is_everybody_seated(view, seats);
        let waits = |crew: &Crew| !view.job(crew[0]).is_placed();
        let mut order: Vec<Crew> = crews.filter(|crew| !others_stay || waits(crew)).collect();
        order.sort_by_cached_key(|crew| rank(crew, view, over));
        let mut draft = view.state().draft();
        let nodes = draft.cluster().nodes.iter();
        let mut held: Vec<Vec<usize>> =
            nodes.map(|node| vec![usize::MAX; node.gpus as usize]).collect();
        let mut used = BTreeMap::new();
        let tenants = view.tenants();
        for (index, id) in
            order.iter().enumerate().flat_map(|(i, crew)| crew.iter().map(move |id| (i, *id)))
        {
            let job = view.job(id);
            let Some(on) = &job.assignment else { continue };
            draft.release(&on.placement, grip(job, on.share));
            for tenant in tenants.lineage(job.spec.tenant) {
                *used.entry(tenant).or_default() -= on.milli() as i64;
            }
            for slice in on.placement.slices() {
                let held = &mut held[slice.node.index()];
                slice.slots.iter().for_each(|slot| held[slot as usize] = index);
            }
        }
        for tenant in (0..tenants.len() as u16).map(TenantId) {
            *used.entry(tenant).or_default() += tenants.usage(tenant).milli as i64;
        }
        let targets = Targets { others_stay, ..Targets::default() };
        Walk { view, seats, tight, order, held, used, draft, targets }
    }

    fn run(mut self) -> Targets {
        for crew in std::mem::take(&mut self.order) {
            let placed = match self.refusal(&crew) {
                Some(reason) => {
                    self.targets.refused.extend(crew.iter().map(|id| (*id, reason)));
                    false
                }
                None => self.place(&crew),
            };
            let seat = self.seats.get(crew[0]).expect("a crew has a seat");
            if !placed {
                self.targets.crowded.extend(seat.parts.iter().map(|(node, _)| *node));
            }
        }
        if self.targets.crowded.is_empty() {
            self.grow();
        }
        self.targets
    }

    /// Nobody waits: whoever may grow takes what is free on its node.
    fn grow(&mut self) {
        for (id, seat) in self.seats.iter().filter(|(_, seat)| seat.most > seat.gpus()) {
            let (Some(node), Some(on)) = (seat.node(), self.targets.runs.get(&id)) else {
                continue;
            };
            let job = self.view.job(id);
            let free = self.draft.unused(node);
            let (grip, has) = (grip(job, on.share), on.gpus());
            let sizes = &job.spec.demand.sizes;
            let largest = sizes.largest_up_to(seat.most.min(has + free.count()));
            // The largest that a limit and what there is beside the GPUs allow.
            let found =
                std::iter::successors(largest, |size| sizes.largest_up_to(size.checked_sub(1)?))
                    .take_while(|size| *size > has && on.share.is_whole())
                    .map(|size| (size - has, Placement::on(node, free.lowest(size - has))))
                    .find(|(more, extra)| {
                        let milli = i64::from(*more) * i64::from(on.share.0);
                        self.within_limits(job, milli) && self.draft.has_room_for(extra, grip)
                    });
            let Some((more, extra)) = found else { continue };
            let milli = i64::from(more) * i64::from(on.share.0);
            self.draft.claim(&extra, grip);
            let had = on.placement.slices().first().map_or(Slots::default(), |slice| slice.slots);
            let placement = Placement::on(node, had.or(free.lowest(more)));
            for tenant in self.view.tenants().lineage(job.spec.tenant) {
                *self.used.entry(tenant).or_default() += milli;
            }
            self.targets.runs.insert(id, Assignment::whole(placement));
        }
    }

    /// Whether a job may have so many thousandths of GPUs more.
    fn within_limits(&self, job: &Job, milli: i64) -> bool {
        let used = |tenant| self.used[&tenant];
        self.view.tenants().within_limits(job.spec.tenant, milli, used).is_ok()
    }

    /// The limit that a crew would go beyond with what it asked for.
    fn refusal(&self, crew: &Crew) -> Option<Reason> {
        let tenants = self.view.tenants();
        let mut more: BTreeMap<TenantId, i64> = BTreeMap::new();
        for id in crew {
            let (job, seat) = (self.view.job(*id), self.seats.get(*id)?);
            let share = if crew.len() > 1 { HALF } else { job.spec.demand.share };
            let milli = i64::from(seat.gpus()) * i64::from(share.0);
            let used = |tenant| self.used[&tenant] + more.get(&tenant).copied().unwrap_or(0);
            if let Err(reason) = tenants.within_limits(job.spec.tenant, milli, used) {
                return Some(reason);
            }
            for tenant in tenants.lineage(job.spec.tenant) {
                *more.entry(tenant).or_default() += milli;
            }
        }
        None
    }

    /// Let a crew run, if there is room at its seat.
    fn place(&mut self, crew: &Crew) -> bool {
        let job = self.view.job(crew[0]);
        let seat = self.seats.get(crew[0]).expect("a crew has a seat");
        let share = if crew.len() > 1 { HALF } else { job.spec.demand.share };
        let kept = self.as_before(crew, seat, share);
        let savepoint = self.draft.savepoint();
        let Some(placement) = kept.or_else(|| self.choose(crew, seat)) else {
            return false;
        };
        for id in crew {
            let grip = grip(self.view.job(*id), share);
            if !self.draft.has_room_for(&placement, grip) {
                self.draft.back_to(savepoint);
                return false;
            }
            self.draft.claim(&placement, grip);
        }
        for id in crew {
            let assignment = Assignment::new(placement.clone(), share);
            for tenant in self.view.tenants().lineage(self.view.job(*id).spec.tenant) {
                *self.used.entry(tenant).or_default() += assignment.milli() as i64;
            }
            self.targets.runs.insert(*id, assignment);
        }
        true
    }

    /// What a crew has now, if that is at its seat and still to be had.
    fn as_before(&self, crew: &Crew, seat: &Seat, share: Milli) -> Option<Placement> {
        let job = self.view.job(crew[0]);
        let on = job.assignment.as_ref()?;
        let same = |id: &JobId| self.view.job(*id).assignment.as_ref() == Some(on);
        let node = seat.node();
        let grown = || {
            let here = |slice: &Slice| Some(slice.node) == node;
            let wide = node.is_some_and(|node| !self.tight.contains(&node));
            let more = on.gpus() > seat.gpus() && on.gpus() <= seat.most;
            let within = || self.within_limits(job, on.milli() as i64);
            wide && more && on.placement.slices().iter().all(here) && within()
        };
        let fits = seat.is_met_by(&on.placement) || (crew.len() == 1 && grown());
        let keeps = on.share == share && crew.iter().all(same) && fits;
        let room = || self.draft.has_room_for(&on.placement, grip(job, share));
        (keeps && room()).then(|| on.placement.clone())
    }

    /// GPUs at a seat: its own, then those that nobody has, then those of who goes last.
    fn choose(&self, crew: &Crew, seat: &Seat) -> Option<Placement> {
        let mut has = crew.iter().filter_map(|id| self.view.job(*id).assignment.as_ref());
        let own = has.next().map(|on| &on.placement);
        let demand = &self.view.job(crew[0]).spec.demand;
        let part = crew.len() == 1 && !demand.share.is_whole();
        let mut slices: SmallVec<[Slice; 1]> = SmallVec::new();
        for (node, gpus) in &seat.parts {
            let mine = own.and_then(|own| own.slices().iter().find(|s| s.node == *node));
            let mine = mine.map_or(Slots::default(), |slice| slice.slots);
            let left = |slot: u32| self.draft.left_of(*node, slot);
            let memory = i64::from(demand.gpu_memory_mb);
            let fits = |slot: &u32| match part {
                true => {
                    let memory = self.draft.gpu_memory_left(*node, *slot) >= memory;
                    left(*slot) >= demand.share.0 && memory
                }
                false => left(*slot) == Milli::WHOLE.0,
            };
            if !part && self.draft.unused(*node).count() < *gpus {
                return None;
            }
            let all = self.draft.cluster().nodes[node.index()].slots();
            let mut slots: Vec<u32> = all.iter().filter(fits).collect();
            slots.sort_by_key(|slot| {
                let last = self.held[node.index()][*slot as usize];
                (!mine.contains(*slot), if part { left(*slot) } else { 0 }, Reverse(last), *slot)
            });
            slots.truncate(*gpus as usize);
            if slots.len() < *gpus as usize {
                return None;
            }
            let slots = slots.into_iter().fold(Slots::default(), |s, slot| s.or(Slots::one(slot)));
            slices.push(Slice { node: *node, slots });
        }
        Some(Placement::new(slices))
    }
}

/// Whether whoever has GPUs has those of its seat, and nobody may have more or is held to a limit.
fn is_everybody_seated(view: &View, seats: &Seats) -> bool {
    let fleet = view.fleet();
    let is_seated = |(id, seat): (JobId, &Seat)| {
        let job = view.job(id);
        let beside = seat.beside.map(|id| view.job(id).assignment.as_ref());
        let Some(on) = &job.assignment else { return beside.flatten().is_none() };
        let share = if beside.is_some() { HALF } else { job.spec.demand.share };
        let as_given = on.share == share && on.portion.is_none() && fleet.are_up(&on.placement);
        as_given && beside.is_none_or(|other| other == Some(on)) && seat.is_met_by(&on.placement)
    };
    let may_grow = |seat: &Seat| seat.most > seat.gpus();
    let mut all = seats.iter();
    !view.tenants().have_limits() && all.all(|seat| !may_grow(seat.1) && is_seated(seat))
}

/// What a job takes of a node with a share of each GPU.
pub(super) fn grip(job: &Job, share: Milli) -> Grip {
    Grip { share, ..Grip::from(&job.spec.demand) }
}

/// Where a crew stands: who may not be disturbed, who has waited longest, who has run shortest.
fn rank(crew: &Crew, view: &View, over: bool) -> (u8, u64, JobId) {
    let mut waits: Option<Time> = None;
    let (mut stays, mut since) = (!over, Time::ZERO);
    for job in crew.iter().map(|id| view.job(*id)) {
        if !job.is_placed() {
            waits = Some(waits.map_or(job.since, |since| since.min(job.since)));
        }
        // Who has not come to work yet would only have been disturbed.
        stays |= job.phase != Phase::Running || job.progress.from > view.now();
        since = since.max(job.since);
    }
    match waits {
        Some(since) => (1, since.micros(), crew[0]),
        None if stays => (0, since.micros(), crew[0]),
        None => (2, u64::MAX - since.micros(), crew[0]),
    }
}
