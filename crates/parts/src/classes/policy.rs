//! The policy: who is guaranteed GPUs comes first and is kept what it needs, then those who take
//! what is left over; in both classes in the order in which they came.

use super::desk::{Desk, HALF, has_classes};
use super::gather::{Found, gather};
use super::loads::{Gpu, Held, Loads, Tried, Uses};
use super::queue::{Queue, is_opportunistic};
use heeler_engine::{DemandId, Grip, Note, Policy, View};
use heeler_model::{JobId, Milli, Placement, Plan, Reason, Stop, Time, Wait};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What it remembers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Books {
    queue: Queue,
    /// What waiting jobs are kept.
    kept: BTreeMap<JobId, Placement>,
    /// Who has GPUs.
    placed: BTreeMap<JobId, Held>,
    loads: Loads,
    stirred: bool,
}

/// What is kept for those who wait, after a decision: something, or no longer anything.
type Kept = BTreeMap<JobId, Option<Placement>>;

impl Books {
    /// Other GPUs are kept than were.
    fn keep(&self, kept: &Kept, loads: &mut Tried) {
        for (id, now) in kept {
            match (self.kept.get(id), now) {
                (None, Some(now)) => loads.keeps(now, None),
                (Some(had), Some(now)) => {
                    loads.lets_go(had, Some(now));
                    loads.keeps(now, Some(had));
                }
                (Some(had), None) => loads.lets_go(had, None),
                (None, None) => {}
            }
        }
    }
}

/// Jobs of two classes.
pub struct Classes {
    uses: Uses,
    books: Books,
}

impl Classes {
    /// Nothing seen yet.
    pub fn new(uses: Uses) -> Classes {
        Classes { uses, books: Books::default() }
    }

    /// What of each GPU a job has that takes what is left over.
    fn leftover(&self) -> Milli {
        Milli(HALF.0 / self.uses.most())
    }

