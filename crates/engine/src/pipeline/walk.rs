//! One decision: walk the queue in order and start who fits. A class of interchangeable jobs is
//! dropped as soon as its first does not fit, so the walk costs what it starts plus one look at
//! each class, however long the queue is.

use super::backfill::Slack;
use super::behind::Behind;
use super::pack::Sharing;
use super::queue::{Rank, Seat};
use super::{Fit, Pipeline, Preempt};
use crate::calendar::Calendar;
use crate::fleet::{Draft, Grip};
use crate::state::Job;
use crate::traits::{Door, Want};
use crate::view::View;
use heeler_model::{JobId, Placement, Plan, Reason, Run, Span, Stop, TenantId, Tier, Time, Wait};
use std::cell::{Cell, OnceCell, RefCell};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, btree_set};

/// Where the next candidate comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    Class(usize),
    Evicted,
}

type Candidate = Reverse<(i64, Rank, Source)>;

/// A plan is gone over at most so often again after moves were spared.
const SPARED_MAX: u32 = 3;

/// The jobs of a class that are still to be looked at, in order.
pub(super) struct ClassWalk<'a> {
    /// Its number in the queue.
    pub(super) class: usize,
    pub(super) seats: Seats<'a>,
    /// Whose turn it is.
    pub(super) current: Option<Seat>,
}

pub(super) enum Seats<'a> {
    All(btree_set::Iter<'a, Seat>),
    Short(std::vec::IntoIter<Seat>),
}

impl ClassWalk<'_> {
    fn next(&mut self) -> Option<Seat> {
        self.current = match &mut self.seats {
            Seats::All(seats) => seats.next().copied(),
            Seats::Short(seats) => seats.next(),
        };
        self.current
    }
}

/// A decision in the making.
pub(super) struct Walk<'a> {
    pub(super) pipe: &'a Pipeline,
    pub(super) view: &'a View<'a>,
    pub(super) draft: Draft<'a>,
    pub(super) door: Option<Box<dyn Door + 'a>>,
    pub(super) plan: Plan,
    /// Running jobs that the gate does not let go on.
    pub(super) halted: Vec<Stop>,
    pub(super) calendar: Calendar,
    pub(super) slacks: Vec<Slack>,
    /// Jobs this plan has moved, stopped or started: where they would be now.
    pub(super) planned: BTreeMap<JobId, Option<Placement>>,
    /// How many running jobs have given way so far, wherever they are put later.
    pub(super) displaced: usize,
    /// Running jobs that this plan has not dealt with.
    pub(super) behind: RefCell<Behind<'a>>,
    /// Whether what was in vain stays in vain, once somebody asked.
    pub(super) settled: OnceCell<bool>,
    /// Jobs this plan starts, in the order it does.
    pub(super) started: Vec<Rank>,
    pub(super) classes: Vec<ClassWalk<'a>>,
    heap: BinaryHeap<Candidate>,
    /// Why a class is blocked, while every job needs a verdict.
    blocked: BTreeMap<usize, Reason>,
    /// What the plan gives to each tenant, where the order asks.
    pub(super) extra_milli: BTreeMap<TenantId, i64>,
    /// And without what those below it get.
    pub(super) own_milli: BTreeMap<TenantId, i64>,
    /// Candidates that were not allowed, until somebody of their tenant gives way.
    refused: Vec<Candidate>,
    first_blocked: Option<JobId>,
    ahead: u32,
    /// Whether the cluster counts as full, however much of it is in use.
    pub(super) busy: bool,
    /// Whether somebody could not take back what is theirs because too little was in use.
    pub(super) was_roomy: Cell<bool>,
    /// Who shares GPUs, and who could.
    pub(super) sharing: Sharing,
}

/// How an attempt to start a job ended.
enum Outcome {
    Started,
    Blocked(Reason),
}

