//! Virtual clusters around an order, as in HiveD (Zhao et al., OSDI 2020): the order says who is
//! asked first, the cells of the job's tenant whether it starts, where, and who gives way. Jobs of
//! tenants without cells, and jobs with a priority below zero, use what is left.

mod describe;
mod walk;

use crate::cells::{Answer, Cells, OPPORTUNISTIC, Phase, Request};
use describe::{Described, NOBODY, cluster_name, quotas};
use heeler_engine::{Calibration, DemandId, Job, Key, Note, Order, Policy, View};
use heeler_model::{JobId, Plan, TenantId, Time};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use walk::{Walk, fitting};

/// How a job is to be treated: on how many GPUs, and whether by right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Standing {
    by_right: bool,
    gpus: u32,
}

/// A place in the queue. Jobs by right come first, then those of higher priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Seat {
    without_right: bool,
    priority: Reverse<i32>,
    key: Key,
    submitted: Time,
    job: JobId,
    /// How it is to be treated; none if no cells could ever hold it.
    standing: Option<Standing>,
}

/// The cells as they are.
#[derive(Clone, Debug)]
struct Known {
    described: Described,
    cells: Cells,
    /// Nobody in them and all nodes up: what could ever be.
    empty: Cells,
}

/// Virtual clusters around an order.
pub struct VirtualClusters {
    order: Box<dyn Order>,
    /// Whether whoever does not fit blocks those behind, in each virtual cluster and among those
    /// without a guarantee.
    strict: bool,
    /// Whether a job that gives way inside its cluster goes on while nobody needs its very GPUs.
    lazy: bool,
    known: Option<Known>,
    /// Those who wait, and those who were only promised GPUs: if they lose them to somebody they
    /// wait again at once, and the same decision must look at them.
    queue: BTreeSet<Seat>,
    seats: BTreeMap<JobId, Seat>,
    /// When the lines of jobs bend by themselves.
    bends: BTreeSet<(Time, JobId)>,
    bend_of: BTreeMap<JobId, Time>,
    standings: BTreeMap<(TenantId, bool, DemandId), Option<Standing>>,
    /// The decision being taken, which the cells already show.
    next: Option<Plan>,
    stirred: bool,
}

impl VirtualClusters {
    /// Virtual clusters around an order, before any job.
    pub fn new(order: Box<dyn Order>, strict: bool, lazy: bool) -> VirtualClusters {
        VirtualClusters {
            order,
            strict,
            lazy,
            known: None,
            queue: BTreeSet::new(),
            seats: BTreeMap::new(),
            bends: BTreeSet::new(),
            bend_of: BTreeMap::new(),
            standings: BTreeMap::new(),
            next: None,
            stirred: false,
        }
    }

    /// How a job is to be treated; none if no cells could ever hold it.
    fn standing(&mut self, job: &Job, view: &View) -> Option<Standing> {
        let key = (job.spec.tenant, job.spec.priority >= 0, job.demand);
        let known = self.known.as_mut()?;
        let (described, empty) = (&known.described, &mut known.empty);
        *self.standings.entry(key).or_insert_with(|| judge(job, view, described, empty))
    }

    /// Make the cells what the view says of nodes and quotas.
    fn follow(&mut self, view: &View) {
        let now = quotas(view.tenants());
        if self.known.as_ref().is_none_or(|known| known.described.quotas != now) {
            let described = Described::new(view.fleet().cluster(), view.tenants());
            let empty = described.cells();
            let mut cells = empty.clone();
            if let Some(before) = &self.known {
                before.cells.move_to(&mut cells);
            }
            self.known = Some(Known { described, cells, empty });
            self.standings.clear();
            let ids: Vec<JobId> = self.seats.keys().copied().collect();
            for id in ids {
                self.seat(id, view);
            }
        }
        let Some(Known { described, cells, .. }) = &mut self.known else { return };
        for (number, node) in described.nodes.iter().enumerate() {
            let number = number as u32;
            if view.fleet().is_up(*node) {
                cells.set_healthy(number);
            } else {
                cells.set_bad(number);
            }
        }
    }

