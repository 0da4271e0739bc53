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

    /// The earliest.
    pub(super) fn first(&self) -> Option<Time> {
        self.sorted.first().map(|(at, _)| *at)
    }

    /// All of them, earliest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Time, JobId)> {
        self.sorted.iter().copied()
    }
}