    /// The cluster as those see it who are guaranteed GPUs: whoever takes what is left over is not
    /// there, and what others of their own have or are kept is taken.
    fn desk<'a>(&self, dropped: &BTreeSet<JobId>, view: &View<'a>) -> Desk<'a> {
        let mut desk = Desk::new(view);
        let (leftover, own): (Vec<_>, Vec<_>) =
            self.books.placed.iter().partition(|(_, held)| held.opportunistic);
        for (id, _) in leftover {
            let job = view.state().job(*id);
            if let Some(on) = &job.assignment {
                desk.draft.release(&on.placement, Grip::of(&job.spec.demand, on));
            }
        }
        // GPUs that somebody is on are not free anyway, but for who asks for a part of one.
        let part = |id| !view.job(id).spec.demand.share.is_whole();
        if self.books.queue.sorts(false).any(part) {
            let own = own.into_iter().filter(|(id, _)| has_classes(view.job(**id)));
            own.for_each(|(_, held)| desk.fill(&held.placement));
        }
        let kept = self.books.kept.iter().filter(|(id, _)| !dropped.contains(id));
        kept.for_each(|(_, kept)| desk.fill(kept));
        desk
    }

    /// Give GPUs to those who are guaranteed them, or keep some for them. Says what is kept for
    /// those who wait.
    fn guarantee(&self, desk: &mut Desk, dropped: &BTreeSet<JobId>, plan: &mut Plan) -> Kept {
        let (view, mut kept) = (desk.view, BTreeMap::new());
        let mut vain: BTreeMap<DemandId, (u64, Reason)> = BTreeMap::new();
        let mut walk = self.books.queue.walk(false, self.books.kept.keys(), &view);
        while let Some(id) = walk.next(desk.turn()) {
            let job = view.state().job(id);
            let had = self.books.kept.get(&id).filter(|_| !dropped.contains(&id));
            // As long as nothing changes, whoever asks for the same finds the same.
            let known = vain.get(&job.demand).filter(|(at, _)| had.is_none() && *at == desk.turn());
            let found = match desk.within_limits(job) {
                Ok(()) if let Some((_, reason)) = known => Found::Nothing(*reason),
                Ok(()) => gather(job, had, desk),
                Err(reason) => {
                    had.into_iter().for_each(|had| desk.open(had));
                    Found::Nothing(reason)
                }
            };
            let reason = match found {
                Found::Enough(placement) => {
                    desk.open(&placement);
                    let on = desk.take(job, placement, HALF);
                    if has_classes(job) {
                        desk.fill(&on.placement);
                    }
                    plan.start(id, on);
                    continue;
                }
                Found::Some(placement) => {
                    desk.keep(job, &placement);
                    let (has, need) = (placement.gpus(), job.spec.demand.asked());
                    kept.insert(id, Some(placement));
                    Reason::Gathers { has, need }
                }
                Found::Nothing(reason) => {
                    if self.books.kept.contains_key(&id) {
                        kept.insert(id, None);
                    }
                    if !matches!(reason, Reason::OverLimit { .. }) {
                        vain.insert(job.demand, (desk.turn(), reason));
                        walk.in_vain(job, desk.turn());
                    }
                    reason
                }
            };
            plan.wait.push(Wait { job: id, reason });
        }
        kept
    }

    /// The same, but what is kept for somebody to no purpose is to be had for those before it:
    /// where it may no longer have it, or where the first who waits for more could start with it.
    fn settle<'a>(&self, view: &View<'a>) -> (Desk<'a>, Plan, Kept) {
        let mut dropped = BTreeSet::new();
        loop {
            let (mut desk, mut plan) = (self.desk(&dropped, view), Plan::none());
            let kept = self.guarantee(&mut desk, &dropped, &mut plan);
            let lost = kept.iter().filter(|(_, now)| now.is_none()).map(|(id, _)| *id);
            let lost = lost.filter(|id| self.books.kept.contains_key(id));
            let mut more: Vec<JobId> = lost.filter(|id| !dropped.contains(id)).collect();
            if more.is_empty() {
                more = self.in_the_way(&mut desk, &kept);
                more.retain(|id| self.books.kept.contains_key(id) && !dropped.contains(id));
            }
            if more.is_empty() {
                return (desk, plan, kept);
            }
            dropped.extend(more);
        }
    }

    /// For whom GPUs are kept with which the first who waits for more could start.
    fn in_the_way(&self, desk: &mut Desk, kept: &Kept) -> Vec<JobId> {
        let view = desk.view;
        let mut waiting: Vec<(JobId, &Placement)> =
            kept.iter().filter_map(|(id, kept)| Some((*id, kept.as_ref()?))).collect();
        waiting.sort_by_cached_key(|(id, _)| (view.job(*id).submitted, *id));
        let mut waiting = waiting.into_iter();
        let Some((first, has)) = waiting.next() else { return Vec::new() };
        // One that is gathered on a node asks for nothing of other nodes.
        let node = has.slices().first().map(|slice| slice.node).filter(|node| {
            desk.size(desk.draft.kind_of(*node)) >= view.job(first).spec.demand.asked()
        });
        let near = |on: &Placement| on.slices().iter().any(|slice| Some(slice.node) == node);
        let others: Vec<(JobId, &Placement)> =
            waiting.filter(|(_, kept)| node.is_none() || near(kept)).collect();
        others.iter().for_each(|(_, kept)| desk.open(kept));
        let found = match gather(view.state().job(first), Some(has), desk) {
            Found::Enough(placement) => Some(placement),
            Found::Some(_) | Found::Nothing(_) => None,
        };
        desk.fill(has);
        others.iter().for_each(|(_, kept)| desk.fill(kept));
        let meets = |(id, kept): (JobId, &Placement)| found.as_ref()?.meets(kept).then_some(id);
        others.into_iter().filter_map(meets).collect()
    }

    /// Those who take what is left over are there again, unless memory or CPUs are needed by one
    /// who is guaranteed its GPUs.
    fn give_way(&self, desk: &mut Desk, plan: &mut Plan) {
        let view = desk.view;
        for (id, held) in self.books.placed.iter().filter(|(_, held)| held.opportunistic) {
            let job = view.state().job(*id);
            let Some(on) = &job.assignment else { continue };
            let nodes = |on: &Placement| on.slices().iter().map(|slice| slice.node).collect();
            let mine: BTreeSet<_> = nodes(&held.placement);
            let comes = plan.run.iter().find(|run| {
                let theirs: BTreeSet<_> = nodes(&run.assignment.placement);
                !mine.is_disjoint(&theirs)
            });
            let grip = Grip::of(&job.spec.demand, on);
            match comes.map(|run| run.job) {
                Some(by) if !desk.draft.has_room_for(&on.placement, grip) => {
                    plan.stop.push(Stop { job: *id, reason: Reason::Displaced { by } });
                }
                _ => desk.draft.claim(&on.placement, grip),
            }
        }
    }

    /// Give what is left over to those who take it.
    fn hand_out(&self, desk: &mut Desk, loads: &mut Tried, plan: &mut Plan) {
        let (view, share) = (desk.view, self.leftover());
        // While a plan is made there is only less and less.
        let mut full: BTreeMap<DemandId, Reason> = BTreeMap::new();
        let mut walk = self.books.queue.walk(true, std::iter::empty(), &view);
        while let Some(id) = walk.next(0) {
            let job = view.state().job(id);
            let known = full.get(&job.demand).copied().map_or(Ok(()), Err);
            let found = known
                .and_then(|()| desk.within_limits(job))
                .and_then(|()| desk.least_busy(job, share, loads));
            match found {
                Ok(placement) => {
                    let on = desk.take(job, placement, share);
                    let placement = on.placement.clone();
                    loads.enters(&Held { opportunistic: true, placement }, None);
                    plan.start(id, on);
                }
                Err(reason) => {
                    if !matches!(reason, Reason::OverLimit { .. }) {
                        full.insert(job.demand, reason);
                        walk.in_vain(job, 0);
                    }
                    plan.wait.push(Wait { job: id, reason });
                }
            }
        }
    }

    /// Bring the loads up to date.
    fn load(&mut self, change: impl FnOnce(&mut Tried, &Books)) {
        let mut tried = Tried::new(&self.books.loads, self.uses);
        change(&mut tried, &self.books);
        let changes: BTreeMap<Gpu, f64> = tried.changes();
        self.books.loads.take(changes);
    }

    fn loses(&mut self, id: JobId) {
        if let Some(kept) = self.books.kept.remove(&id) {
            self.load(|loads, _| loads.lets_go(&kept, None));
        }
        if let Some(held) = self.books.placed.remove(&id) {
            self.load(|loads, _| loads.leaves(&held));
        }
    }

    fn placed(&mut self, id: JobId, view: &View) {
        self.books.queue.leave(view.job(id));
        if let Some(held) = self.books.placed.remove(&id) {
            self.load(|loads, _| loads.leaves(&held));
        }
        let had = self.books.kept.remove(&id);
        let job = view.job(id);
        let Some(on) = &job.assignment else { return };
        let held = Held { opportunistic: is_opportunistic(job), placement: on.placement.clone() };
        self.load(|loads, _| loads.enters(&held, had.as_ref()));
        self.books.placed.insert(id, held);
    }

    /// Keep GPUs for those who wait for more.
    fn keep(&mut self, view: &View) {
        let (_, _, kept) = self.settle(view);
        self.load(|loads, books| books.keep(&kept, loads));
        for (id, now) in kept {
            match now {
                Some(placement) => self.books.kept.insert(id, placement),
                None => self.books.kept.remove(&id),
            };
        }
    }
}

