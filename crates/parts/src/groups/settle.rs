//! On which GPUs. Groups that stay as they are keep theirs, then those that find the GPUs of one of
//! their members free, then the others, the largest first; if that leaves somebody out who would
//! fit had others stood closer, everybody is placed anew.

use super::form::Group;
use crate::place::{Fit, Remainder};
use heeler_engine::{Draft, Grip, Pick, Place, View, Want};
use heeler_model::{Assignment, JobId, Milli, Placement, Reason};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// On as few nodes as possible, but rather spread than wait.
pub(super) const TOGETHER: Fit =
    Fit { pick: Pick::Tightest, remainder: Remainder::AsPicked, relax: true, racks: true };

/// What everybody gets, and why some get nothing.
#[derive(Default)]
pub(super) struct Settled {
    /// What jobs get.
    pub runs: BTreeMap<JobId, Assignment>,
    /// Why members of groups get nothing.
    pub refused: BTreeMap<JobId, Reason>,
}

/// Give groups GPUs.
pub(super) fn settle(groups: &[Group], view: &View) -> Settled {
    let mut order: Vec<&Group> = groups.iter().collect();
    order.sort_by_key(|group| Reverse(group.demand.asked()));
    let kept = lay_out(&order, true, view);
    if kept.refused.is_empty() {
        return kept;
    }
    let anew = lay_out(&order, false, view);
    if anew.runs.len() > kept.runs.len() { anew } else { kept }
}

fn lay_out(order: &[&Group], keep: bool, view: &View) -> Settled {
    let mut desk = Desk::new(view);
    let mut left: Vec<&Group> = order.to_vec();
    if keep {
        left.retain(|group| !desk.stays(group));
        left.retain(|group| !desk.gathers(group));
    }
    for group in left {
        desk.place(group);
    }
    desk.settled
}

/// A desk on which GPUs are laid out for everybody.
struct Desk<'a> {
    view: &'a View<'a>,
    draft: Draft<'a>,
    settled: Settled,
}

impl<'a> Desk<'a> {
    /// Everything is free that jobs have or are promised.
    fn new(view: &'a View<'a>) -> Desk<'a> {
        let mut draft = view.draft();
        for job in view.jobs().iter() {
            if let Some(on) = &job.assignment {
                draft.release(&on.placement, grip(job, on.share));
            }
        }
        Desk { view, draft, settled: Settled::default() }
    }

    /// Let a group be where all of it is, with the shares it has.
    fn stays(&mut self, group: &Group) -> bool {
        let job = self.view.state().job(group.members[0]);
        let Some(on) = &job.assignment else { return false };
        let same = |id: &JobId| self.view.state().job(*id).assignment.as_ref() == Some(on);
        // Another recipe may have let it grow.
        on.placement.gpus() == group.demand.asked()
            && on.share == self.share(group)
            && group.members.iter().all(same)
            && self.take(group, &on.placement)
    }

    /// Let a group be where most of it is.
    fn gathers(&mut self, group: &Group) -> bool {
        let mut places: Vec<(usize, &Placement)> = Vec::new();
        for id in &group.members {
            let Some(on) = &self.view.state().job(*id).assignment else { continue };
            match places.iter_mut().find(|(_, place)| **place == on.placement) {
                Some((count, _)) => *count += 1,
                None => places.push((1, &on.placement)),
            }
        }
        places.sort_by_key(|(count, _)| Reverse(*count));
        let fits = |place: &Placement| place.gpus() == group.demand.asked();
        places.into_iter().any(|(_, place)| fits(place) && self.take(group, place))
    }

    fn place(&mut self, group: &Group) {
        let first = self.view.state().job(group.members[0]);
        let want = Want { demand: group.demand, ..Want::as_asked(first) };
        let reason = match TOGETHER.place(&want, &self.draft, self.view) {
            Ok(placement) if self.take(group, &placement) => return,
            Ok(_) => {
                let free = self.draft.free_of(want.demand.kinds);
                Reason::NotEnoughFree { need: want.gpus, free }
            }
            Err(reason) => reason,
        };
        self.settled.refused.extend(group.members.iter().map(|id| (*id, reason)));
    }

    /// What of a GPU each of a group has.
    fn share(&self, group: &Group) -> Milli {
        match group.members.len() {
            1 => group.demand.share,
            several => Milli(Milli::WHOLE.0 / several as u32),
        }
    }

    /// Give a group GPUs that nobody else has, if there is room for all of it.
    fn take(&mut self, group: &Group, placement: &Placement) -> bool {
        let (share, savepoint) = (self.share(group), self.draft.savepoint());
        if !self.draft.has_room_for(placement, Grip::from(&group.demand)) {
            return false;
        }
        for id in &group.members {
            let grip = grip(self.view.state().job(*id), share);
            if !self.draft.has_room_for(placement, grip) {
                self.draft.back_to(savepoint);
                return false;
            }
            self.draft.claim(placement, grip);
        }
        let assignment = Assignment::new(placement.clone(), share);
        let runs = group.members.iter().map(|id| (*id, assignment.clone()));
        self.settled.runs.extend(runs);
        true
    }
}

fn grip(job: &heeler_engine::Job, share: Milli) -> Grip {
    Grip { share, ..Grip::from(&job.spec.demand) }
}
