//! Reservations that reach ahead: which GPUs are promised to whom, from when until when.

use heeler_model::{JobId, NodeId, Reservation, Slots, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Reservations in the order they were made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Calendar {
    reservations: Vec<Reservation>,
}

impl From<Vec<Reservation>> for Calendar {
    fn from(reservations: Vec<Reservation>) -> Calendar {
        Calendar { reservations }
    }
}

impl Calendar {
    /// Enter a reservation.
    pub fn reserve(&mut self, reservation: Reservation) {
        self.reservations.push(reservation);
    }

    /// The calendar as a list.
    pub fn into_reservations(self) -> Vec<Reservation> {
        self.reservations
    }

    /// All reservations, in the order they were made.
    pub fn iter(&self) -> impl Iterator<Item = &Reservation> {
        self.reservations.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.reservations.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.reservations.is_empty()
    }

    /// The reservation of a job.
    pub fn of(&self, job: JobId) -> Option<&Reservation> {
        self.reservations.iter().find(|reservation| reservation.job == job)
    }

    /// GPUs that are promised to somebody at some time in `from..until`, by node.
    pub fn taken(&self, from: Time, until: Time) -> BTreeMap<NodeId, Slots> {
        let mut taken: BTreeMap<NodeId, Slots> = BTreeMap::new();
        for reservation in self.overlapping(from, until) {
            for slice in reservation.placement.slices() {
                let slots = taken.entry(slice.node).or_default();
                *slots = slots.or(slice.slots);
            }
        }
        taken
    }

    /// Reservations for some time in `from..until`.
    pub fn overlapping(
        &self,
        from: Time,
        until: Time,
    ) -> impl Iterator<Item = &Reservation> + Clone {
        self.reservations.iter().filter(move |r| r.from < until && from < r.until)
    }

    /// Times after `now` at which reserved GPUs come free again.
    pub fn ends_after(&self, now: Time) -> impl Iterator<Item = Time> {
        self.reservations.iter().map(|r| r.until).filter(move |until| *until > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heeler_model::Placement;

    #[test]
    fn only_overlapping_times_are_taken() {
        let mut calendar = Calendar::default();
        let reserve = |calendar: &mut Calendar, job, from, until, slots| {
            calendar.reserve(Reservation {
                job: JobId(job),
                from: Time::from_secs(from),
                until: Time::from_secs(until),
                placement: Placement::on(NodeId(0), Slots(slots)),
            });
        };
        reserve(&mut calendar, 1, 10, 20, 0b0011);
        reserve(&mut calendar, 2, 20, 30, 0b0110);
        let taken = |from, until| {
            let taken = calendar.taken(Time::from_secs(from), Time::from_secs(until));
            taken.get(&NodeId(0)).copied().unwrap_or_default().0
        };
        assert_eq!(taken(0, 10), 0);
        assert_eq!(taken(5, 11), 0b0011);
        assert_eq!(taken(19, 21), 0b0111);
        assert_eq!(taken(30, 99), 0);
        assert_eq!(calendar.of(JobId(2)).map(|r| r.from), Some(Time::from_secs(20)));
    }
}
