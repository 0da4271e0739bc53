//! A policy composed of parts: an order, a gate, an allocation, a placement, and what happens to
//! jobs that do not fit. Most published schedulers are one of these with one part of their own.

mod backfill;
mod behind;
mod changed;
mod counted;
mod decided;
mod elastic;
mod evict;
mod expected;
mod halted;
mod leased;
mod lent;
mod memo;
mod pack;
mod parts;
mod queue;
mod room;
mod spare;
mod summed;
mod timers;
mod walk;

pub use pack::Pack;
pub use parts::{Cadence, Fit, Parts, Preempt};

use crate::calibration::Calibration;
use crate::rules::{RoundClock, Ties};
use crate::state::{Job, Phase};
use crate::traits::{Line, Note, Policy};
use crate::view::View;
use heeler_model::{JobId, ModelId, Plan, Span, TenantId, Time};
use memo::Memo;
use queue::{ClassKey, Queue, SavedSeat, Seat, line_of};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use timers::Timers;
use walk::Walk;

/// A policy composed of parts.
pub struct Pipeline {
    parts: Parts,
    queue: Queue,
    /// When the lines of jobs bend by themselves.
    bends: Timers,
    /// When running jobs may be disturbed again.
    leases: Timers,
    /// Nothing was decided yet: whoever is placed was placed by the recipe before.
    takes_over: bool,
    /// When running jobs are taken to end, where backfill wants to know.
    ends: Timers,
    /// What was tried in vain.
    memo: Memo,
    /// Running jobs that have less of their GPUs than they asked for.
    squeezed: BTreeSet<JobId>,
    /// All jobs in the order of the last decision, in worlds where that breaks ties.
    previous: Vec<JobId>,
    /// Whether those who wait are seated by tenant.
    apart: bool,
    /// Something has happened since the last decision.
    stirred: bool,
    round_over: bool,
    next_round: Time,
}

impl Pipeline {
    /// A pipeline of these parts, before any job.
    pub fn new(parts: Parts) -> Pipeline {
        Pipeline {
            parts,
            queue: Queue::default(),
            bends: Timers::default(),
            leases: Timers::default(),
            takes_over: true,
            ends: Timers::default(),
            memo: Memo::default(),
            squeezed: BTreeSet::new(),
            previous: Vec::new(),
            apart: false,
            stirred: false,
            round_over: false,
            next_round: Time::ZERO,
        }
    }

    fn tells_tenants_apart(&self, view: &View) -> bool {
        self.parts.gate.is_some()
            || self.parts.order.by_tenant()
            || matches!(self.parts.preempt, Preempt::Reclaim { .. })
            || view.tenants().have_limits()
    }

    /// Whether nobody's rank gets worse by itself, so that what was in vain stays in vain.
    fn is_settled(&self, view: &View) -> bool {
        view.rules().ties == Ties::Submitted
            && self.parts.preempt.lease() == Span::ZERO
            && self.leases.is_empty()
            && !view.tenants().have_limits()
            // Whom a tenant's quota protects changes with what its other jobs do elsewhere.
            && !self.parts.order.protects_by_tenant(view)
            && !self.queue.any_rises()
    }

    fn class_key(&self, job: &Job, view: &View) -> ClassKey {
        let by_tenant = self.tells_tenants_apart(view);
        let by_model = self.parts.allocate.by_model() || self.may_pack(view);
        ClassKey {
            demand: job.demand,
            tenant: if by_tenant { job.spec.tenant } else { TenantId(0) },
            model: if by_model { job.spec.model } else { ModelId(0) },
            skewed: job.spec.skewed,
            gate: self.parts.gate.as_ref().map_or(0, |gate| gate.class(job)),
            allocate: self.parts.allocate.class(job, view),
        }
    }

    /// Put a job where it belongs now. One that is held belongs nowhere, whatever an order noted.
    fn seat(&mut self, id: JobId, view: &View) {
        let Some(job) = view.jobs().get(id) else { return };
        // One that is being saved sits nowhere until that is done, whatever its order says of it.
        if !job.is_placed() && job.phase != Phase::Waiting {
            return;
        }
        self.note_share(job);
        let line = self.parts.order.line(job, view);
        self.seat_at(job, line, view);
        let bend = self.parts.order.bends(job, view);
        self.bends.set(view.jobs(), id, bend);
    }

