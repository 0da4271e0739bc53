//! Counts of whole numbers in buckets that grow with them: 64 to every doubling, so that a value
//! read back is within one part in 128 of the true one. Only the buckets between the smallest and
//! the largest value take memory.

use serde::{Deserialize, Serialize};

/// Buckets to every doubling, as a power of two. Numbers below 2^7 have a bucket each.
const FINE: u32 = 6;

/// How often which values occurred.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    /// The bucket that `counts` begins with.
    first: u32,
    counts: Vec<u64>,
    count: u64,
    sum: u64,
    max: u64,
}

/// The bucket of a value.
#[inline]
fn bucket(value: u64) -> u32 {
    let shift = (63 - (value | 1).leading_zeros()).saturating_sub(FINE);
    (shift << FINE) + (value >> shift) as u32
}

/// The value in the middle of a bucket.
fn middle(bucket: u32) -> u64 {
    let shift = (bucket >> FINE).saturating_sub(1);
    let low = u64::from(bucket - (shift << FINE)) << shift;
    low + ((1u64 << shift) >> 1)
}

impl Histogram {
    /// Count a value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.add_many(value, 1);
    }

    /// Count a value several times.
    #[inline]
    pub fn add_many(&mut self, value: u64, times: u64) {
        self.count += times;
        self.sum = self.sum.saturating_add(value.saturating_mul(times));
        self.max = self.max.max(value);
        let index = bucket(value).wrapping_sub(self.first) as usize;
        match self.counts.get_mut(index) {
            Some(count) => *count += times,
            None => self.grow(bucket(value), times),
        }
    }

    #[cold]
    fn grow(&mut self, bucket: u32, times: u64) {
        if self.counts.is_empty() {
            self.first = bucket;
        }
        if bucket < self.first {
            let more = (self.first - bucket) as usize;
            self.counts.splice(0..0, std::iter::repeat_n(0, more));
            self.first = bucket;
        }
        let index = (bucket - self.first) as usize;
        if index >= self.counts.len() {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] += times;
    }

    /// Add what another has counted.
    pub fn merge(&mut self, other: &Histogram) {
        for (index, times) in other.counts.iter().enumerate().filter(|(_, times)| **times > 0) {
            let bucket = other.first + index as u32;
            match self.counts.get_mut(bucket.wrapping_sub(self.first) as usize) {
                Some(count) => *count += times,
                None => self.grow(bucket, *times),
            }
        }
        self.count += other.count;
        self.sum = self.sum.saturating_add(other.sum);
        self.max = self.max.max(other.max);
    }

    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their exact mean; zero if there are none.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// Their exact maximum; zero if there are none.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The value that this part of them (between zero and one) does not exceed, within one part in
    /// 128; none if there are none.
    pub fn quantile(&self, part: f64) -> Option<u64> {
        let rank = ((part * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        for (index, times) in self.counts.iter().enumerate() {
            seen += times;
            if seen >= rank {
                return Some(middle(self.first + index as u32).min(self.max));
            }
        }
        None
    }

    /// How many values lie in buckets that end at or below this one: those at most `value`, within
    /// one part in 128 of it.
    pub fn at_most(&self, value: u64) -> u64 {
        if value >= self.max {
            return self.count;
        }
        let buckets = (bucket(value) + 1).saturating_sub(self.first) as usize;
        self.counts.iter().take(buckets).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_are_exact_and_large_ones_nearly() {
        for value in 0..128 {
            assert_eq!(middle(bucket(value)), value);
        }
        let mut value: u64 = 128;
        while value < 1 << 62 {
            let back = middle(bucket(value)) as f64;
            assert!((back / value as f64 - 1.0).abs() <= 1.0 / 128.0, "{value} became {back}");
            assert!(bucket(value + 1) - bucket(value) <= 1);
            value += value / 50 + 1;
        }
    }

    #[test]
    fn quantiles_of_a_thousand() {
        let mut histogram = Histogram::default();
        for value in (1..=1_000).rev() {
            histogram.add(value * 1_000);
        }
        assert_eq!((histogram.count(), histogram.max()), (1_000, 1_000_000));
        assert_eq!(histogram.mean(), 500_500.0);
        for (part, expected) in [(0.0, 1_000.0), (0.5, 500_000.0), (0.99, 990_000.0), (1.0, 1e6)] {
            let got = histogram.quantile(part).expect("it is not empty") as f64;
            assert!((got / expected - 1.0).abs() < 0.01, "{part}: {got}");
        }
        assert_eq!(Histogram::default().quantile(0.5), None);
        let below = histogram.at_most(250_000) as f64;
        assert!((below / 250.0 - 1.0).abs() < 0.02, "{below}");
        assert_eq!(histogram.at_most(1_000_000), 1_000);
    }

    #[test]
    fn merging_is_counting_all() {
        let (mut left, mut right, mut all) =
            (Histogram::default(), Histogram::default(), Histogram::default());
        for value in [5_u64, 70_000, 3, 1 << 40, 900] {
            if value % 2 == 0 {
                left.add(value);
            } else {
                right.add(value);
            }
            all.add(value);
        }
        left.merge(&right);
        assert_eq!(left, all);
    }
}
