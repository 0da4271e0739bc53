//! Profiling: before a job is promised anything, it runs for a moment on GPUs that are kept for
//! that, so that its speed is known. Jobs of a model and size that was measured before need not
//! (Chronus: Gao et al., SoCC 2021).

use super::ledger::{Ledger, Standing};
use heeler_engine::{Job, Phase, View};
use heeler_model::{JobId, ModelId, Span};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// How jobs are measured.
#[derive(Clone, Copy, Debug, Default)]
pub struct Profile {
    /// GPUs of every kind that are kept for it; none, if nobody is measured.
    pub gpus: u32,
    /// How long a job runs there, for each of its GPUs.
    pub each: Span,
    /// How long it runs there at most.
    pub most: Span,
}

/// Models that were measured, and on how many GPUs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Measured(BTreeSet<(ModelId, u32)>);

fn key(job: &Job) -> (ModelId, u32) {
    (job.spec.model, job.spec.demand.asked())
}

impl Profile {
    /// Whether a job is to be measured: it must fit on what is kept.
    fn takes(&self, job: &Job, measured: &Measured) -> bool {
        let gpus = job.spec.demand.asked();
        let dated = !job.spec.deadlines().is_empty();
        dated && gpus > 0 && gpus <= self.gpus && !measured.0.contains(&key(job))
    }

    /// See who has to be measured, and who was.
    pub(super) fn follow(&self, ledger: &mut Ledger, measured: &mut Measured, view: &View) {
        for (id, entry) in &mut ledger.entries {
            let job = view.state().job(*id);
            let time = self.most.min(Span::from_micros(self.each.micros() * u64::from(key(job).1)));
            if entry.standing == Standing::Arrived && self.takes(job, measured) {
                entry.standing = Standing::Profiled;
            }
            if entry.standing == Standing::Profiled && job.attained_at(view.now()) >= time {
                measured.0.insert(key(job));
            }
        }
        for (id, entry) in &mut ledger.entries {
            let known = || measured.0.contains(&key(view.state().job(*id)));
            if entry.standing == Standing::Profiled && known() {
                entry.standing = Standing::Arrived;
            }
        }
    }

    /// Who is measured now: those who are at it, then in order of submission, one of each model
    /// and size, as many as fit.
    pub(super) fn seats(&self, ledger: &Ledger, view: &View) -> BTreeSet<JobId> {
        let waits = ledger.entries.iter().filter(|(_, entry)| entry.standing == Standing::Profiled);
        let mut jobs: Vec<&Job> = waits.map(|(id, _)| view.state().job(*id)).collect();
        jobs.retain(|job| job.leaving.is_none() && job.phase != Phase::Blocked);
        jobs.sort_by_key(|job| (!job.is_placed(), job.submitted, job.id));
        let (mut left, mut alike, mut seats) = (self.gpus, BTreeSet::new(), BTreeSet::new());
        for job in jobs {
            let gpus = job.spec.demand.asked();
            if gpus <= left && alike.insert(key(job)) {
                left -= gpus;
                seats.insert(job.id);
            }
        }
        seats
    }
}