    /// The first limit of any tenant makes a difference between jobs that were interchangeable
    /// when they came: nobody may wait behind another tenant's limit.
    fn seat_by_tenant(&mut self, view: &View) {
        let apart = self.tells_tenants_apart(view);
        let changed = std::mem::replace(&mut self.apart, apart) != apart;
        for job in view.jobs().iter().filter(|job| changed && job.phase == Phase::Waiting) {
            self.seat(job.id, view);
        }
    }

    fn seat_at(&mut self, job: &Job, line: Line, view: &View) {
        if job.is_placed() {
            let (tenant, line) = match self.parts.preempt {
                // Without preemption nobody asks in which order jobs run.
                Preempt::Never if self.parts.resize.is_none() => {
                    self.queue.remove(view.jobs(), job.id);
                    return;
                }
                Preempt::Reclaim { .. } => (job.spec.tenant, lent::line(job)),
                Preempt::Never | Preempt::ByOrder { .. } => (TenantId(0), line),
            };
            if self.queue.run(view.jobs(), job, tenant, line, view.now()) {
                job.assignment.iter().for_each(|on| self.memo.reseat(&on.placement));
            }
            self.memo.forget(job.id);
        } else {
            debug_assert_eq!(line.slope, 0, "waiting jobs' keys stand still");
            let key = self.class_key(job, view);
            let backfills = matches!(self.parts.fit, Fit::Backfill { .. });
            let length = backfills.then(|| self.estimate(job, view));
            let seat = Seat::new(job, line, view.now());
            self.queue.wait(view.jobs(), job, key, length, seat);
        }
    }

    fn unseat(&mut self, id: JobId, view: &View) {
        self.memo.forget(id);
        self.squeezed.remove(&id);
        self.queue.remove(view.jobs(), id);
        self.bends.set(view.jobs(), id, None);
        self.ends.set(view.jobs(), id, None);
    }
}

impl Policy for Pipeline {
    fn plan(&self, view: &View) -> Plan {
        Walk::new(self, view).decide()
    }

    fn packs(&self) -> bool {
        self.parts.pack.is_some()
    }

    fn observe(&mut self, note: &Note, view: &View) {
        if let Some(predict) = &mut self.parts.predict {
            predict.observe(note, view);
        }
        let moved = self.parts.order.observe(note, view);
        if let Some(gate) = &mut self.parts.gate {
            self.stirred |= gate.observe(note, view);
        }
        match *note {
            Note::Joined(id) => {
                self.seat(id, view);
                if view.rules().ties == Ties::Previous && !self.previous.contains(&id) {
                    self.previous.push(id);
                }
                self.stirred = true;
            }
            Note::Placed(id) => {
                self.seat(id, view);
                self.expect_end(id, view);
                self.lease_of(id, view, true);
            }
            Note::Began(id) => {
                self.seat(id, view);
                self.expect_end(id, view);
                self.lease_anew(id, view);
                self.stirred |= self.may_be_joined(view);
            }
            Note::Paused(id) => {
                self.lease_of(id, view, false);
                self.unseat(id, view);
            }
            Note::Left(id) => {
                self.lease_of(id, view, false);
                self.unseat(id, view);
                self.previous.retain(|other| *other != id);
                self.stirred = true;
            }
            Note::Progressed(id) => {
                self.seat(id, view);
                self.expect_end(id, view);
                if view.jobs().get(id).is_some_and(|job| job.progress.from > view.now()) {
                    self.lease_anew(id, view);
                }
                self.stirred = true;
            }
            Note::Changed => {
                self.memo.forget_all();
                self.seat_by_tenant(view);
                self.stirred = true;
            }
            Note::RoundOver { .. } => self.round_over = true,
            Note::Reported { .. } | Note::Ran { .. } | Note::Load { .. } | Note::Scattered(_) => {}
            Note::Deciding => self.refresh(view),
            Note::Decided => self.decided(view),
        }
        for id in moved {
            self.seat(id, view);
            self.stirred |= *note != Note::Decided;
        }
    }

