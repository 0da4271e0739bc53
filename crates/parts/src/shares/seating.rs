//! Who of a round sits where: whoever can stays where it is, the others are placed anew, large
//! gangs first, because they have the hardest time.

use super::beside::both;
use crate::place::{Fit, Racks, Remainder};
use heeler_engine::{Draft, Grip, Job, Pick, Place, View, Want};
use heeler_model::{Assignment, JobId, KindId, KindSet, Milli, Placement, Plan, Run, Wait};

/// On as few nodes as possible, but rather spread than wait: shares count GPUs, not nodes.
const TOGETHER: Fit =
    Fit { pick: Pick::Tightest, remainder: Remainder::AsPicked, relax: true, racks: Racks::Any };

/// How much of a GPU each of two jobs has that run on it together.
const HALF: Milli = Milli(500);

/// A job, or two on the same GPUs, on a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chosen {
    pub(super) job: JobId,
    pub(super) beside: Option<JobId>,
    pub(super) kind: KindId,
}

impl Chosen {
    fn jobs(&self) -> impl Iterator<Item = JobId> {
        [Some(self.job), self.beside].into_iter().flatten()
    }

    /// How much of a GPU each has.
    fn share(&self, view: &View) -> Milli {
        self.beside.map_or(view.job(self.job).spec.demand.share, |_| HALF)
    }

    /// Thousandths of GPUs that one of them will have, whatever it has now.
    pub(super) fn milli(&self, job: JobId, view: &View) -> i64 {
        i64::from(view.job(job).spec.demand.asked()) * i64::from(self.share(view).0)
    }
}

/// Seat everybody who was chosen, and say in the plan who cannot be.
pub(super) fn seat(chosen: &[Chosen], plan: &mut Plan, view: &View) {
    let mut draft = view.draft();
    for job in view.jobs().iter().filter(|job| job.is_placed()) {
        let on = job.assignment.as_ref().expect("a placed job has an assignment");
        draft.release(&on.placement, grip(job, on.share));
    }
    let mut fresh: Vec<&Chosen> = Vec::new();
    let mut moved: Vec<&Chosen> = Vec::new();
    for one in chosen {
        let share = one.share(view);
        let stays = |id: JobId| {
            let on = view.job(id).assignment.as_ref()?;
            (on.share == share && is_on(&on.placement, one.kind, &draft)).then_some(on)
        };
        let first = stays(one.job);
        match first.filter(|on| one.jobs().all(|id| stays(id) == Some(on))) {
            Some(on) => sit(one, &on.placement, plan, &mut draft, view),
            None => moved.push(one),
        }
    }
    // One that was alone and now has another beside it, or the other way round, stays if it can.
    for one in moved {
        let there = one.jobs().filter_map(|id| view.job(id).assignment.as_ref());
        let free = there.map(|on| &on.placement).find(|placement| {
            let up = draft.are_up(placement) && is_on(placement, one.kind, &draft);
            up && has_room(one, placement, &mut draft, view)
        });
        match free {
            Some(placement) => sit(one, placement, plan, &mut draft, view),
            None => fresh.push(one),
        }
    }
    let gpus = |one: &Chosen| view.job(one.job).spec.demand.asked();
    fresh.sort_by_key(|one| (std::cmp::Reverse(gpus(one)), one.job, one.beside));
    for one in fresh {
        let mut want = Want::as_asked(view.job(one.job));
        if let Some(other) = one.beside {
            want.demand = both(&want.demand, &view.job(other).spec.demand);
        }
        want.demand.kinds = KindSet::only(one.kind);
        let found = TOGETHER.place(&want, &draft, view);
        match found {
            Ok(placement) if has_room(one, &placement, &mut draft, view) => {
                sit(one, &placement, plan, &mut draft, view);
            }
            // Two that do not fit side by side this time.
            Ok(_) => {
                let free = draft.free_of(KindSet::only(one.kind));
                let reason = heeler_model::Reason::NotEnoughFree { need: gpus(one), free };
                plan.wait.extend(one.jobs().map(|job| Wait { job, reason }));
            }
            Err(reason) => plan.wait.extend(one.jobs().map(|job| Wait { job, reason })),
        }
    }
}

fn sit(one: &Chosen, on: &Placement, plan: &mut Plan, draft: &mut Draft, view: &View) {
    let share = one.share(view);
    for job in one.jobs() {
        draft.claim(on, grip(view.job(job), share));
        let assignment = Assignment::new(on.clone(), share);
        plan.run.push(Run { job, assignment, lease: None });
    }
}

/// Whether all of them have room on some GPUs.
fn has_room(one: &Chosen, on: &Placement, draft: &mut Draft, view: &View) -> bool {
    let before = draft.savepoint();
    let share = one.share(view);
    let fits = one.jobs().all(|id| {
        let grip = grip(view.job(id), share);
        let fits = draft.has_room_for(on, grip);
        if fits {
            draft.claim(on, grip);
        }
        fits
    });
    draft.back_to(before);
    fits
}

fn grip(job: &Job, share: Milli) -> Grip {
    Grip { share, ..Grip::from(&job.spec.demand) }
}

/// Whether a placement is on GPUs of a kind.
fn is_on(placement: &Placement, kind: KindId, draft: &Draft) -> bool {
    placement.slices().iter().all(|slice| draft.kind_of(slice.node) == kind)
}
