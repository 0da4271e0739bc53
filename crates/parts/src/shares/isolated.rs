//! When jobs would end if everybody had an equal part of every kind of GPU for itself, as Gavel
//! reckons it for finish-time fairness: what was done counts at the rates of its time.

use heeler_engine::Job;
use heeler_model::JobId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a job would have needed so far.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Past {
    /// Seconds for what was done when this was last settled …
    time_s: f64,
    /// … when so much was left …
    left: f64,
    /// … and the rate since then.
    rate: f64,
}

/// What all jobs would have needed so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Isolated {
    jobs: BTreeMap<JobId, Past>,
}

/// The rate of a job with an equal part of every kind, among so many jobs.
pub(super) fn isolated_rate(rates: &[f64], places: &[f64], gpus: f64, jobs: usize) -> f64 {
    let part = |places: &f64| places / (jobs as f64 * gpus);
    let whole: f64 = places.iter().map(part).sum();
    let rate: f64 = rates.iter().zip(places).map(|(rate, places)| rate * part(places)).sum();
    rate / whole.max(1.0)
}

impl Isolated {
    /// Add what was done since the last time, and go on with new rates. Whoever left is forgotten.
    pub(super) fn settle(&mut self, jobs: &[&Job], now: impl Fn(&Job) -> (f64, f64)) {
        let mut next = BTreeMap::new();
        for job in jobs {
            let (left, rate) = now(job);
            let past = self.jobs.get(&job.id);
            let more_s = past.map_or(0.0, |past| {
                let time_s = (past.left - left).max(0.0) / past.rate.max(f64::MIN_POSITIVE);
                past.time_s + if past.rate > 0.0 { time_s } else { 0.0 }
            });
            next.insert(job.id, Past { time_s: more_s, left, rate });
        }
        self.jobs = next;
    }

    /// Seconds that a job would need in all, if so much is left to do.
    pub(super) fn whole_s(&self, job: &Job, left: f64) -> Option<f64> {
        let past = self.jobs.get(&job.id).filter(|past| past.rate > 0.0)?;
        Some(past.time_s + left / past.rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_equal_part_is_at_most_everything() {
        assert_eq!(isolated_rate(&[4.0, 1.0], &[2.0, 2.0], 1.0, 8), 1.25);
        assert_eq!(isolated_rate(&[4.0, 1.0], &[2.0, 2.0], 1.0, 1), 2.5, "nobody is in two places");
        assert_eq!(isolated_rate(&[4.0, 1.0], &[2.0, 2.0], 2.0, 8), 0.625, "of a gang of two");
    }
}
