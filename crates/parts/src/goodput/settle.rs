//! From shapes to GPUs. Whoever keeps its shape keeps its GPUs, the others go where they fit, the
//! largest first; if that leaves somebody out who would fit had others stood closer, everybody is
//! packed anew. What is left then goes to whoever can use it, so that a plan on which placement
//! cannot follow never stands still.

use super::rounds::Settling;
use super::shapes::Shape;
use crate::place::{Anywhere, Even, Fit, MostRoom, Racks, Remainder};
use heeler_engine::{Draft, Grip, Job, Phase, Pick, Place, View, Want};
use heeler_model::{
    Assignment, JobId, KindSet, Placement, Plan, Reason, Run, Scope, TenantId, Time, Wait,
};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A desk on which GPUs are laid out for everybody.
struct Desk<'a> {
    view: &'a View<'a>,
    draft: Draft<'a>,
    used: BTreeMap<TenantId, i64>,
    runs: BTreeMap<JobId, Assignment>,
    refused: BTreeMap<JobId, Reason>,
    settling: Settling,
}

/// A plan that gives jobs their shapes, as far as can be; those without one wait. `until` is when
/// the round is over.
pub(super) fn settle(
    wanted: &[(JobId, Option<Shape>)],
    until: Time,
    settling: Settling,
    view: &View,
) -> Plan {
    let mut order: Vec<(JobId, Shape)> =
        wanted.iter().filter_map(|(id, shape)| Some((*id, (*shape)?))).collect();
    match settling {
        Settling::Close => order.sort_by_key(|(id, shape)| (Reverse(shape.gpus), *id)),
        Settling::MostRoom | Settling::Even => order.sort_by_key(|(id, shape)| (shape.gpus, *id)),
    }
    let (mut desk, missing) = Desk::kept(&order, settling, view);
    if missing > 0 {
        // There can be only one draft at a time, so what was laid out is done again if need be.
        let placed = desk.runs.len();
        drop(desk);
        desk = Desk::packed(&order, settling, view);
        if desk.runs.len() <= placed {
            drop(desk);
            desk = Desk::kept(&order, settling, view).0;
        }
    }
    desk.without_gpus(wanted);
    if order.iter().any(|(id, _)| !desk.runs.contains_key(id)) {
        desk.fill(wanted);
    }
    desk.plan(wanted, until)
}