impl Policy for Classes {
    fn plan(&self, view: &View) -> Plan {
        let (mut desk, mut plan, kept) = self.settle(view);
        let mut loads = Tried::new(&self.books.loads, self.uses);
        self.books.keep(&kept, &mut loads);
        for run in &plan.run {
            let placement = run.assignment.placement.clone();
            let held = Held { opportunistic: false, placement };
            loads.enters(&held, self.books.kept.get(&run.job));
        }
        desk.open_all();
        self.give_way(&mut desk, &mut plan);
        self.hand_out(&mut desk, &mut loads, &mut plan);
        plan
    }

    fn observe(&mut self, note: &Note, view: &View) {
        match note {
            Note::Joined(id) => {
                let job = view.job(*id);
                self.books.queue.leave(job);
                self.books.queue.enter(job);
                self.books.stirred = true;
            }
            Note::Placed(id) => self.placed(*id, view),
            Note::Paused(id) | Note::Left(id) => {
                self.books.queue.leave(view.job(*id));
                self.loses(*id);
                self.books.stirred = true;
            }
            Note::Changed => {
                let gone = |kept: &Placement| !view.fleet().are_up(kept);
                let gone = self.books.kept.iter().filter(|(_, kept)| gone(kept));
                let gone: Vec<JobId> = gone.map(|(id, _)| *id).collect();
                gone.into_iter().for_each(|id| self.loses(id));
                self.books.stirred = true;
            }
            Note::Deciding => self.keep(view),
            Note::Decided => self.books.stirred = false,
            Note::Began(_)
            | Note::Progressed(_)
            | Note::Reported { .. }
            | Note::Ran { .. }
            | Note::Load { .. }
            | Note::Scattered(_)
            | Note::RoundOver { .. } => {}
        }
    }

    fn is_due(&self, _view: &View) -> bool {
        self.books.stirred
    }

    fn wake(&self, _view: &View) -> Option<Time> {
        None
    }

    fn packs(&self) -> bool {
        true
    }

    fn leaves_room(&self) -> bool {
        true
    }

    fn save(&self) -> Value {
        serde_json::to_value(&self.books).expect("plain data")
    }

    fn restore(&mut self, saved: &Value, view: &View) -> Result<(), String> {
        self.books = serde_json::from_value(saved.clone()).map_err(|error| error.to_string())?;
        self.books.queue.sort(view);
        Ok(())
    }

    fn fork(&self) -> Box<dyn Policy> {
        Box::new(Classes { uses: self.uses, books: self.books.clone() })
    }
}
