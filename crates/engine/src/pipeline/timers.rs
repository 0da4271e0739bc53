//! A time for each of some jobs, earliest first.

use crate::state::JobTable;
use heeler_model::{JobId, Time};
use std::collections::BTreeSet;

/// At most one time for each job.
#[derive(Clone, Debug, Default)]
pub(super) struct Timers {
    sorted: BTreeSet<(Time, JobId)>,
    /// By the job's place in the job table.
    of: Vec<Option<Time>>,
}

impl Timers {
    /// Set, move or clear the time of a job.
    pub(super) fn set(&mut self, jobs: &JobTable, job: JobId, at: Option<Time>) {
        let Some(place) = jobs.place(job) else { return };
        if at.is_none() && self.of.get(place).is_none_or(Option::is_none) {
            return;
        }
        if self.of.len() <= place {
            self.of.resize(place + 1, None);
        }
        if let Some(old) = std::mem::replace(&mut self.of[place], at) {
            self.sorted.remove(&(old, job));
        }
        if let Some(at) = at {
            self.sorted.insert((at, job));
        }
    }

    /// These times and no others.
    pub(super) fn keep(&mut self, jobs: &JobTable, times: Vec<(Time, JobId)>) {
        *self = Timers::default();
        for (at, job) in times {
            self.set(jobs, job, Some(at));
        }
    }

    /// Forget those that are not later than this.
    pub(super) fn pass(&mut self, jobs: &JobTable, now: Time) {
        let past = self.sorted.iter().take_while(|(at, _)| *at <= now);
        let past: Vec<JobId> = past.map(|(_, job)| *job).collect();
        past.into_iter().for_each(|job| self.set(jobs, job, None));
    }

    /// The time of a job.
    pub(super) fn of(&self, jobs: &JobTable, job: JobId) -> Option<Time> {
        *self.of.get(jobs.place(job)?)?
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// The earliest.
    pub(super) fn first(&self) -> Option<Time> {
        self.sorted.first().map(|(at, _)| *at)
    }

    /// All of them, earliest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Time, JobId)> {
        self.sorted.iter().copied()
    }
}
