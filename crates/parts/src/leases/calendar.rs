//! A calendar of leases: time is cut into leases of one length, and for each of them it is known
//! how many GPUs of a pool are still free. Leases are counted from time zero.

/// How many GPUs of a pool are free in each lease, from some lease on.
#[derive(Clone, Debug)]
pub struct Calendar {
    first: u64,
    capacity: u32,
    taken: Vec<u32>,
}

impl Calendar {
    /// An empty calendar of a pool of so many GPUs.
    pub fn new(first: u64, capacity: u32) -> Calendar {
        Calendar { first, capacity, taken: Vec::new() }
    }

    /// The first lease it knows of.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// The first lease from which on nothing is taken.
    pub fn end(&self) -> u64 {
        self.first + self.taken.len() as u64
    }

    /// GPUs of the pool.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// GPUs that are free in a lease; none before the first.
    pub fn free(&self, lease: u64) -> u32 {
        let Some(at) = lease.checked_sub(self.first) else { return 0 };
        self.capacity.saturating_sub(self.taken.get(at as usize).copied().unwrap_or(0))
    }

    /// Take GPUs of a lease that are free.
    pub fn take(&mut self, lease: u64, gang: u32) {
        debug_assert!(self.free(lease) >= gang, "lease {lease} has room for {gang}");
        let at = (lease - self.first) as usize;
        if at >= self.taken.len() {
            self.taken.resize(at + 1, 0);
        }
        self.taken[at] += gang;
    }

    /// Give GPUs of a lease back.
    pub fn give(&mut self, lease: u64, gang: u32) {
        self.taken[(lease - self.first) as usize] -= gang;
    }

    /// The latest leases before `until`, so many of them and none of `but`, in which a gang has
    /// room; in order of time.
    pub fn latest(&self, gang: u32, count: usize, until: u64, but: &[u64]) -> Option<Vec<u64>> {
        let free = |lease: &u64| self.free(*lease) >= gang && !but.contains(lease);
        let mut found: Vec<u64> =
            (self.first..until.max(self.first)).rev().filter(free).take(count).collect();
        found.reverse();
        (found.len() == count).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leases_are_found_backwards_from_the_deadline() {
        let mut calendar = Calendar::new(3, 8);
        calendar.take(6, 5);
        assert_eq!(calendar.latest(4, 2, 8, &[]), Some(vec![5, 7]), "lease 6 has 3 left");
        assert_eq!(calendar.latest(4, 2, 8, &[5]), Some(vec![4, 7]));
        assert_eq!(calendar.latest(4, 5, 8, &[]), None, "there are four");
        assert_eq!(calendar.latest(9, 1, 8, &[]), None, "larger than the pool");
        assert_eq!((calendar.free(2), calendar.free(6), calendar.free(99)), (0, 3, 8));
        calendar.give(6, 5);
        assert_eq!(calendar.free(6), 8);
    }
}
