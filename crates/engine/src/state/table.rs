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
    /// Numbers of jobs that are not done, so that going through them costs nothing for those that
    /// are.
    alive: Alive,
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
        self.alive.insert(id);
        self.len += 1;
    }

    pub(crate) fn remove(&mut self, id: JobId) -> Option<Job> {
        let place = std::mem::replace(self.places.get_mut(id.index())?, NOWHERE);
        let job = self.jobs.get_mut(place as usize)?.take()?;
        self.alive.remove(id.index());
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
        self.alive.iter().filter_map(|number| self.jobs[self.places[number] as usize].as_ref())
    }

    /// Places are below this.
    pub fn places(&self) -> usize {
        self.jobs.len()
    }
}

/// A growing set of numbers: a bit for each, and one for each word of bits that is not zero.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Alive {
    bits: Vec<u64>,
    words: Vec<u64>,
}

impl Alive {
    fn insert(&mut self, number: usize) {
        let word = number / 64;
        if self.bits.len() <= word {
            self.bits.resize(word + 1, 0);
            self.words.resize(word / 64 + 1, 0);
        }
        self.bits[word] |= 1 << (number % 64);
        self.words[word / 64] |= 1 << (word % 64);
    }

    fn remove(&mut self, number: usize) {
        let word = number / 64;
        self.bits[word] &= !(1 << (number % 64));
        if self.bits[word] == 0 {
            self.words[word / 64] &= !(1 << (word % 64));
        }
    }

    /// Its members in order.
    fn iter(&self) -> impl Iterator<Item = usize> {
        let words = self.words.iter().enumerate().flat_map(|(at, bits)| ones(at, *bits));
        words.flat_map(|word| ones(word, self.bits[word]))
    }
}

/// Which bits of a word are set, counted on from those of the words before it.
fn ones(word: usize, bits: u64) -> impl Iterator<Item = usize> {
    let rest = std::iter::successors(Some(bits), |left| Some(left & left.wrapping_sub(1)));
    let ones = rest.take_while(|left| *left != 0);
    ones.map(move |left| word * 64 + left.trailing_zeros() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn who_is_alive_is_found_in_order(
            steps in prop::collection::vec((any::<bool>(), 0usize..20_000), 0..200),
        ) {
            let (mut alive, mut model) = (Alive::default(), BTreeSet::new());
            for (insert, number) in steps {
                match insert || !model.contains(&number) {
                    true => drop((alive.insert(number), model.insert(number))),
                    false => drop((alive.remove(number), model.remove(&number))),
                }
                prop_assert!(alive.iter().eq(model.iter().copied()));
            }
        }
    }
}
