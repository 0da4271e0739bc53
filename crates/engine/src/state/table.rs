//! Jobs by number. Only jobs that are not done take room; of the others four bytes stay.

use super::job::Job;
use heeler_model::JobId;
use serde::{Deserialize, Serialize};

const NOWHERE: u32 = u32::MAX;

/// The jobs that are not done.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct JobTable {
    /// Where each job is kept, by job number.
    places: Vec<u32>,
    jobs: Vec<Option<Job>>,
    vacant: Vec<u32>,
    len: usize,
}

impl JobTable {
    /// How many jobs are not done.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether all jobs are done.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The job, if it is known and not done.
    pub fn get(&self, id: JobId) -> Option<&Job> {
        match self.places.get(id.index()) {
            Some(&place) if place != NOWHERE => self.jobs[place as usize].as_ref(),
            _ => None,
        }
    }

    /// The job, to change it.
    pub fn get_mut(&mut self, id: JobId) -> Option<&mut Job> {
        match self.places.get(id.index()) {
            Some(&place) if place != NOWHERE => self.jobs[place as usize].as_mut(),
            _ => None,
        }
    }

    /// Whether the number was ever used.
    pub fn knows(&self, id: JobId) -> bool {
        id.index() < self.places.len()
    }

    /// How many numbers were used.
    pub fn used(&self) -> u32 {
        self.places.len() as u32
    }

    /// Count so many numbers as used.
    pub(crate) fn reserve_numbers(&mut self, used: u32) {
        self.places.resize(used as usize, NOWHERE);
    }

    pub(crate) fn insert(&mut self, job: Job) {
        let id = job.id.index();
        if self.places.len() <= id {
            self.places.resize(id + 1, NOWHERE);
        }
        let place = self.vacant.pop().unwrap_or_else(|| {
            self.jobs.push(None);
            (self.jobs.len() - 1) as u32
        });
        self.jobs[place as usize] = Some(job);
        self.places[id] = place;
        self.len += 1;
    }

    pub(crate) fn remove(&mut self, id: JobId) -> Option<Job> {
        let place = std::mem::replace(self.places.get_mut(id.index())?, NOWHERE);
        let job = self.jobs.get_mut(place as usize)?.take()?;
        self.vacant.push(place);
        self.len -= 1;
        Some(job)
    }

    /// A small number that is the job's own while it is not done, for tables beside this one.
    pub fn place(&self, id: JobId) -> Option<usize> {
        self.places.get(id.index()).filter(|place| **place != NOWHERE).map(|place| *place as usize)
    }

    /// The jobs that are not done, by number.
    pub fn iter(&self) -> impl Iterator<Item = &Job> {
        self.places
            .iter()
            .filter(|place| **place != NOWHERE)
            .filter_map(|place| self.jobs[*place as usize].as_ref())
    }
}
