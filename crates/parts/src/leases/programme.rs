//! Who has which lease: of all ways to keep every promise, one of the highest value, and among
//! those the one that uses the most GPUs of the first lease, or the fewest. Chronus (Gao et al.,
//! SoCC 2021) has this as an integer programme. It is solved here by moving leases of a plan that
//! is already good, so that no promise is ever at risk, within a limit of moves looked at.

use super::calendar::Calendar;

/// A time before which a job's leases may be over, and what that is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The lease before which they must be over.
    pub until: u64,
    /// What that is worth.
    pub value: i64,
}

/// A job with its leases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// GPUs at once.
    pub gang: u32,
    /// Its leases, in order of time.
    pub leases: Vec<u64>,
    /// Its deadlines, earliest first.
    pub choices: Vec<Choice>,
    /// The one its leases keep.
    pub chosen: usize,
    /// Whether it comes first among equals, such as one that runs.
    pub first: bool,
}

/// What to do with the first lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstLease {
    /// Use as much of it as possible, so that promises are kept early.
    Fill,
    /// Use as little of it as possible, so that it is left to others.
    Spare,
}

/// Holders and the calendar they are entered in.
struct Moves<'a> {
    calendar: &'a mut Calendar,
    holders: &'a mut [Holder],
    /// Moves that may still be looked at.
    left: u32,
}

/// Move leases about until the plan is as good as it gets. The leases of all holders are taken in
/// the calendar before and after.
pub fn improve(calendar: &mut Calendar, holders: &mut [Holder], aim: FirstLease, limit: u32) {
    let mut moves = Moves { calendar, holders, left: limit };
    moves.raise_values();
    match aim {
        FirstLease::Fill => moves.fill(),
        FirstLease::Spare => moves.spare(),
    }
}

impl Holder {
    fn until(&self) -> u64 {
        self.choices[self.chosen].until
    }

    fn has(&self, lease: u64) -> bool {
        self.leases.binary_search(&lease).is_ok()
    }
}

impl Moves<'_> {
    /// One more move is looked at, if that is allowed.
    fn look(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        self.left > 0
    }

    fn shift(&mut self, at: usize, from: u64, to: u64) {
        let holder = &mut self.holders[at];
        self.calendar.give(from, holder.gang);
        self.calendar.take(to, holder.gang);
        holder.leases.retain(|lease| *lease != from);
        let place = holder.leases.partition_point(|lease| *lease < to);
        holder.leases.insert(place, to);
    }

    /// Let each have the best of its deadlines that it can keep where others are.
    fn raise_values(&mut self) {
        for at in 0..self.holders.len() {
            let holder = self.holders[at].clone();
            let now = holder.choices[holder.chosen].value;
            let mut better: Vec<usize> =
                (0..holder.choices.len()).filter(|c| holder.choices[*c].value > now).collect();
            better.sort_by_key(|choice| std::cmp::Reverse(holder.choices[*choice].value));
            for choice in better {
                let until = holder.choices[choice].until;
                let late: Vec<u64> =
                    holder.leases.iter().copied().filter(|lease| *lease >= until).collect();
                let found = self.calendar.latest(holder.gang, late.len(), until, &holder.leases);
                let Some(found) = found.filter(|_| self.look()) else { continue };
                for (from, to) in late.into_iter().zip(found) {
                    self.shift(at, from, to);
                }
                self.holders[at].chosen = choice;
                break;
            }
        }
    }

    /// Those who have leases but not the first: large gangs, then those who come first among
    /// equals, then the least slack.
    fn outside(&self) -> Vec<usize> {
        let first = self.calendar.first();
        let out = |at: &usize| {
            let holder = &self.holders[*at];
            !holder.leases.is_empty() && !holder.has(first)
        };
        let mut order: Vec<usize> = (0..self.holders.len()).filter(out).collect();
        order.sort_by_key(|at| {
            let holder = &self.holders[*at];
            let slack = holder.until() - holder.leases.len() as u64;
            (std::cmp::Reverse(holder.gang), !holder.first, slack)
        });
        order
    }

    fn fill(&mut self) {
        let first = self.calendar.first();
        for at in self.outside() {
            let gang = self.holders[at].gang;
            if self.calendar.free(first) < gang && !self.swap_out(gang) {
                continue;
            }
            let last = *self.holders[at].leases.last().expect("it has leases");
            self.shift(at, last, first);
        }
    }

    /// Move smaller gangs out of the first lease so that a larger one has room there.
    fn swap_out(&mut self, gang: u32) -> bool {
        let first = self.calendar.first();
        let missing = gang - self.calendar.free(first);
        let mut smaller: Vec<usize> = (0..self.holders.len())
            .filter(|at| self.holders[*at].gang < gang && self.holders[*at].has(first))
            .collect();
        smaller.sort_by_key(|at| std::cmp::Reverse(self.holders[*at].gang));
        let (mut moved, mut freed) = (Vec::new(), 0);
        for at in smaller {
            let size = self.holders[at].gang;
            if freed + size >= gang || freed >= missing || !self.look() {
                continue;
            }
            if let Some(to) = self.later(at) {
                self.shift(at, first, to);
                moved.push((at, to));
                freed += size;
            }
        }
        if freed < missing {
            for (at, from) in moved.into_iter().rev() {
                self.shift(at, from, first);
            }
            return false;
        }
        true
    }

    /// The latest lease that a holder could have instead of the first.
    fn later(&self, at: usize) -> Option<u64> {
        let holder = &self.holders[at];
        let found = self.calendar.latest(holder.gang, 1, holder.until(), &holder.leases);
        found.map(|found| found[0]).filter(|lease| *lease > self.calendar.first())
    }

    fn spare(&mut self) {
        let first = self.calendar.first();
        let mut holders: Vec<usize> =
            (0..self.holders.len()).filter(|at| self.holders[*at].has(first)).collect();
        holders
            .sort_by_key(|at| (std::cmp::Reverse(self.holders[*at].gang), self.holders[*at].first));
        for at in holders {
            if let Some(to) = self.later(at).or_else(|| self.make_room(at)) {
                self.shift(at, first, to);
            }
        }
    }

    /// Free a lease for a holder by moving one of another's to where there is room.
    fn make_room(&mut self, at: usize) -> Option<u64> {
        let (first, holder) = (self.calendar.first(), self.holders[at].clone());
        for to in (first + 1..holder.until()).rev().filter(|lease| !holder.has(*lease)) {
            for other in 0..self.holders.len() {
                let enough = self.calendar.free(to) + self.holders[other].gang >= holder.gang;
                if other == at || !enough || !self.holders[other].has(to) {
                    continue;
                }
                if !self.look() {
                    return None;
                }
                if let Some(aside) = self.later(other).filter(|aside| *aside != to) {
                    self.shift(other, to, aside);
                    return Some(to);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