    /// Put a job where it belongs now.
    fn seat(&mut self, id: JobId, view: &View) {
        self.unseat(id);
        let Some(job) = view.jobs().get(id) else { return };
        let standing = self.standing(job, view);
        let by_right = standing.is_some_and(|standing| standing.by_right);
        let seat = Seat {
            without_right: !by_right,
            priority: Reverse(if by_right { job.spec.priority } else { OPPORTUNISTIC }),
            key: self.order.line(job, view).key,
            submitted: job.submitted,
            job: id,
            standing,
        };
        self.queue.insert(seat);
        self.seats.insert(id, seat);
    }

    fn unseat(&mut self, id: JobId) {
        if let Some(seat) = self.seats.remove(&id) {
            self.queue.remove(&seat);
        }
    }

    fn expect_bend(&mut self, id: JobId, view: &View) {
        let job = view.jobs().get(id);
        let at = job.and_then(|job| self.order.bends(job, view));
        self.set_bend(id, at);
    }

    fn set_bend(&mut self, id: JobId, at: Option<Time>) {
        let before = match at {
            Some(at) => self.bend_of.insert(id, at),
            None => self.bend_of.remove(&id),
        };
        if let Some(before) = before {
            self.bends.remove(&(before, id));
        }
        self.bends.extend(at.map(|at| (at, id)));
    }

    /// Jobs whose lines bend now.
    fn refresh(&mut self, view: &View) {
        let due = self.bends.iter().take_while(|(at, _)| *at <= view.now());
        let due: Vec<JobId> = due.map(|(_, id)| *id).collect();
        for id in due {
            if let Some(job) = view.jobs().get(id) {
                self.order.bend(job, view);
            }
            self.expect_bend(id, view);
            if self.seats.contains_key(&id) {
                self.seat(id, view);
            }
        }
    }

    /// A job has GPUs, or is promised some.
    fn placed(&mut self, id: JobId, view: &View) {
        match view.job(id).is_running() {
            true => self.unseat(id),
            false => self.seat(id, view),
        }
        self.expect_bend(id, view);
    }

    /// A job loses its GPUs, or those it was promised.
    fn paused(&mut self, id: JobId) {
        // What is being decided the cells show already, and it may be promised others by that.
        if self.next.is_none() {
            self.leave(id);
        }
        self.unseat(id);
        self.set_bend(id, None);
    }

    fn leave(&mut self, id: JobId) {
        if let Some(known) = &mut self.known {
            known.cells.leave(id.0);
        }
    }
}

/// How a job is to be treated: by right where its tenant's cells could hold it, else as one
/// without a guarantee; an elastic job as large as can be.
fn judge(job: &Job, view: &View, described: &Described, empty: &mut Cells) -> Option<Standing> {
    let demand = &job.spec.demand;
    let owner = view.tenants().guarantor(job.spec.tenant).filter(|_| job.spec.priority >= 0);
    if demand.asked() == 0 {
        return Some(Standing { by_right: false, gpus: 0 });
    }
    let smaller = |gpus: &u32| demand.sizes.largest_up_to(gpus.checked_sub(1)?);
    let mut could = |owner: Option<TenantId>, gpus: u32| {
        let (cluster, priority) = match owner {
            Some(owner) => (cluster_name(owner), 0),
            None => (NOBODY.to_string(), OPPORTUNISTIC),
        };
        fitting(described, demand, gpus, &view.fleet()).iter().any(|(sort, members)| {
            let request = Request {
                cluster: &cluster,
                priority,
                lazy: false,
                pinned: None,
                leaf_type: None,
                chain: Some(&described.sorts[*sort].chain),
                gang: job.id.0,
                members,
                pod: 0,
                leaves: members[0].1,
            };
            described.sorts[*sort].node_sets(demand, gpus).into_iter().any(|nodes| {
                let answer = empty.schedule(&request, nodes, Phase::Filtering);
                matches!(answer, Ok(Answer::Bind(_)))
            })
        })
    };
    if owner.is_some() && could(owner, demand.asked()) {
        return Some(Standing { by_right: true, gpus: demand.asked() });
    }
    let mut sizes = std::iter::successors(Some(demand.asked()), smaller);
    let gpus = sizes.find(|gpus| could(None, *gpus))?;
    Some(Standing { by_right: false, gpus })
}

