//! From a ranking to a plan: whoever stands higher takes GPUs of those who stand lower, but nobody
//! loses more than is needed. Those who are newly placed are placed together.

use crate::place::LocalSearch;
use heeler_engine::{DemandId, Draft, Grip, Job, Place, View, Want};
use heeler_model::{Assignment, JobId, Reason, Run, TenantId, Time};
use std::collections::BTreeMap;

/// Somebody in a ranking.
#[derive(Clone, Debug)]
pub struct Seat {
    /// The job.
    pub job: JobId,
    /// What it takes.
    pub want: Want,
    /// Until when it may not be disturbed.
    pub lease: Option<Time>,
}

/// Who runs, and why the others do not.
#[derive(Debug, Default)]
pub struct Seated {
    /// Who runs.
    pub runs: Vec<Run>,
    /// Why the others do not.
    pub refused: BTreeMap<JobId, Reason>,
}

/// The ranking while it is gone through.
struct Walk<'a, 'v> {
    seats: &'a [Seat],
    view: &'a View<'v>,
    draft: Draft<'v>,
    place: LocalSearch,
    /// What each has in the draft.
    has: Vec<Option<Assignment>>,
    /// Whether it had that before.
    kept: Vec<bool>,
    used: BTreeMap<TenantId, i64>,
    /// Demands that did not fit; whoever stands lower has less to choose from.
    failed: BTreeMap<DemandId, Reason>,
}

/// Go through a ranking, best first. Jobs that are not in it do not run.
pub fn seat_all(seats: &[Seat], place: LocalSearch, view: &View) -> Seated {
    let mut draft = view.state().draft();
    for job in view.jobs().iter() {
        if let Some(on) = &job.assignment {
            draft.release(&on.placement, grip(job));
        }
    }
    let mut walk = Walk {
        view,
        draft,
        place,
        has: Vec::with_capacity(seats.len()),
        kept: vec![false; seats.len()],
        used: BTreeMap::new(),
        failed: BTreeMap::new(),
        seats,
    };
    walk.claim_present();
    let mut refused = BTreeMap::new();
    for (at, seat) in seats.iter().enumerate() {
        if let Err(reason) = walk.seat(at) {
            refused.insert(seat.job, reason);
        }
    }
    walk.place_together();
    let runs = seats
        .iter()
        .zip(walk.has)
        .filter_map(|(seat, has)| Some(Run { job: seat.job, assignment: has?, lease: seat.lease }));
    Seated { runs: runs.collect(), refused }
}

fn grip(job: &Job) -> Grip {
    Grip::from(&job.spec.demand)
}

impl Walk<'_, '_> {
    fn job(&self, at: usize) -> &Job {
        self.view.state().job(self.seats[at].job)
    }

    /// Everybody keeps what they have, for now, where it is still what they want.
    fn claim_present(&mut self) {
        for (at, seat) in self.seats.iter().enumerate() {
            let job = self.view.state().job(seat.job);
            let wanted = |on: &&Assignment| {
                let kind = |node| seat.want.demand.kinds.contains(self.draft.kind_of(node));
                let fits = on.placement.slices().iter().all(|slice| kind(slice.node));
                fits && self.draft.has_room_for(&on.placement, grip(job))
            };
            let on = job.assignment.as_ref().filter(wanted).cloned();
            if let Some(on) = &on {
                self.draft.claim(&on.placement, grip(job));
            }
            self.kept[at] = on.is_some();
            self.has.push(on);
        }
    }

    fn seat(&mut self, at: usize) -> Result<(), Reason> {
        let (tenant, class) = (self.job(at).spec.tenant, self.job(at).demand);
        let milli = self.seats[at].want.milli();
        let used = |tenant| self.used.get(&tenant).copied().unwrap_or(0);
        if let Err(reason) = self.view.tenants().within_limits(tenant, milli, used) {
            self.drop(at);
            return Err(reason);
        }
        if self.has[at].is_none() {
            if let Some(reason) = self.failed.get(&class) {
                return Err(*reason);
            }
            self.find(at).inspect_err(|reason| {
                // A leased job is bound to one kind, so its failure says nothing of others.
                if self.seats[at].want.demand.kinds == self.job(at).spec.demand.kinds {
                    self.failed.insert(class, *reason);
                }
            })?;
        }
        for tenant in self.view.tenants().lineage(tenant) {
            *self.used.entry(tenant).or_default() += milli;
        }
        Ok(())
    }

    fn drop(&mut self, at: usize) {
        if let Some(on) = self.has[at].take() {
            self.draft.release(&on.placement, grip(self.view.state().job(self.seats[at].job)));
        }
        self.kept[at] = false;
    }

    /// GPUs for a seat: free ones, or those of seats below, lowest first.
    fn find(&mut self, at: usize) -> Result<(), Reason> {
        let want = self.seats[at].want;
        let start = self.draft.savepoint();
        let mut placed = self.place.place(&want, &self.draft, self.view);
        let below: Vec<usize> =
            (at + 1..self.seats.len()).rev().filter(|low| self.has[*low].is_some()).collect();
        let gpus: u32 =
            below.iter().map(|low| self.has[*low].as_ref().map_or(0, Assignment::gpus)).sum();
        let enough = self.draft.free_of(want.demand.kinds) + gpus >= want.gpus;
        let mut asked = Vec::new();
        let mut below = below.into_iter().filter(|_| enough);
        while placed.is_err() {
            let Some(low) = below.next() else { break };
            let on = self.has[low].as_ref().expect("filtered a few lines above");
            self.draft.release(&on.placement, grip(self.view.state().job(self.seats[low].job)));
            asked.push(low);
            placed = self.place.place(&want, &self.draft, self.view);
        }
        let placement = placed.inspect_err(|_| self.draft.back_to(start))?;
        self.draft.claim(&placement, Grip::from(&want.demand));
        self.has[at] = Some(want.met_by(placement));
        // Whoever was not in the way after all goes on.
        for low in asked.into_iter().rev() {
            let grip = grip(self.view.state().job(self.seats[low].job));
            let on = self.has[low].as_ref().expect("it has not been dropped yet");
            if self.draft.has_room_for(&on.placement, grip) {
                self.draft.claim(&on.placement, grip);
            } else {
                (self.has[low], self.kept[low]) = (None, false);
            }
        }
        Ok(())
    }

    /// Those who are newly placed, once more and all together.
    fn place_together(&mut self) {
        let fresh: Vec<usize> =
            (0..self.seats.len()).filter(|at| self.has[*at].is_some() && !self.kept[*at]).collect();
        for at in &fresh {
            let on = self.has[*at].as_ref().expect("filtered a line above");
            self.draft.release(&on.placement, Grip::from(&self.seats[*at].want.demand));
        }
        let wants: Vec<Want> = fresh.iter().map(|at| self.seats[*at].want).collect();
        let Some(found) = self.place.place_all(&wants, &mut self.draft, self.view) else { return };
        for ((at, placement), want) in fresh.into_iter().zip(found).zip(wants) {
            self.has[at] = Some(want.met_by(placement));
        }
    }
}