impl<'a> Desk<'a> {
    /// Everything is free that jobs have or are promised.
    fn new(settling: Settling, view: &'a View<'a>) -> Desk<'a> {
        let mut draft = view.draft();
        for job in view.jobs().iter() {
            if let Some(on) = &job.assignment {
                draft.release(&on.placement, Grip::from(&job.spec.demand));
            }
        }
        let (used, runs, refused) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Desk { view, draft, used, runs, refused, settling }
    }

    /// Whoever keeps its shape keeps its GPUs, then the others; and how many do not fit.
    fn kept(order: &[(JobId, Shape)], settling: Settling, view: &'a View<'a>) -> (Desk<'a>, usize) {
        let mut desk = Desk::new(settling, view);
        for (id, shape) in order {
            desk.keep(*id, Some(*shape), false);
        }
        let mut missing = 0;
        for (id, shape) in order {
            let placed = desk.runs.contains_key(id) || desk.place(*id, *shape);
            let limited = matches!(desk.refused.get(id), Some(Reason::OverLimit { .. }));
            missing += usize::from(!placed && !limited);
        }
        (desk, missing)
    }

    /// The largest first, whoever it is.
    fn packed(order: &[(JobId, Shape)], settling: Settling, view: &'a View<'a>) -> Desk<'a> {
        let mut desk = Desk::new(settling, view);
        for (id, shape) in order {
            if !desk.keep(*id, Some(*shape), true) {
                desk.place(*id, *shape);
            }
        }
        desk
    }

    fn take(&mut self, job: &Job, placement: Placement) {
        self.draft.claim(&placement, Grip::from(&job.spec.demand));
        let assignment = Assignment::new(placement, job.spec.demand.share);
        for tenant in self.view.tenants().lineage(job.spec.tenant) {
            *self.used.entry(tenant).or_default() += assignment.milli() as i64;
        }
        self.refused.remove(&job.id);
        self.runs.insert(job.id, assignment);
    }

    /// Let a job keep what it has, if that is the shape it shall have and nobody else has it now.
    /// Where others may have been given something before, limits are looked at.
    fn keep(&mut self, id: JobId, shape: Option<Shape>, limited: bool) -> bool {
        let job = self.view.state().job(id);
        let Some(on) = &job.assignment else { return false };
        let has = Shape::of(on, &self.draft);
        let same = shape.is_none_or(|shape| has.is_some_and(|has| has.is_like(shape)));
        let allowed = !limited || self.within_limits(job, on.milli() as i64).is_ok();
        if !same
            || !allowed
            || !self.draft.has_room_for(&on.placement, Grip::from(&job.spec.demand))
        {
            return false;
        }
        self.take(job, on.placement.clone());
        true
    }

    fn within_limits(&self, job: &Job, milli: i64) -> Result<(), Reason> {
        let used = |tenant| self.used.get(&tenant).copied().unwrap_or(0);
        self.view.tenants().within_limits(job.spec.tenant, milli, used)
    }

    /// Give a job GPUs of a shape.
    fn place(&mut self, id: JobId, shape: Shape) -> bool {
        let job = self.view.state().job(id);
        let milli = i64::from(shape.gpus) * i64::from(job.spec.demand.share.0);
        let placed = self.within_limits(job, milli).and_then(|()| {
            let mut want = Want { gpus: shape.gpus, ..Want::as_asked(job) };
            want.demand.kinds = KindSet::only(shape.kind);
            let (remainder, racks) = (Remainder::AsPicked, Racks::Fullest);
            let close = Fit { pick: Pick::Tightest, remainder, relax: false, racks };
            let found = match self.settling {
                Settling::Close => close.place(&want, &self.draft, self.view),
                Settling::MostRoom => MostRoom.place(&want, &self.draft, self.view),
                Settling::Even => Even.place(&want, &self.draft, self.view),
            };
            // A shape that is no whole number of nodes may have to be spread.
            found.or_else(|_| Anywhere.place(&want, &self.draft, self.view))
        });
        match placed {
            Ok(placement) => self.take(job, placement),
            Err(reason) => drop(self.refused.insert(id, reason)),
        }
        self.runs.contains_key(&id)
    }

    /// Jobs that use no GPU start where there is room beside the others.
    fn without_gpus(&mut self, wanted: &[(JobId, Option<Shape>)]) {
        for (id, _) in wanted {
            let job = self.view.state().job(*id);
            if job.spec.demand.asked() > 0 || self.keep(*id, None, false) {
                continue;
            }
            match Anywhere.place(&Want::as_asked(job), &self.draft, self.view) {
                Ok(placement) => self.take(job, placement),
                Err(reason) => drop(self.refused.insert(*id, reason)),
            }
        }
    }

    /// Whoever has nothing gets what it had, or the least it can use.
    fn fill(&mut self, wanted: &[(JobId, Option<Shape>)]) {
        let kinds = self.draft.cluster().kinds.len();
        for (id, _) in wanted.iter().filter(|(_, shape)| shape.is_none()) {
            if !self.runs.contains_key(id) {
                self.keep(*id, None, true);
            }
        }
        for (id, _) in wanted {
            let demand = &self.view.state().job(*id).spec.demand;
            let sizes = [demand.sizes.min, demand.asked()];
            for gpus in sizes.into_iter().filter(|gpus| *gpus > 0 && demand.sizes.admits(*gpus)) {
                for kind in demand.kinds.iter(kinds) {
                    let shape = Shape { kind, gpus, nodes: 0 };
                    if self.runs.contains_key(id) || self.place(*id, shape) {
                        break;
                    }
                }
            }
        }
    }

    fn plan(mut self, wanted: &[(JobId, Option<Shape>)], until: Time) -> Plan {
        let mut plan = Plan { scope: Scope::Whole, ..Plan::none() };
        for (id, _) in wanted {
            if let Some(assignment) = self.runs.remove(id) {
                plan.run.push(Run { job: *id, assignment, lease: None });
                continue;
            }
            let job = self.view.state().job(*id);
            let demand = &job.spec.demand;
            let (need, free) = (demand.sizes.min, self.draft.free_of(demand.kinds));
            let reason = self.refused.get(id).copied().unwrap_or(match free < need {
                true => Reason::NotEnoughFree { need, free },
                false => Reason::PutOff { until },
            });
            plan.wait.push(Wait { job: *id, reason });
        }
        plan
    }
}

/// Whether a job is to be thought of in a round.
pub(super) fn counts(job: &Job) -> bool {
    job.leaving.is_none() && job.phase != Phase::Blocked
}
