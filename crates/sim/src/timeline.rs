//! What the cluster looked like over time, in a fixed number of buckets: when time runs out of
//! them, neighbours are put together and every bucket lasts twice as long.

use heeler_model::Time;
use serde::Serialize;

const BUCKETS: usize = 512;

/// Sums over one bucket: value × microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Bucket {
    /// Thousandths of GPUs in use.
    pub busy_milli_us: f64,
    /// Thousandths of GPUs there.
    pub there_milli_us: f64,
    /// Jobs in the queue.
    pub waiting_us: f64,
    /// Jobs that have GPUs.
    pub running_us: f64,
}

/// The present values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Level {
    /// Thousandths of GPUs in use.
    pub busy_milli: u64,
    /// Thousandths of GPUs there.
    pub there_milli: u64,
    /// Jobs in the queue.
    pub waiting: u64,
    /// Jobs that have GPUs.
    pub running: u64,
}

/// Values over time.
#[derive(Clone, Debug)]
pub struct Timeline {
    width_us: u64,
    buckets: Vec<Bucket>,
    until: Time,
}

impl Default for Timeline {
    fn default() -> Timeline {
        Timeline { width_us: 1_000_000, buckets: Vec::new(), until: Time::ZERO }
    }
}

impl Timeline {
    /// Nothing was seen before a time.
    pub(crate) fn begin(&mut self, now: Time) {
        self.until = now;
    }

    /// The level was this since the last call.
    pub fn add(&mut self, until: Time, level: &Level) {
        while until.micros() > self.width_us * BUCKETS as u64 {
            self.halve();
        }
        while self.until < until {
            let index = (self.until.micros() / self.width_us) as usize;
            let end = ((index as u64 + 1) * self.width_us).min(until.micros());
            let span = (end - self.until.micros()) as f64;
            if self.buckets.len() <= index {
                self.buckets.resize(index + 1, Bucket::default());
            }
            let bucket = &mut self.buckets[index];
            bucket.busy_milli_us += level.busy_milli as f64 * span;
            bucket.there_milli_us += level.there_milli as f64 * span;
            bucket.waiting_us += level.waiting as f64 * span;
            bucket.running_us += level.running as f64 * span;
            self.until = Time::from_micros(end);
        }
    }

    fn halve(&mut self) {
        self.width_us *= 2;
        let pairs = self.buckets.chunks(2).map(|pair| {
            let mut sum = pair[0];
            for other in &pair[1..] {
                sum.busy_milli_us += other.busy_milli_us;
                sum.there_milli_us += other.there_milli_us;
                sum.waiting_us += other.waiting_us;
                sum.running_us += other.running_us;
            }
            sum
        });
        self.buckets = pairs.collect();
    }

    /// How long a bucket lasts, microseconds.
    pub fn width_us(&self) -> u64 {
        self.width_us
    }

    /// The sums, bucket by bucket.
    pub fn buckets(&self) -> &[Bucket] {
        &self.buckets
    }

    /// Everything together.
    pub fn total(&self) -> Bucket {
        self.buckets.iter().fold(Bucket::default(), |mut sum, bucket| {
            sum.busy_milli_us += bucket.busy_milli_us;
            sum.there_milli_us += bucket.there_milli_us;
            sum.waiting_us += bucket.waiting_us;
            sum.running_us += bucket.running_us;
            sum
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_survive_coarsening() {
        let mut timeline = Timeline::default();
        let mut at = 0;
        let mut expected = 0.0;
        for step in 0..2000u64 {
            let span = 1 + step * 7919 % 5_000_000;
            at += span;
            let level = Level { busy_milli: step % 13 * 1000, ..Level::default() };
            expected += level.busy_milli as f64 * span as f64;
            timeline.add(Time::from_micros(at), &level);
        }
        assert!(timeline.buckets().len() <= BUCKETS);
        assert!((timeline.total().busy_milli_us - expected).abs() < 1e-6 * expected);
    }
}