impl<'a> Walk<'a> {
    pub(super) fn new(pipe: &'a Pipeline, view: &'a View<'a>) -> Walk<'a> {
        let door = pipe.parts.gate.as_ref().map(|gate| gate.open(view));
        Walk {
            pipe,
            view,
            draft: view.state().draft(),
            door,
            plan: Plan::none(),
            halted: Vec::new(),
            calendar: Calendar::default(),
            slacks: Vec::new(),
            planned: BTreeMap::new(),
            displaced: 0,
            behind: RefCell::default(),
            settled: OnceCell::new(),
            started: Vec::new(),
            classes: Vec::new(),
            heap: BinaryHeap::new(),
            blocked: BTreeMap::new(),
            extra_milli: BTreeMap::new(),
            own_milli: BTreeMap::new(),
            refused: Vec::new(),
            first_blocked: None,
            ahead: 0,
            busy: false,
            was_roomy: Cell::new(false),
            sharing: Sharing::default(),
        }
    }

    pub(super) fn plan(mut self) -> Plan {
        self.halt();
        self.look_for_lone();
        if self.pipe.queue.waiting() > 0 {
            self.walk();
        }
        self.walk_on();
        // Those who start may fill the cluster so far that what was lent is taken back: then it is
        // before they start, or they would be stopped at once.
        if let Preempt::Reclaim { from_used, .. } = self.pipe.parts.preempt
            && self.was_roomy.get()
            && self.is_used_from(from_used)
        {
            let (pipe, view) = (self.pipe, self.view);
            drop(self);
            return Walk { busy: true, ..Walk::new(pipe, view) }.plan();
        }
        // Where a move was spared, somebody may fit who did not before.
        for _ in 0..SPARED_MAX {
            if self.pipe.parts.preempt == Preempt::Never || !self.spare_moves() {
                break;
            }
            self.plan.wait.clear();
            self.walk();
        }
        self.place_together();
        self.part();
        self.ask_those_who_wait();
        let nobody_waits = self.plan.wait.iter().all(|wait| wait.reason.is_within_study());
        if self.pipe.parts.resize.is_some() && nobody_waits && self.plan.stop.is_empty() {
            self.grow();
        }
        self.plan.stop.append(&mut self.halted);
        self.plan.reserve = self.calendar.into_reservations();
        self.plan
    }

    /// Go through those who wait, in order.
    pub(super) fn walk(&mut self) {
        let classes = self.pipe.queue.waiting_classes().map(|(class, seats)| {
            let seats = Seats::All(seats);
            ClassWalk { class, seats, current: None }
        });
        self.classes = classes.collect();
        self.blocked.clear();
        self.heap.clear();
        self.refused.clear();
        self.first_blocked = None;
        self.ahead = 0;
        for class in 0..self.classes.len() {
            self.advance(class);
        }
        for stop in self.plan.stop.clone() {
            let rank = self.pipe.queue.rank_of(self.view.jobs(), stop.job, self.view.now());
            let job = self.view.state().job(stop.job);
            self.put_back(job, rank.expect("a stopped job was running"));
        }
        while let Some(Reverse((rank_of_tenant, rank, source))) = self.heap.pop() {
            let job = self.view.job(rank.job);
            // The tenant may have been given something since this entry was made.
            let current = self.tenant_rank(job);
            if current > rank_of_tenant {
                self.heap.push(Reverse((current, rank, source)));
                continue;
            }
            let before = self.displaced;
            let goes_on = self.consider(job, rank, source);
            // What room was made goes first to those whose tenants rank first.
            if self.displaced > before && self.starts_over() {
                break;
            }
            if self.door.as_mut().is_some_and(|door| door.reopened()) {
                self.ask_again();
            } else if !goes_on {
                break;
            }
        }
    }

    /// Look at one candidate. Says whether to go on.
    fn consider(&mut self, job: &'a Job, rank: Rank, source: Source) -> bool {
        let known = match source {
            Source::Class(class) => self.blocked.get(&class).copied(),
            Source::Evicted => None,
        };
        let reserved_before = self.calendar.len();
        let outcome = match (known, self.stuck_behind()) {
            (Some(reason), _) => Outcome::Blocked(reason),
            (None, Some(reason)) => Outcome::Blocked(reason),
            (None, None) => self.try_start(job, rank),
        };
        let Outcome::Blocked(reason) = outcome else {
            if source == Source::Evicted {
                self.plan.stop.retain(|stop| stop.job != job.id);
            }
            if self.keeps_book() {
                self.started.push(rank);
            }
            if let Source::Class(class) = source {
                self.advance(class);
            }
            return true;
        };
        if source != Source::Evicted {
            self.plan.wait.push(Wait { job: job.id, reason });
        }
        let refused = reason.tier() == Tier::NotAllowed;
        if refused {
            // Somebody who may not run is in nobody's way.
            self.refused.push(Reverse((self.tenant_rank(job), rank, source)));
        } else {
            self.first_blocked.get_or_insert(job.id);
            self.ahead += 1;
        }
        if let Source::Class(class) = source {
            // The rest of the class fares no better, unless how long they run matters, or the next
            // of them may have a reservation too.
            let reserved = self.calendar.len() > reserved_before;
            let alike = !reserved && !matches!(reason, Reason::WouldDelay { .. });
            let scattered = matches!(reason, Reason::Fragmented { .. });
            let each = scattered && self.pipe.parts.allocate.listens(job);
            if self.view.wants_all_verdicts() || each {
                if alike && !matches!(reason, Reason::Behind { .. }) {
                    self.blocked.insert(class, reason);
                }
                self.advance(class);
            } else if !alike {
                self.leave_out_longer(class, job);
                self.advance(class);
            }
        }
        refused || self.pipe.parts.fit != Fit::Strict || self.view.wants_all_verdicts()
    }

    /// In a strict queue nobody passes the first job that does not fit.
    fn stuck_behind(&self) -> Option<Reason> {
        let first = self.first_blocked.filter(|_| self.pipe.parts.fit == Fit::Strict)?;
        Some(Reason::Behind { ahead: self.ahead, first })
    }

    fn try_start(&mut self, job: &'a Job, rank: Rank) -> Outcome {
        let wants = self.pipe.parts.allocate.wants(job, self.view);
        let mut first_reason = None;
        let mut barred = true;
        for want in &wants {
            // The door hears of everybody who has a turn, even if a limit then holds them back.
            let milli = want.milli() as u64;
            let allowed = self.door.as_mut().map_or(Ok(()), |door| door.ask(job, milli));
            barred &= allowed.is_err();
            match allowed.and_then(|()| self.try_want(job, want)) {
                Ok(placement) => {
                    self.start(job, want, placement);
                    return Outcome::Started;
                }
                Err(reason) => first_reason = first_reason.or(Some(reason)),
            }
        }
        let reason = first_reason.unwrap_or(Reason::NotEnoughFree { need: 0, free: 0 });
        // No room can be made for one who may not enter, unless it is made within its own tenant.
        let refused = reason.tier() != Tier::Turn;
        let by_limit = wants.iter().all(|want| self.within_limits(job, want.milli()).is_err());
        let may_enter = !barred && (!refused || by_limit);
        if may_enter && (self.join(job, &wants) || self.make_room(job, rank, &wants)) {
            return Outcome::Started;
        }
        if let Fit::Backfill { depth } = self.pipe.parts.fit
            && self.calendar.len() < depth as usize
            && may_enter
        {
            self.reserve(job, &wants);
        }
        Outcome::Blocked(reason)
    }

    fn try_want(&mut self, job: &Job, want: &Want) -> Result<Placement, Reason> {
        self.within_limits(job, want.milli())?;
        if let Some(placement) = self.promised(job, want) {
            Ok(placement)
        } else if self.calendar.is_empty() {
            self.pipe.parts.place.place(want, &self.draft, self.view)
        } else {
            self.place_around_reservations(job, want)
        }
    }

    /// Enter a start into the plan.
    pub(super) fn start(&mut self, job: &Job, want: &Want, placement: Placement) {
        let assignment = want.met_by(placement);
        let milli = assignment.milli();
        let grip = Grip::from(&want.demand);
        self.draft.claim(&assignment.placement, grip);
        if let Some(door) = &mut self.door {
            door.entered(job, milli);
        }
        self.count(job, milli as i64);
        self.take_slack(job, &assignment, grip);
        // A job that was stopped a moment ago may simply get its old place back.
        if job.assignment.as_ref() != Some(&assignment) {
            let lease = self.pipe.parts.preempt.lease();
            let lease = (lease > Span::ZERO).then(|| self.view.now() + lease);
            self.plan.run.push(Run { job: job.id, assignment: assignment.clone(), lease });
        }
        if self.keeps_book() {
            self.planned.insert(job.id, Some(assignment.placement));
        }
    }

    /// Whether somebody will ask where this plan puts jobs.
    fn keeps_book(&self) -> bool {
        matches!(self.pipe.parts.fit, Fit::Backfill { .. })
            || self.pipe.parts.preempt != Preempt::Never
            || self.pipe.parts.resize.is_some()
            || self.pipe.parts.pack.is_some()
    }

    /// The next job of a class becomes a candidate.
    fn advance(&mut self, class: usize) {
        while let Some(seat) = self.classes[class].next() {
            let rank = seat.rank(0, self.view.now());
            // Where the queue is walked once more, some of it has been started before.
            if self.planned.contains_key(&rank.job) {
                continue;
            }
            let tenant = self.tenant_rank(self.view.job(rank.job));
            self.heap.push(Reverse((tenant, rank, Source::Class(class))));
            return;
        }
    }

    /// Somebody gave way, so that a tenant or a gate may have room for those who were refused.
    pub(super) fn ask_again(&mut self) {
        for candidate in std::mem::take(&mut self.refused) {
            let Reverse((_, rank, source)) = candidate;
            self.plan.wait.retain(|wait| wait.job != rank.job);
            if let Source::Class(class) = source {
                self.blocked.remove(&class);
            }
            self.heap.push(candidate);
        }
    }

    /// A job that lost its GPUs to one ahead of it is a candidate again.
    pub(super) fn put_back(&mut self, job: &Job, rank: Rank) {
        let tenant = self.tenant_rank(job);
        self.heap.push(Reverse((tenant, rank, Source::Evicted)));
    }

    /// Where a placed job is in this plan.
    pub(super) fn placement_of(&self, job: &'a Job) -> Option<Placement> {
        match self.planned.get(&job.id) {
            Some(planned) => planned.clone(),
            None => job.assignment.as_ref().map(|assignment| assignment.placement.clone()),
        }
    }

    /// Now, as the walk sees it.
    pub(super) fn now(&self) -> Time {
        self.view.now()
    }
}
