//! For how long jobs that were started may not be disturbed. It counts from when they work: were
//! they stopped while they are still being started, they could take turns without any of them ever
//! getting on.

use super::Pipeline;
use super::walk::Walk;
use crate::state::Job;
use crate::view::View;
use heeler_model::{JobId, Span};

impl Pipeline {
    /// Take over the lease that a job was given, or none. Whoever another recipe has placed has a
    /// lease from now on.
    pub(super) fn lease_of(&mut self, id: JobId, view: &View, placed: bool) {
        // What is over has been decided on.
        let lease = view.jobs().get(id).and_then(|job| job.lease);
        let lease = lease.filter(|until| placed && *until > view.now());
        let new = Some(self.parts.preempt.lease()).filter(|new| !new.is_zero() && self.takes_over);
        let new = new.map(|new| view.now() + new);
        self.leases.set(view.jobs(), id, new.or(lease));
    }

    /// A job with a lease begins to run: its lease begins when it works.
    pub(super) fn lease_anew(&mut self, id: JobId, view: &View) {
        let lease = self.parts.preempt.lease();
        let has = |job: &Job| job.lease.is_some() || self.leases.of(view.jobs(), id).is_some();
        let leased = view.jobs().get(id).filter(|job| has(job) && lease > Span::ZERO);
        let until = leased.map(|job| job.progress.from.max(view.now()) + lease);
        if until.is_some() {
            self.leases.set(view.jobs(), id, until);
        }
    }
}

impl Walk<'_> {
    /// Whether a job may not be disturbed yet.
    pub(super) fn is_leased(&self, job: &Job) -> bool {
        let starts = job.lease.is_some() && job.is_placed() && !job.is_running();
        let until = self.pipe.leases.of(self.view.jobs(), job.id);
        starts || until.is_some_and(|until| until > self.now())
    }
}
