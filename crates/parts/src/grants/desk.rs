//! Finding GPUs for whoever is next. Everybody whose lease is over gives way in thought; then
//! offers are met in order. In a second go those who were chosen keep the GPUs they have, and the
//! others are placed around them, the largest first; if that cannot be, the first go stands.

use super::policy::Behind;
use super::{Floor, Turns};
use crate::place::{Fit, Racks, Remainder};
use heeler_engine::{DemandId, Draft, Grip, Job, Pick, Place, View, Want};
use heeler_model::{JobId, KindSet, Placement, Reason, TenantId};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// On as few nodes as possible, but rather spread than wait.
const TOGETHER: Fit = Fit {
    pick: Pick::Tightest,
    remainder: Remainder::AsPicked,
    relax: true,
    racks: Racks::Fullest,
};

/// Who gets what, and why others do not.
pub(super) struct Laid {
    pub(super) runs: BTreeMap<JobId, Placement>,
    pub(super) refused: BTreeMap<JobId, Reason>,
}

struct Picked {
    job: JobId,
    kinds: KindSet,
    placement: Placement,
}

/// Meet offers as long as there are any.
pub(super) fn lay<'a>(
    floor: &Floor<'a>,
    turns: &mut dyn Turns,
    behind: Behind,
    view: &View<'a>,
) -> Laid {
    let mut draft = cleared(floor, view);
    let empty = draft.savepoint();
    let mut vain = Vain::default();
    let mut used = Used::of(floor, view);
    let mut picked: Vec<Picked> = Vec::new();
    let mut refused = BTreeMap::new();
    let mut blocked: Option<JobId> = None;
    while let Some(offer) = turns.next() {
        let job = view.state().job(offer.job);
        let placed = match blocked {
            // What is free is kept for the first that does not fit. Who has GPUs may go on.
            Some(first) if !job.is_placed() => Err(Reason::Behind { ahead: 1, first }),
            _ => used.within(job, view).and_then(|()| vain.place(job, offer.kinds, &draft, view)),
        };
        match placed {
            Ok(placement) => {
                vain.forget();
                draft.claim(&placement, Grip::from(&job.spec.demand));
                used.take(job, view);
                refused.remove(&offer.job);
                picked.push(Picked { job: offer.job, kinds: offer.kinds, placement });
                turns.took();
            }
            Err(reason) => {
                let no_room = !matches!(reason, Reason::OverLimit { .. });
                if behind == Behind::Waits && no_room {
                    blocked = blocked.or(Some(offer.job));
                }
                refused.insert(offer.job, reason);
                turns.passed();
            }
        }
    }
    draft.back_to(empty);
    let Some(runs) = settled(&picked, &mut draft, view) else {
        let runs = picked.into_iter().map(|pick| (pick.job, pick.placement)).collect();
        return Laid { runs, refused };
    };
    let mut laid = Laid { runs, refused };
    if behind == Behind::Passes {
        laid.fill(draft, used, view);
    }
    laid
}

impl Laid {
    /// What lies together now may do for somebody for whom it did not before.
    fn fill(&mut self, mut draft: Draft, mut used: Used, view: &View) {
        let mut vain = Vain::default();
        for id in self.refused.keys().copied().collect::<Vec<_>>() {
            let job = view.state().job(id);
            let kinds = job.spec.demand.kinds;
            let placed = used.within(job, view);
            if let Ok(placement) = placed.and_then(|()| vain.place(job, kinds, &draft, view)) {
                vain.forget();
                draft.claim(&placement, Grip::from(&job.spec.demand));
                used.take(job, view);
                self.refused.remove(&id);
                self.runs.insert(id, placement);
            }
        }
    }
}

/// What is free once everybody whose lease is over has given way.
fn cleared<'a>(floor: &Floor<'a>, view: &View<'a>) -> Draft<'a> {
    let mut draft = view.state().draft();
    for job in &floor.asking {
        if let Some(on) = &job.assignment {
            draft.release(&on.placement, Grip::from(&job.spec.demand));
        }
    }
    draft
}

/// What a job has, if it is of these kinds.
fn own<'a>(job: &'a Job, kinds: KindSet, draft: &Draft) -> Option<&'a Placement> {
    let on = job.assignment.as_ref().filter(|on| on.share == job.spec.demand.share)?;
    let fits = on.placement.slices().iter().all(|slice| kinds.contains(draft.kind_of(slice.node)));
    let room = draft.has_room_for(&on.placement, Grip::from(&job.spec.demand));
    (fits && room).then_some(&on.placement)
}

fn fresh(job: &Job, kinds: KindSet, draft: &Draft, view: &View) -> Result<Placement, Reason> {
    let mut want = Want::as_asked(job);
    want.demand.kinds = kinds;
    TOGETHER.place(&want, draft, view)
}

/// Why wants could not be met, as long as nothing more is taken: whoever asks for the same is told
/// the same, without looking again.
#[derive(Default)]
struct Vain(BTreeMap<(DemandId, KindSet), Reason>);

impl Vain {
    fn place(
        &mut self,
        job: &Job,
        kinds: KindSet,
        draft: &Draft,
        view: &View,
    ) -> Result<Placement, Reason> {
        if let Some(placement) = own(job, kinds, draft) {
            return Ok(placement.clone());
        }
        let known = self.0.get(&(job.demand, kinds)).copied();
        let found = known.map_or_else(|| fresh(job, kinds, draft, view), Err);
        if let Err(reason) = found {
            self.0.insert((job.demand, kinds), reason);
        }
        found
    }

    fn forget(&mut self) {
        self.0.clear();
    }
}

/// The same jobs, but whoever has GPUs of these kinds keeps them, if all others find room, too.
fn settled(
    picked: &[Picked],
    draft: &mut Draft,
    view: &View,
) -> Option<BTreeMap<JobId, Placement>> {
    let mut runs = BTreeMap::new();
    let mut others = Vec::new();
    for pick in picked {
        let job = view.state().job(pick.job);
        match own(job, pick.kinds, draft) {
            Some(placement) => {
                draft.claim(placement, Grip::from(&job.spec.demand));
                runs.insert(pick.job, placement.clone());
            }
            None => others.push((Reverse(job.spec.demand.asked()), pick.job, pick.kinds)),
        }
    }
    others.sort_unstable_by_key(|(size, id, _)| (*size, *id));
    for (_, id, kinds) in others {
        let job = view.state().job(id);
        let placement = fresh(job, kinds, draft, view).ok()?;
        draft.claim(&placement, Grip::from(&job.spec.demand));
        runs.insert(id, placement);
    }
    Some(runs)
}

/// What tenants use, against their limits.
struct Used(BTreeMap<TenantId, i64>);

impl Used {
    fn of(floor: &Floor, view: &View) -> Used {
        let mut used = Used(BTreeMap::new());
        floor.keeping.iter().for_each(|job| used.take(job, view));
        used
    }

    fn take(&mut self, job: &Job, view: &View) {
        for tenant in view.tenants().lineage(job.spec.tenant) {
            *self.0.entry(tenant).or_default() += job.milli() as i64;
        }
    }

    fn within(&self, job: &Job, view: &View) -> Result<(), Reason> {
        let used = |tenant| self.0.get(&tenant).copied().unwrap_or(0);
        view.tenants().within_limits(job.spec.tenant, job.milli() as i64, used)
    }
}
