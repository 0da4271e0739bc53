//! Making room: take GPUs from running jobs, as few as will do, and never for nothing.

use super::Preempt;
use super::changed::Changed;
use super::memo::Vain;
use super::queue::Rank;
use super::room::{Relief, Room, keep_largest};
use super::walk::Walk;
use crate::fleet::Grip;
use crate::state::Job;
use crate::traits::{Needs, Want, Wants};
use heeler_model::{Assignment, Demand, JobId, KindId, KindSet, Placement, Reason, Run, Stop};

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
            Preempt::ByOrder { strictly, .. } => {
                let rank = if strictly { rank.last_of_its_key() } else { rank };
                self.is_anybody_behind(rank)
                    && wants.iter().any(|want| self.relieve(job, want, From::Behind(rank)))
            }
            Preempt::Reclaim { from_used, .. } => wants.iter().any(|want| {
                self.is_within_quota(job, want)
                    && self.is_used_from(from_used)
                    && self.relieve(job, want, From::OverQuota)
            }),
        }
    }

    fn relieve(&mut self, job: &'a Job, want: &Want, from: From) -> bool {
        // As it ranks before anybody has given way for it.
        let behind = self.tenant_rank(job) > 0;
        let gone = self.make_room_within_limits(job, want, (from, behind));
        let Some(gone) = gone else { return false };
        if !gone.is_empty()
            && let Some(placement) = self.fits(job, want)
        {
            self.settle(job, want, placement, gone);
            return true;
        }
        let (mut rooms, others) = self.rooms(job, want, from);
        for other in others {
            if matches!(from, From::Behind(rank) if other <= rank) {
                break;
            }
            if !self.may_stop(job, (from, behind), other) {
                continue;
            }
            // Whoever this plan has dealt with gives nothing more, unless it can shrink.
            if from != From::Large && self.planned.contains_key(&other.job) {
                continue;
            }
            let Some(kind) = self.kind_under(self.view.state().job(other.job)) else { continue };
            let Some(index) = rooms.iter().position(|room| room.kind == kind) else { continue };
            let is_gone = gone.iter().any(|relief| relief.rank == other);
            let relief = self.relief(other, from).filter(|_| !is_gone);
            if let Some(relief) = relief {
                rooms[index].add(relief, &self.draft);
            }
            if rooms[index].is_due()
                && let Some(placement) = self.try_out(job, &mut rooms[index])
            {
                self.settle_in(job, rooms.swap_remove(index), placement, gone);
                return true;
            }
        }
        for index in 0..rooms.len() {
            if rooms[index].is_untried()
                && let Some(placement) = self.try_out(job, &mut rooms[index])
            {
                self.settle_in(job, rooms.swap_remove(index), placement, gone);
                return true;
            }
        }
        for relief in gone.iter().rev() {
            self.come_back(relief);
        }
        if let From::Behind(rank) = from
            && self.is_settled()
        {
            for room in rooms {
                let kinds = room.want.demand.kinds;
                let vain = room.in_vain(rank, self.pipe, self.view);
                self.pipe.memo.remember(job.id, kinds, vain);
            }
        }
        false
    }

    /// Whether the order lets a running job be stopped for this one, which may rank behind.
    fn may_stop(&self, job: &Job, (from, behind): (From, bool), other: Rank) -> bool {
        let From::Behind(rank) = from else { return true };
        let (order, running) = (&self.pipe.parts.order, self.view.state().job(other.job));
        !order.protects(running, job, behind, self.view)
            && order.is_worth_a_stop((job, rank.key), (running, other.key))
    }

    /// Whether a job fits if everybody useful gives way. If it does, they have.
    fn try_out(&mut self, job: &Job, room: &mut Room<'a>) -> Option<Placement> {
        room.tried();
        let before = self.draft.savepoint();
        for relief in room.useful() {
            self.give_way(relief);
        }
        let placement = self.fits(job, &room.want);
        if placement.is_none() {
            self.draft.back_to(before);
            for relief in room.useful() {
                self.count(relief.job, relief.given());
            }
        }
        placement
    }

    /// Where room could be made, kind by kind (what has to be free differs with the size of the
    /// nodes), and by whom, last first.
    fn rooms(
        &self,
        job: &Job,
        want: &Want,
        from: From,
    ) -> (Vec<Room<'a>>, Box<dyn Iterator<Item = Rank> + 'a>) {
        let mut rooms = Vec::new();
        let count = self.draft.cluster().nodes.len();
        // Nodes to look at; all of them, if it is not known which have changed.
        let (mut nodes, mut all) = (None, false);
        for kind in want.demand.kinds.iter(self.draft.cluster().kinds.len()) {
            let demand = Demand { kinds: KindSet::only(kind), ..want.demand };
            let want = Want { demand, ..*want };
            let needs = self.pipe.parts.place.needs(&want, &self.draft);
            let last = self.last_attempt(job, &want, from);
            if needs != Needs::OneNode && last.is_some_and(|vain| self.is_vain(&vain)) {
                continue;
            }
            // Nodes that were not free enough and have not changed are not free enough now.
            match (last, needs) {
                (Some(vain), Needs::OneNode) if !all => {
                    let nodes = nodes.get_or_insert_with(|| Changed::none_of(count));
                    self.changed_since(&vain, nodes);
                }
                _ => all = true,
            }
            rooms.push(Room::new(needs, kind, &want, &self.draft));
        }
        let others: Box<dyn Iterator<Item = Rank> + 'a> = match (nodes, from) {
            _ if all => self.everybody(from),
            (Some(nodes), From::Behind(rank)) => {
                Box::new(self.only_behind(rank, &nodes).into_iter())
            }
            _ => Box::new(std::iter::empty()),
        };
        (rooms, others)
    }

    /// The kind of GPU that a job is on in this plan.
    fn kind_under(&self, job: &'a Job) -> Option<KindId> {
        let on = match self.planned.get(&job.id) {
            Some(planned) => planned.as_ref()?,
            None => &job.assignment.as_ref()?.placement,
        };
        on.slices().first().map(|slice| self.draft.kind_of(slice.node))
    }

    /// Whether a new attempt must fail as the last did, going by numbers alone: GPUs that came free
    /// or whose jobs changed rank since, and those that this plan takes away from somebody.
    fn is_vain(&self, vain: &Vain) -> bool {
        let (state, memo, touched) = (self.view.state(), &self.pipe.memo, self.view.touched());
        let taken = |id: &JobId| state.job(*id).assignment.as_ref().map_or(0, Assignment::gpus);
        let planned: u32 = self.planned.keys().map(taken).sum();
        let logged = touched.released_ever() - vain.released + memo.moved_ever() - vain.moved;
        let more = logged + u64::from(planned);
        more == 0 || more < u64::from(vain.missing)
    }

    /// Where a tenant's limit is in the way, jobs behind of that tenant give way first. None if
    /// that does not help.
    fn make_room_within_limits(
        &mut self,
        job: &'a Job,
        want: &Want,
        (from, behind): (From, bool),
    ) -> Option<Vec<Relief<'a>>> {
        let mut gone: Vec<Relief<'a>> = Vec::new();
        let milli = want.milli();
        while let Err(Reason::OverLimit { tenant, .. }) = self.within_limits(job, milli) {
            let From::Behind(rank) = from else { return None };
            let state = self.view.state();
            let next = self.everybody(from).take_while(|other| *other > rank).find_map(|other| {
                let mut lineage = state.tenants().lineage(state.job(other.job).spec.tenant);
                let counts = lineage.any(|t| t == tenant);
                let fresh = gone.iter().all(|relief| relief.rank != other);
                let may = counts && fresh && self.may_stop(job, (from, behind), other);
                may.then(|| self.relief(other, from)).flatten()
            });
            let Some(relief) = next else {
                for relief in gone.iter().rev() {
                    self.come_back(relief);
                }
                return None;
            };
            self.give_way(&relief);
            gone.push(relief);
        }
        Some(gone)
    }

    /// The last attempt to make room for a job, if it is still worth something.
    fn last_attempt(&self, job: &Job, want: &Want, from: From) -> Option<Vain> {
        let From::Behind(rank) = from else { return None };
        if !self.is_settled() {
            return None;
        }
        let vain = self.pipe.memo.recall(job.id, want.demand.kinds, rank)?;
        self.view.touched().since(vain.touched).is_some().then_some(vain)
    }

    /// Running jobs from whom GPUs may be taken, last first.
    fn everybody(&self, from: From) -> Box<dyn Iterator<Item = Rank> + 'a> {
        match from {
            From::Behind(_) => {
                Box::new(self.behind.borrow_mut().rest(self.pipe, self.now(), &self.planned))
            }
            From::OverQuota => Box::new(self.lent().into_iter()),
            From::Large => {
                let pipe = self.pipe;
                let others = pipe.queue.running_last_first(self.now(), |group| !group.fixed);
                let others = others.take(super::behind::LOOKED_AT_MAX);
                // Those who start in this plan can start smaller.
                Box::new(self.started.clone().into_iter().rev().chain(others))
            }
        }
    }

    /// What a running job could give, if it may be disturbed at all.
    fn relief(&self, other: Rank, from: From) -> Option<Relief<'a>> {
        let job = self.view.state().job(other.job);
        let leased = self.is_leased(job);
        let starts = !job.is_placed() && from == From::Large;
        if leased || (self.planned.contains_key(&job.id) && !starts) {
            return None;
        }
        let old = self.placement_of(job)?;
        let new = match from {
            From::Behind(_) | From::OverQuota => None,
            From::Large if !self.draft.are_up(&old) => return None,
            From::Large => {
                let resize = self.pipe.parts.resize.as_ref()?;
                let size = resize.shrink(job, old.gpus(), self.view)?;
                Some(keep_largest(&old, size))
            }
        };
        Some(Relief { rank: other, job, old, new, rest: self.left_behind(job) })
    }

    fn give_way(&mut self, relief: &Relief<'a>) {
        let grip = Walk::grip(relief.job);
        self.draft.release(&relief.old, grip);
        if let Some(rest) = relief.rest {
            self.draft.release(&relief.old, rest);
        }
        if let Some(new) = &relief.new {
            self.draft.claim(new, grip);
        }
        self.count(relief.job, -relief.given());
    }

    fn come_back(&mut self, relief: &Relief<'a>) {
        let grip = Walk::grip(relief.job);
        if let Some(new) = &relief.new {
            self.draft.release(new, grip);
        }
        self.draft.claim(&relief.old, grip);
        if let Some(rest) = relief.rest {
            self.draft.claim(&relief.old, rest);
        }
        self.count(relief.job, relief.given());
    }

    /// Where a job would fit now, if its tenants' limits allow it.
    pub(super) fn fits(&self, job: &Job, want: &Want) -> Option<Placement> {
        let milli = want.milli();
        let count = self.draft.free_of(want.demand.kinds);
        if want.demand.share.is_whole() && count < want.gpus {
            return None;
        }
        self.within_limits(job, milli).ok()?;
        self.pipe.parts.place.place(want, &self.draft, self.view).ok()
    }

    fn settle_in(&mut self, job: &'a Job, room: Room<'a>, fit: Placement, gone: Vec<Relief<'a>>) {
        let want = room.want;
        let reliefs = gone.into_iter().chain(room.into_useful()).collect();
        self.settle(job, &want, fit, reliefs);
    }

    /// Everybody who need not give way after all comes back, those first in order first. The
    /// others stop or shrink, and may run elsewhere when their turn comes.
    fn settle(
        &mut self,
        job: &'a Job,
        want: &Want,
        mut fit: Placement,
        mut reliefs: Vec<Relief<'a>>,
    ) {
        let mut given: Vec<Relief<'a>> = Vec::new();
        reliefs.sort_by_key(|relief| relief.rank);
        for relief in reliefs {
            self.come_back(&relief);
            match self.fits(job, want) {
                Some(placement) => fit = placement,
                None => {
                    self.give_way(&relief);
                    given.push(relief);
                }
            }
        }
        self.displaced += given.len();
        for relief in given {
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
                    let assignment = Assignment::new(placement, share);
                    let job = relief.job.id;
                    match self.plan.run.iter_mut().find(|run| run.job == job) {
                        Some(run) => run.assignment = assignment,
                        None => self.plan.run.push(Run { job, assignment, lease: None }),
                    }
                }
            }
        }
        self.start(job, want, fit);
        self.ask_again();
    }

    /// What a job takes beside GPU slots.
    pub(super) fn grip(job: &Job) -> Grip {
        let demand = &job.spec.demand;
        job.assignment.as_ref().map_or_else(|| Grip::from(demand), |on| Grip::of(demand, on))
    }
}
