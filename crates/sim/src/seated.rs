//! What jobs on parts of GPUs have, by job: asked for many times in every decision that moves
//! some, so each is found without a search.

use heeler_model::{Assignment, JobId};

const NOWHERE: u32 = u32::MAX;

/// Assignments by job.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seated {
    /// Where that of each job is kept, by its number.
    places: Vec<u32>,
    kept: Vec<Option<Assignment>>,
    vacant: Vec<u32>,
}

impl Seated {
    fn place(&self, job: JobId) -> Option<usize> {
        let place = *self.places.get(job.index())?;
        (place != NOWHERE).then_some(place as usize)
    }

    pub(crate) fn has(&self, job: JobId) -> bool {
        self.place(job).is_some()
    }

    pub(crate) fn get(&self, job: JobId) -> Option<&Assignment> {
        self.kept[self.place(job)?].as_ref()
    }

    pub(crate) fn insert(&mut self, job: JobId, on: Assignment) {
        if let Some(place) = self.place(job) {
            self.kept[place] = Some(on);
            return;
        }
        if self.places.len() <= job.index() {
            self.places.resize(job.index() + 1, NOWHERE);
        }
        let place = self.vacant.pop().unwrap_or_else(|| {
            self.kept.push(None);
            (self.kept.len() - 1) as u32
        });
        self.kept[place as usize] = Some(on);
        self.places[job.index()] = place;
    }

    pub(crate) fn remove(&mut self, job: JobId) -> Option<Assignment> {
        let place = self.place(job)?;
        self.places[job.index()] = NOWHERE;
        self.vacant.push(place as u32);
        self.kept[place].take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heeler_model::{NodeId, Placement, Slots};

    #[test]
    fn places_are_used_again() {
        let on = |node| Assignment::whole(Placement::on(NodeId(node), Slots::one(0)));
        let mut seated = Seated::default();
        seated.insert(JobId(7), on(1));
        seated.insert(JobId(3), on(2));
        assert_eq!(seated.remove(JobId(7)), Some(on(1)));
        assert_eq!((seated.remove(JobId(7)), seated.get(JobId(9))), (None, None));
        seated.insert(JobId(9), on(3));
        seated.insert(JobId(3), on(4));
        assert_eq!((seated.get(JobId(9)), seated.get(JobId(3))), (Some(&on(3)), Some(&on(4))));
        assert!(seated.has(JobId(3)) && !seated.has(JobId(7)) && seated.kept.len() == 2);
    }
}