    fn is_due(&self, view: &View) -> bool {
        match self.parts.cadence {
            Cadence::Event => {
                let bent = self.bends.first().is_some_and(|at| at <= view.now());
                let freed = self.leases.first().is_some_and(|at| at <= view.now());
                self.stirred || bent || freed
            }
            Cadence::Round(_) if view.rules().rounds == RoundClock::World => self.round_over,
            cadence => !view.jobs().is_empty() && view.now() >= cadence.from(self.next_round, view),
        }
    }

    fn wake(&self, view: &View) -> Option<Time> {
        if let cadence @ Cadence::Round(_) = self.parts.cadence {
            let recipe = view.rules().rounds != RoundClock::World && !view.jobs().is_empty();
            return recipe.then(|| cadence.from(self.next_round, view));
        }
        let bend = self.bends.first();
        // A lease that ends matters to those who wait.
        let lease = self.leases.iter().map(|(at, _)| at).find(|at| *at > view.now());
        let lease = lease.filter(|_| self.queue.waiting() > 0);
        [bend, lease].into_iter().flatten().min()
    }

    fn calibrations(&self) -> Vec<Calibration> {
        self.how_well_expected()
    }

    fn save(&self) -> Value {
        json!({
            "order": self.parts.order.save(),
            "gate": self.parts.gate.as_ref().map(|gate| gate.save()),
            "predict": self.parts.predict.as_ref().map(|predict| predict.save()),
            "previous": self.previous,
            "next_round": self.next_round,
            "stirred": self.stirred,
            "round_over": self.round_over,
            // When jobs were taken to end or to change their place, and where they sit, is not what
            // one would say now of those that overran.
            "seats": self.queue.saved(),
            "ends": self.ends.iter().collect::<Vec<_>>(),
            "bends": self.bends.iter().collect::<Vec<_>>(),
            "leases": self.leases.iter().collect::<Vec<_>>(),
        })
    }

    fn restore(&mut self, saved: &Value, view: &View) -> Result<(), String> {
        self.parts.order.restore(&saved["order"])?;
        if let Some(gate) = &mut self.parts.gate {
            gate.restore(&saved["gate"], view)?;
        }
        if let Some(predict) = &mut self.parts.predict {
            predict.restore(&saved["predict"])?;
        }
        let wrong = |error: serde_json::Error| error.to_string();
        self.previous = serde_json::from_value(saved["previous"].clone()).map_err(wrong)?;
        self.takes_over = false;
        self.next_round = serde_json::from_value(saved["next_round"].clone()).map_err(wrong)?;
        self.apart = self.tells_tenants_apart(view);
        let seats: Option<Vec<SavedSeat>> =
            serde_json::from_value(saved["seats"].clone()).map_err(wrong)?;
        let lines: BTreeMap<JobId, Option<Line>> =
            seats.into_iter().flatten().map(|seat| (seat.0, line_of(&seat, view.now()))).collect();
        let ids: Vec<JobId> = view.jobs().iter().map(|job| job.id).collect();
        for id in ids {
            let job = view.job(id);
            if job.is_placed() || job.phase == Phase::Waiting {
                self.seat(id, view);
                if let Some(Some(line)) = lines.get(&id) {
                    self.seat_at(job, *line, view);
                }
                self.expect_end(id, view);
                self.lease_of(id, view, job.is_placed());
            }
        }
        let timers = [&mut self.ends, &mut self.bends, &mut self.leases];
        for (timers, name) in timers.into_iter().zip(["ends", "bends", "leases"]) {
            let times: Option<Vec<(Time, JobId)>> =
                serde_json::from_value(saved[name].clone()).map_err(wrong)?;
            times.into_iter().for_each(|times| timers.keep(view.jobs(), times));
        }
        // What was saved before this was noted is decided on at once.
        self.stirred = saved["stirred"].as_bool().unwrap_or(true);
        self.round_over = saved["round_over"].as_bool().unwrap_or(false);
        Ok(())
    }

    fn fork(&self) -> Box<dyn Policy> {
        Box::new(Pipeline {
            parts: self.parts.fork(),
            queue: self.queue.clone(),
            bends: self.bends.clone(),
            leases: self.leases.clone(),
            ends: self.ends.clone(),
            memo: Memo::default(),
            squeezed: self.squeezed.clone(),
            previous: self.previous.clone(),
            ..*self
        })
    }
}
