//! On which GPUs. Groups that stay as they are keep theirs, then those that find the GPUs of one of
//! their members free, then the others, the largest first; if that leaves somebody out who would
//! fit had others stood closer, everybody is placed anew.

use super::form::Group;
use super::standing::Standing;
use crate::place::{Fit, Remainder};
use heeler_engine::{Draft, Grip, Pick, Place, View, Want};
use heeler_model::{Assignment, Milli, Placement, Reason};
use std::cmp::Reverse;

/// On as few nodes as possible, but rather spread than wait.
pub(super) const TOGETHER: Fit =
    Fit { pick: Pick::Tightest, remainder: Remainder::AsPicked, relax: true, racks: true };

/// What becomes of a job.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Fate {
    /// It is in no group.
    #[default]
    Out,
    /// It keeps what it has.
    Stays,
    /// It gets one of what is given.
    Runs(usize),
    /// It gets nothing.
    Waits(Reason),
}

/// What becomes of everybody.
pub(super) struct Settled {
    /// By place in the table of jobs.
    pub fates: Vec<Fate>,
    /// What is given.
    pub given: Vec<Assignment>,
    runs: usize,
    refused: bool,
}

/// Give groups GPUs.
pub(super) fn settle(groups: &[Group], line: &[Standing], view: &View) -> Settled {
    let mut order: Vec<&Group> = groups.iter().collect();
    order.sort_by_key(|group| Reverse(group.gpus(line)));
    let kept = lay_out(&order, line, true, view);
    if !kept.refused {
        return kept;
    }
    let anew = lay_out(&order, line, false, view);
    if anew.runs > kept.runs { anew } else { kept }
}

fn lay_out(order: &[&Group], line: &[Standing], keep: bool, view: &View) -> Settled {
    let fates = vec![Fate::Out; view.jobs().places()];
    let mut settled = Settled { fates, given: Vec::new(), runs: 0, refused: false };
    let mut left: Vec<&Group> = order.to_vec();
    if keep {
        left.retain(|group| !stays(group, line, &mut settled, view));
    }
    let mut desk = Desk::new(settled, line, view);
    if keep {
        left.retain(|group| !desk.gathers(group));
    }
    for group in left {
        desk.place(group);
    }
    desk.settled
}

/// Let a group be where all of it is, with the shares it has. Whoever else is there has room.
fn stays(group: &Group, line: &[Standing], settled: &mut Settled, view: &View) -> bool {
    let first = group.first(line);
    let Some(on) = &first.job.assignment else { return false };
    // Whoever shares GPUs with others has their seat.
    let same = |standing: &Standing| {
        standing.seat == first.seat && standing.job.assignment.as_ref() == Some(on)
    };
    // Another recipe may have let it grow.
    let stays = on.placement.gpus() == group.gpus(line)
        && on.share == share(group, line)
        && on.portion.is_none()
        && group.each(line).skip(1).all(same)
        && view.fleet().are_up(&on.placement);
    if stays {
        for standing in group.each(line) {
            settled.fates[standing.place as usize] = Fate::Stays;
        }
        settled.runs += group.members.len();
    }
    stays
}

/// What of a GPU each of a group has.
fn share(group: &Group, line: &[Standing]) -> Milli {
    match group.members.len() {
        1 => group.first(line).job.spec.demand.share,
        several => Milli(Milli::WHOLE.0 / several as u32),
    }
}

/// A desk on which GPUs are laid out for those who do not stay.
struct Desk<'a> {
    view: &'a View<'a>,
    line: &'a [Standing<'a>],
    draft: Draft<'a>,
    settled: Settled,
}

impl<'a> Desk<'a> {
    /// Everything is free that others have or are promised.
    fn new(settled: Settled, line: &'a [Standing<'a>], view: &'a View<'a>) -> Desk<'a> {
        let mut draft = view.draft();
        for job in view.jobs().iter() {
            let Some(on) = &job.assignment else { continue };
            let place = view.jobs().place(job.id).expect("the job is not done");
            if let Fate::Out = settled.fates[place] {
                draft.release(&on.placement, Grip::of(&job.spec.demand, on));
            }
        }
        Desk { view, line, draft, settled }
    }

    fn note(&mut self, group: &Group, fate: Fate) {
        for standing in group.each(self.line) {
            self.settled.fates[standing.place as usize] = fate;
        }
    }

    /// Let a group be where most of it is.
    fn gathers(&mut self, group: &Group) -> bool {
        let mut places: Vec<(usize, &Placement)> = Vec::new();
        for standing in group.each(self.line) {
            let Some(on) = &standing.job.assignment else { continue };
            match places.iter_mut().find(|(_, place)| **place == on.placement) {
                Some((count, _)) => *count += 1,
                None => places.push((1, &on.placement)),
            }
        }
        places.sort_by_key(|(count, _)| Reverse(*count));
        let fits = |place: &Placement| place.gpus() == group.gpus(self.line);
        places.into_iter().any(|(_, place)| fits(place) && self.take(group, place))
    }

    fn place(&mut self, group: &Group) {
        let first = group.first(self.line).job;
        let want = Want { demand: group.demand(self.line), ..Want::as_asked(first) };
        let reason = match TOGETHER.place(&want, &self.draft, self.view) {
            Ok(placement) if self.take(group, &placement) => return,
            Ok(_) => {
                let free = self.draft.free_of(want.demand.kinds);
                Reason::NotEnoughFree { need: want.gpus, free }
            }
            Err(reason) => reason,
        };
        self.settled.refused = true;
        self.note(group, Fate::Waits(reason));
    }

    /// Give a group GPUs that nobody else has, if there is room for all of it.
    fn take(&mut self, group: &Group, placement: &Placement) -> bool {
        let (share, savepoint) = (share(group, self.line), self.draft.savepoint());
        let whole = Grip::from(&group.demand(self.line));
        if !self.draft.has_room_for(placement, whole) {
            return false;
        }
        for standing in group.each(self.line) {
            let grip = Grip { share, ..Grip::from(&standing.job.spec.demand) };
            if !self.draft.has_room_for(placement, grip) {
                self.draft.back_to(savepoint);
                return false;
            }
            self.draft.claim(placement, grip);
        }
        let given = self.settled.given.len();
        self.settled.given.push(Assignment::new(placement.clone(), share));
        self.note(group, Fate::Runs(given));
        self.settled.runs += group.members.len();
        true
    }
}
