//! Sharing GPUs where that was measured to harm nobody: a job that would have to wait gets half of
//! the GPUs of one that runs, if both keep nearly their pace beside each other. Nobody is guessed
//! to be harmless.

use super::Pipeline;
use super::walk::Walk;
use crate::fleet::Grip;
use crate::state::Job;
use crate::traits::{Want, Wants};
use crate::view::View;
use heeler_model::{Assignment, Demand, JobId, KindId, Milli, ModelId, Run};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

/// When two jobs may have the same GPUs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pack {
    /// The part of its pace alone that each must keep.
    pub harmless: f64,
}

const HALF: Milli = Milli(500);

/// What a plan knows of shared GPUs.
#[derive(Default)]
pub(super) struct Sharing {
    /// Running jobs whose neighbours are gone.
    lone: BTreeSet<JobId>,
    /// Who could be joined, once somebody has asked.
    residents: OnceCell<Residents>,
    /// Whether running jobs get another share of their GPUs.
    changed: bool,
}

/// Running jobs that have GPUs of one node to themselves, by what matters to a neighbour.
type Residents = BTreeMap<(u32, KindId, ModelId), Vec<JobId>>;

impl Pipeline {
    /// Whether anybody could ever share GPUs.
    pub(super) fn may_pack(&self, view: &View) -> bool {
        self.parts.pack.is_some() && !view.fleet().cluster().pairs.is_empty()
    }

    /// Whether somebody could join a job that has begun.
    pub(super) fn may_be_joined(&self, view: &View) -> bool {
        self.may_pack(view) && self.queue.waiting() > 0
    }

    /// Remember whether a job has GPUs to itself.
    pub(super) fn note_share(&mut self, job: &Job) {
        match is_squeezed(job) {
            true => drop(self.squeezed.insert(job.id)),
            false => drop(self.squeezed.remove(&job.id)),
        }
    }
}

/// Whether a job has less of its GPUs than it asked for.
fn is_squeezed(job: &Job) -> bool {
    job.assignment.as_ref().is_some_and(|on| on.share < job.spec.demand.share)
}

impl<'a> Walk<'a> {
    /// Jobs whose neighbours are gone have their GPUs to themselves, whatever their share says.
    pub(super) fn look_for_lone(&mut self) {
        for id in &self.pipe.squeezed {
            let job = self.view.state().job(*id);
            let Some(on) = &job.assignment else { continue };
            let rest = rest_of(job, on);
            let free = on.placement.slices().iter().all(|slice| {
                slice.slots.iter().all(|slot| self.draft.left_of(slice.node, slot) >= rest.share.0)
            });
            if free && self.draft.are_up(&on.placement) && !self.planned.contains_key(id) {
                self.draft.claim(&on.placement, rest);
                self.sharing.lone.insert(*id);
            }
        }
    }

    /// What a job's neighbour has left behind on its GPUs.
    pub(super) fn left_behind(&self, job: &Job) -> Option<Grip> {
        let on = job.assignment.as_ref().filter(|_| self.sharing.lone.contains(&job.id))?;
        Some(rest_of(job, on))
    }

    /// Those who are still alone get their whole GPUs back, as far as their tenants' limits go.
    pub(super) fn part(&mut self) {
        // Others whose neighbours this plan stops.
        self.look_for_lone();
        for id in std::mem::take(&mut self.sharing.lone) {
            let job = self.view.state().job(id);
            let Some(on) = &job.assignment else { continue };
            let whole = Assignment { share: job.spec.demand.share, ..on.clone() };
            let more = whole.milli() as i64 - on.milli() as i64;
            if !self.planned.contains_key(&id) && self.within_limits(job, more).is_ok() {
                self.give_share(job, whole.share);
            }
        }
    }

    /// Whether this plan has to do with shares of GPUs.
    pub(super) fn shares_change(&self) -> bool {
        self.sharing.changed || !self.sharing.lone.is_empty()
    }

