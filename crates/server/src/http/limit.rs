//! How often somebody may ask: a bucket for each, refilled steadily.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Instant;

/// Buckets of those who asked lately.
pub(crate) struct Buckets {
    rate: f64,
    size: f64,
    each: Mutex<HashMap<Key, (f64, Instant)>>,
}

/// Whose bucket.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// A user of this machine.
    User(u32),
    /// Whoever holds a token.
    Token(std::sync::Arc<str>),
    /// Somebody at an address.
    Address(std::net::IpAddr),
}

/// When so many are known, full buckets are forgotten.
const MANY: usize = 4_096;

impl Buckets {
    /// Buckets that hold so much and are refilled so fast.
    pub(crate) fn new(rate: f64, size: f64) -> Buckets {
        Buckets { rate, size, each: Mutex::default() }
    }

    /// Take so much out of somebody's bucket, if it is there.
    pub(crate) fn take(&self, key: &Key, cost: f64) -> bool {
        self.take_at(key, cost, Instant::now())
    }

    fn take_at(&self, key: &Key, cost: f64, now: Instant) -> bool {
        let mut each = self.each.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if each.len() >= MANY && !each.contains_key(key) {
            each.retain(|_, (left, at)| self.refilled(*left, *at, now) < self.size);
        }
        let (left, at) = each.entry(key.clone()).or_insert((self.size, now));
        *left = self.refilled(*left, *at, now);
        *at = now;
        // What costs more than a bucket holds takes a full one.
        let cost = cost.min(self.size);
        let enough = *left >= cost;
        if enough {
            *left -= cost;
        }
        enough
    }

    fn refilled(&self, left: f64, at: Instant, now: Instant) -> f64 {
        (left + now.saturating_duration_since(at).as_secs_f64() * self.rate).min(self.size)
    }
}

/// How many connections each has.
#[derive(Default)]
pub(crate) struct Counts(Mutex<HashMap<Key, usize>>);

impl Counts {
    /// One more, unless there are so many already.
    pub(crate) fn enter(&self, key: &Key, most: usize) -> bool {
        let mut counts = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let count = counts.entry(key.clone()).or_default();
        let fits = *count < most;
        if fits {
            *count += 1;
        }
        fits
    }

    /// One less.
    pub(crate) fn leave(&self, key: &Key) {
        let mut counts = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(count) = counts.get_mut(key) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                counts.remove(key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_bucket_empties_and_fills_and_is_nobody_elses() {
        let (buckets, start) = (Buckets::new(2.0, 3.0), Instant::now());
        let (ann, bob) = (Key::User(1), Key::User(2));
        let later = |ms| start + Duration::from_millis(ms);
        for _ in 0..3 {
            assert!(buckets.take_at(&ann, 1.0, later(0)));
        }
        assert!(!buckets.take_at(&ann, 1.0, later(400)));
        assert!(buckets.take_at(&bob, 1.0, later(400)));
        assert!(buckets.take_at(&ann, 1.0, later(600)));
        assert!(!buckets.take_at(&ann, 1.0, later(600)));
        assert!(buckets.take_at(&ann, 1_000.0, later(60_000)), "a full bucket is always enough");
        assert!(!buckets.take_at(&ann, 1.0, later(60_000)));
    }

    #[test]
    fn many_strangers_do_not_fill_the_memory() {
        let (buckets, start) = (Buckets::new(1_000.0, 1.0), Instant::now());
        for number in 0..20_000_u32 {
            let now = start + Duration::from_millis(u64::from(number) * 2);
            buckets.take_at(&Key::User(number), 1.0, now);
        }
        assert!(buckets.each.lock().unwrap().len() <= MANY);
    }

    #[test]
    fn connections_are_counted_down_again() {
        let (counts, key) = (Counts::default(), Key::User(7));
        assert!(counts.enter(&key, 2) && counts.enter(&key, 2) && !counts.enter(&key, 2));
        counts.leave(&key);
        assert!(counts.enter(&key, 2));
        counts.leave(&key);
        counts.leave(&key);
        assert!(counts.0.lock().unwrap().is_empty());
    }
}