impl VirtualClusters {
    /// Make the plan on the cells themselves, so that they need not be copied for it.
    fn prepare(&mut self, view: &View) {
        if let Some(mut known) = self.known.take() {
            let plan = Walk::new(self, &known.described, &mut known.cells, view).plan();
            self.next = Some(plan);
            self.known = Some(known);
        }
    }
}

impl Policy for VirtualClusters {
    fn plan(&self, view: &View) -> Plan {
        if let Some(plan) = &self.next {
            return plan.clone();
        }
        let Some(known) = &self.known else { return Plan::none() };
        Walk::new(self, &known.described, &mut known.cells.clone(), view).plan()
    }

    fn observe(&mut self, note: &Note, view: &View) {
        if self.known.is_none() {
            self.follow(view);
        }
        let moved = self.order.observe(note, view);
        match *note {
            Note::Joined(id) => {
                self.seat(id, view);
                self.expect_bend(id, view);
                self.stirred = true;
            }
            Note::Placed(id) | Note::Began(id) => self.placed(id, view),
            Note::Paused(id) => self.paused(id),
            Note::Left(id) => {
                self.leave(id);
                self.unseat(id);
                self.set_bend(id, None);
                self.stirred = true;
            }
            Note::Progressed(id) => {
                self.expect_bend(id, view);
                if self.seats.contains_key(&id) {
                    self.seat(id, view);
                }
                self.stirred = true;
            }
            Note::Changed => {
                self.follow(view);
                self.stirred = true;
            }
            Note::Deciding => {
                self.refresh(view);
                self.prepare(view);
            }
            Note::Decided => {
                self.next = None;
                self.stirred = false;
            }
            Note::Reported { .. }
            | Note::Ran { .. }
            | Note::Load { .. }
            | Note::Scattered(_)
            | Note::RoundOver { .. } => {}
        }
        for id in moved {
            if self.seats.contains_key(&id) {
                self.seat(id, view);
                self.stirred |= *note != Note::Decided;
            }
            self.expect_bend(id, view);
        }
    }

    fn is_due(&self, view: &View) -> bool {
        self.stirred || self.bends.first().is_some_and(|(at, _)| *at <= view.now())
    }

    fn wake(&self, _view: &View) -> Option<Time> {
        self.bends.first().map(|(at, _)| *at)
    }

    fn calibrations(&self) -> Vec<Calibration> {
        self.order.calibration().into_iter().collect()
    }

    fn save(&self) -> Value {
        let cells = self.known.as_ref().map(|known| known.cells.save());
        json!({ "order": self.order.save(), "cells": cells, "stirred": self.stirred })
    }

    fn restore(&mut self, saved: &Value, view: &View) -> Result<(), String> {
        self.order.restore(&saved["order"])?;
        // Whoever was told nothing yet has not looked at the cluster either.
        if !saved["cells"].is_null() {
            self.follow(view);
            if let Some(known) = &mut self.known {
                known.cells.restore(&saved["cells"])?;
            }
        }
        let ids: Vec<JobId> = view.jobs().iter().map(|job| job.id).collect();
        for id in ids {
            let job = view.job(id);
            let waits = job.phase == heeler_engine::Phase::Waiting;
            if waits || (job.is_placed() && !job.is_running()) {
                self.seat(id, view);
            }
            if waits || job.is_placed() {
                self.expect_bend(id, view);
            }
        }
        self.stirred = saved["stirred"].as_bool().unwrap_or(true);
        Ok(())
    }

    fn fork(&self) -> Box<dyn Policy> {
        Box::new(VirtualClusters {
            order: self.order.fork(),
            known: self.known.clone(),
            queue: self.queue.clone(),
            seats: self.seats.clone(),
            bends: self.bends.clone(),
            bend_of: self.bend_of.clone(),
            standings: self.standings.clone(),
            next: self.next.clone(),
            ..*self
        })
    }
}
