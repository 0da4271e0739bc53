//! On which GPUs. Groups that stay as they are keep theirs, then those that find the GPUs of one of
//! their members free, then the others, the largest first; if that leaves somebody out who would
//! fit had others stood closer, everybody is placed anew.

use super::form::Group;
use crate::place::{Fit, Remainder};
use heeler_engine::{Draft, Grip, Pick, Place, View, Want};
use heeler_model::{Assignment, JobId, Milli, Placement, Reason};
use std::cmp::Reverse;

/// On as few nodes as possible, but rather spread than wait.
pub(super) const TOGETHER: Fit =
    Fit { pick: Pick::Tightest, remainder: Remainder::AsPicked, relax: true, racks: true };

/// What becomes of a job.
#[derive(Clone, Debug, Default)]
pub(super) enum Fate {
    /// It is in no group.
    #[default]
    Out,
    /// It keeps what it has.
    Stays,
    /// It gets something.
    Runs(Assignment),
    /// It gets nothing.
    Waits(Reason),
}

/// What becomes of everybody.
pub(super) struct Settled {
    /// By place in the table of jobs.
    fates: Vec<Fate>,
    runs: usize,
    refused: bool,
}

impl Settled {
    /// What becomes of a job.
    pub(super) fn take(&mut self, id: JobId, view: &View) -> Fate {
        let place = view.jobs().place(id).expect("the job is not done");
        std::mem::take(&mut self.fates[place])
    }
}

/// Give groups GPUs.
pub(super) fn settle(groups: &[Group], view: &View) -> Settled {
    let mut order: Vec<&Group> = groups.iter().collect();
    order.sort_by_key(|group| Reverse(group.demand.asked()));
    let kept = lay_out(&order, true, view);
    if !kept.refused {
        return kept;
    }
    let anew = lay_out(&order, false, view);
    if anew.runs > kept.runs { anew } else { kept }
}

fn lay_out(order: &[&Group], keep: bool, view: &View) -> Settled {
    let fates = vec![Fate::Out; view.jobs().places()];
    let mut settled = Settled { fates, runs: 0, refused: false };
    let mut left: Vec<&Group> = order.to_vec();
    if keep {
        left.retain(|group| !stays(group, &mut settled, view));
    }
    let mut desk = Desk::new(settled, view);
    if keep {
        left.retain(|group| !desk.gathers(group));
    }
    for group in left {
        desk.place(group);
    }
    desk.settled
}

/// Let a group be where all of it is, with the shares it has. Whoever else is there has room.
fn stays(group: &Group, settled: &mut Settled, view: &View) -> bool {
    let Some(on) = &view.job(group.members[0]).assignment else { return false };
    let same = |id: &JobId| view.job(*id).assignment.as_ref() == Some(on);
    // Another recipe may have let it grow.
    let stays = on.placement.gpus() == group.demand.asked()
        && on.share == share(group)
        && on.portion.is_none()
        && group.members.iter().all(same)
        && view.fleet().are_up(&on.placement);
    if stays {
        for id in &group.members {
            settled.fates[view.jobs().place(*id).expect("the job is not done")] = Fate::Stays;
        }
        settled.runs += group.members.len();
    }
    stays
}

/// What of a GPU each of a group has.
fn share(group: &Group) -> Milli {
    match group.members.len() {
        1 => group.demand.share,
        several => Milli(Milli::WHOLE.0 / several as u32),
    }
}

/// A desk on which GPUs are laid out for those who do not stay.
struct Desk<'a> {
    view: &'a View<'a>,
    draft: Draft<'a>,
    settled: Settled,
}

impl<'a> Desk<'a> {
    /// Everything is free that others have or are promised.
    fn new(settled: Settled, view: &'a View<'a>) -> Desk<'a> {
        let mut draft = view.draft();
        for job in view.jobs().iter() {
            let place = view.jobs().place(job.id).expect("the job is not done");
            if let (Some(on), Fate::Out) = (&job.assignment, &settled.fates[place]) {
                draft.release(&on.placement, Grip::of(&job.spec.demand, on));
            }
        }
        Desk { view, draft, settled }
    }

    fn note(&mut self, id: JobId, fate: Fate) {
        let place = self.view.jobs().place(id).expect("the job is not done");
        self.settled.fates[place] = fate;
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
        self.settled.refused = true;
        group.members.iter().for_each(|id| self.note(*id, Fate::Waits(reason)));
    }

    /// Give a group GPUs that nobody else has, if there is room for all of it.
    fn take(&mut self, group: &Group, placement: &Placement) -> bool {
        let (share, savepoint) = (share(group), self.draft.savepoint());
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
        for id in &group.members {
            self.note(*id, Fate::Runs(assignment.clone()));
        }
        self.settled.runs += group.members.len();
        true
    }
}

fn grip(job: &heeler_engine::Job, share: Milli) -> Grip {
    Grip { share, ..Grip::from(&job.spec.demand) }
}
