//! On which GPUs. Groups that stay as they are keep theirs, then those that find the GPUs of one of
//! their members free, then the others, the largest first; if that leaves somebody out who would
//! fit had others stood closer, everybody is placed anew.

use super::form::Group;
use super::sitting::{Sitters, Sitting};
use super::standing::{Line, Standing};
use crate::place::{Fit, Racks, Remainder};
use heeler_engine::{Draft, Grip, Pick, Place, View, Want};
use heeler_model::{Assignment, Milli, Placement, Reason};
use smallvec::SmallVec;
use std::cmp::Reverse;

/// On as few nodes as possible, but rather spread than wait.
pub(super) const TOGETHER: Fit = Fit {
    pick: Pick::Tightest,
    remainder: Remainder::AsPicked,
    relax: true,
    racks: Racks::Fullest,
};

/// What becomes of a job.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Fate {
    /// It is in no group.
    #[default]
    Out,
    /// It keeps what it has.
    Stays,
    /// It gets one of what is given.
    Runs(u32),
    /// It gets nothing, for one of the reasons.
    Waits(u32),
}

/// What becomes of everybody.
pub(super) struct Settled {
    /// By place in the table of jobs.
    pub fates: Vec<Fate>,
    /// What is given.
    pub given: Vec<Assignment>,
    /// Why some get nothing.
    pub reasons: Vec<Reason>,
    runs: usize,
    refused: bool,
}

/// Give groups GPUs.
pub(super) fn settle(groups: &[Group], line: &Line, view: &View) -> Settled {
    let mut order: Vec<&Group> = groups.iter().collect();
    order.sort_by_cached_key(|group| Reverse(group.gpus(&line.jobs)));
    let kept = lay_out(&order, line, true, view);
    if !kept.refused {
        return kept;
    }
    let anew = lay_out(&order, line, false, view);
    if anew.runs > kept.runs { anew } else { kept }
}

fn lay_out(order: &[&Group], line: &Line, keep: bool, view: &View) -> Settled {
    let fates = vec![Fate::Out; view.jobs().places()];
    let (given, reasons) = (Vec::new(), Vec::new());
    let mut settled = Settled { fates, given, reasons, runs: 0, refused: false };
    let mut left: Vec<&Group> = order.to_vec();
    let mut sitters = Sitters::default();
    if keep {
        left.retain(|group| !stays(group, &line.jobs, &mut settled, view));
        sitters = Sitters::of(&left, line, view);
        sitters.jobs(&line.jobs).for_each(|job| settled.fates[job.place as usize] = Fate::Stays);
    }
    let mut desk = Desk::new(settled, sitters, &line.jobs, view);
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
    // Whoever shares GPUs with others has their seat, and is where all are who have it.
    let same = |standing: &Standing| match &standing.job.assignment {
        Some(other) if standing.seat == first.seat => match first.seat {
            Some(_) => other.share == on.share && other.portion == on.portion,
            None => other == on,
        },
        _ => false,
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
pub(super) fn share(group: &Group, line: &[Standing]) -> Milli {
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
    /// Who is not asked to get up while a group gathers around it.
    sitters: Sitters<'a>,
}

impl<'a> Desk<'a> {
    /// Everything is free that others have or are promised.
    fn new(
        settled: Settled,
        sitters: Sitters<'a>,
        line: &'a [Standing<'a>],
        view: &'a View<'a>,
    ) -> Desk<'a> {
        let mut draft = view.draft();
        for job in view.jobs().iter() {
            let Some(on) = &job.assignment else { continue };
            let place = view.jobs().place(job.id).expect("the job is not done");
            if let Fate::Out = settled.fates[place] {
                draft.release(&on.placement, Grip::of(&job.spec.demand, on));
            }
        }
        Desk { view, line, draft, settled, sitters }
    }

    fn note(&mut self, group: &Group, fate: Fate) {
        for standing in group.each(self.line) {
            self.settled.fates[standing.place as usize] = fate;
        }
    }

    /// Let a group be where most of it is.
    fn gathers(&mut self, group: &Group) -> bool {
        for (seat, place) in places(group, self.line) {
            if let Some(sitting) = self.sitters.take(seat) {
                if std::ptr::eq(sitting.group, group) && self.joins(&sitting) {
                    return true;
                }
                self.gets_up(&sitting);
            }
            if place.gpus() == group.gpus(self.line) && self.take(group, place) {
                return true;
            }
        }
        false
    }

    /// The others of a group come to those of it who sit, unless somebody else is there.
    fn joins(&mut self, sitting: &Sitting<'a>) -> bool {
        let left = Milli::WHOLE.0 - sitting.members.len() as u32 * sitting.on.share.0;
        let place = &sitting.on.placement;
        let alone = place.slices().iter().all(|slice| {
            slice.slots.iter().all(|slot| self.draft.left_of(slice.node, slot) == left)
        });
        if !alone {
            return false;
        }
        let given = self.settled.given.len() as u32;
        self.settled.given.push(sitting.on.clone());
        for standing in sitting.others(self.line) {
            self.draft.claim(place, Grip::of(&standing.job.spec.demand, sitting.on));
            self.settled.fates[standing.place as usize] = Fate::Runs(given);
        }
        self.settled.runs += sitting.group.members.len();
        true
    }

    /// Whoever sat is on no GPUs any more.
    fn gets_up(&mut self, sitting: &Sitting<'a>) {
        for standing in sitting.each(self.line) {
            let grip = Grip::of(&standing.job.spec.demand, sitting.on);
            self.draft.release(&sitting.on.placement, grip);
            self.settled.fates[standing.place as usize] = Fate::Out;
        }
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
        let why = self.settled.reasons.len() as u32;
        self.settled.reasons.push(reason);
        self.note(group, Fate::Waits(why));
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
        let given = self.settled.given.len() as u32;
        self.settled.given.push(Assignment::new(placement.clone(), share));
        self.note(group, Fate::Runs(given));
        self.settled.runs += group.members.len();
        true
    }
}

/// Where members of a group are, with the number of these GPUs where they are shared: where most of
/// them are comes first.
pub(super) fn places<'a>(
    group: &Group,
    line: &'a [Standing<'a>],
) -> SmallVec<[(Option<u32>, &'a Placement); 4]> {
    let mut places: SmallVec<[(usize, Option<u32>, &Placement); 4]> = SmallVec::new();
    for standing in group.each(line) {
        let Some(on) = &standing.job.assignment else { continue };
        match places.iter_mut().find(|(_, _, place)| **place == on.placement) {
            Some((count, _, _)) => *count += 1,
            None => places.push((1, standing.seat, &on.placement)),
        }
    }
    places.sort_by_key(|(count, _, _)| Reverse(*count));
    places.into_iter().map(|(_, seat, place)| (seat, place)).collect()
}