    /// Let a job have GPUs together with one that runs. On success the plan has both.
    pub(super) fn join(&mut self, job: &'a Job, wants: &Wants) -> bool {
        let measured = !self.draft.cluster().pairs.is_empty();
        let pack = self.pipe.parts.pack.filter(|_| measured);
        let Some(pack) = pack else { return false };
        let Some(want) = wants.iter().find(|want| may_share(job, want.gpus)) else { return false };
        let demand = Demand { share: HALF, ..want.demand };
        let want = Want { demand, ..*want };
        if job.is_placed() || self.within_limits(job, want.milli()).is_err() {
            return false;
        }
        let grip = Grip::from(&demand);
        for resident in self.harmless(&want, job.spec.model, pack) {
            let other = self.view.state().job(resident);
            let Some(on) = &other.assignment else { continue };
            let before = self.draft.savepoint();
            match self.left_behind(other) {
                Some(rest) => self.draft.release(&on.placement, rest),
                None => {
                    let whole = Walk::grip(other);
                    self.draft.release(&on.placement, whole);
                    self.draft.claim(&on.placement, Grip { share: HALF, ..whole });
                }
            }
            if self.draft.has_room_for(&on.placement, grip) {
                self.sharing.lone.remove(&resident);
                self.give_share(other, HALF);
                self.start(job, &want, on.placement.clone());
                return true;
            }
            self.draft.back_to(before);
        }
        false
    }

    /// Those beside whom a job and who beside it keep enough of their pace, best first.
    fn harmless(&self, want: &Want, model: ModelId, pack: Pack) -> Vec<JobId> {
        let residents = self.sharing.residents.get_or_init(|| self.who_could_be_joined());
        let pairs = &self.draft.cluster().pairs;
        let mut found: Vec<(f64, JobId)> = Vec::new();
        for ((gpus, kind, other), ids) in residents {
            if *gpus != want.gpus || !want.demand.kinds.contains(*kind) {
                continue;
            }
            let ours = pairs.pace(*kind, *gpus, (model, *other));
            let theirs = pairs.pace(*kind, *gpus, (*other, model));
            let least = ours.zip(theirs).map(|(ours, theirs)| ours.min(theirs));
            if let Some(least) = least.filter(|least| *least >= pack.harmless) {
                let free = ids.iter().filter(|id| !self.planned.contains_key(id));
                found.extend(free.map(|id| (least, *id)));
            }
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        found.into_iter().map(|(_, id)| id).collect()
    }

    fn who_could_be_joined(&self) -> Residents {
        let mut residents = Residents::new();
        // Nobody is joined at the moment that brought it where it is: a plan stands until something
        // happens.
        let settled = |job: &&Job| job.is_running() && job.since < self.now();
        for job in self.view.jobs().iter().filter(settled) {
            let Some(on) = &job.assignment else { continue };
            let [slice] = on.placement.slices() else { continue };
            let alone = !is_squeezed(job) || self.sharing.lone.contains(&job.id);
            if alone && may_share(job, on.gpus()) && self.draft.is_up(slice.node) {
                let key = (on.gpus(), self.draft.kind_of(slice.node), job.spec.model);
                residents.entry(key).or_default().push(job.id);
            }
        }
        residents
    }

    /// A running job keeps its GPUs, with another share of them. What it takes of them in the draft
    /// has been seen to.
    fn give_share(&mut self, job: &'a Job, share: Milli) {
        let Some(on) = &job.assignment else { return };
        self.sharing.changed = true;
        self.planned.insert(job.id, Some(on.placement.clone()));
        if on.share == share {
            return;
        }
        let assignment = Assignment { share, ..on.clone() };
        self.count(job, assignment.milli() as i64 - on.milli() as i64);
        self.plan.run.push(Run { job: job.id, assignment, lease: job.lease });
    }
}

/// What a job asked for of its GPUs beyond what it has.
fn rest_of(job: &Job, on: &Assignment) -> Grip {
    Grip { share: Milli(job.spec.demand.share.0 - on.share.0), ..Grip::NOTHING }
}

/// Whether a job asks for whole GPUs, as many as it is given, and it is known what it does.
fn may_share(job: &Job, gpus: u32) -> bool {
    let demand = &job.spec.demand;
    demand.share.is_whole() && gpus > 0 && gpus == demand.asked() && job.spec.model != ModelId(0)
}
