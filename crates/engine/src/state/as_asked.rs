//! A job that runs is given what it asked for of the GPUs it is on, without a stop: only the books
//! change.

use super::State;
use crate::fleet::Grip;
use heeler_model::JobId;

impl State {
    /// Let a job have no more CPUs and memory beside its GPUs than it asked for.
    pub(crate) fn unfeed(&mut self, id: JobId) {
        let job = self.jobs.get_mut(id).expect("the job is not done");
        let on = job.assignment.as_mut().expect("a fed job has an assignment");
        let (fed, placement) = (Grip::of(&job.spec.demand, on), on.placement.clone());
        on.portion = None;
        let asked = Grip::of(&job.spec.demand, on);
        self.fleet.get_mut().release_all(&placement, fed);
        self.fleet.get_mut().claim_all(&placement, asked);
    }

    /// Let a job have as much of each of its GPUs as it asked for, if nobody has the rest and its
    /// tenants may have so much. Says whether it has.
    pub(crate) fn unshare(&mut self, id: JobId) -> bool {
        let now = self.now;
        let job = self.jobs.get_mut(id).expect("the job is not done");
        let on = job.assignment.clone().expect("a job that shares GPUs has an assignment");
        let (asked, tenant) = (job.spec.demand.share, job.spec.tenant);
        let rest = asked.0.saturating_sub(on.share.0);
        let more = i64::from(rest) * i64::from(on.gpus());
        let used = |tenant| self.tenants.usage(tenant).milli as i64;
        let fleet = self.fleet.get_mut();
        let free =
            on.placement.slices().iter().all(|slice| {
                slice.slots.iter().all(|slot| fleet.left_of(slice.node, slot) >= rest)
            });
        if !free || self.tenants.within_limits(tenant, more, used).is_err() {
            return false;
        }
        if job.is_running() {
            // What it had so far it had with the share that it had.
            job.book(now, on.milli());
            job.since = now;
        }
        let before = Grip::of(&job.spec.demand, &on);
        job.assignment.iter_mut().for_each(|on| on.share = asked);
        fleet.release_all(&on.placement, before);
        fleet.claim_all(&on.placement, Grip { share: asked, ..before });
        self.tenants.took(tenant, more.unsigned_abs());
        true
    }
}
