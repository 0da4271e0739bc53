//! The Gittins index over attained service, as in Tiresias' 2D-Gittins (Gu et al., NSDI 2019,
//! §4.2): among jobs of one queue, first the one whose chance to finish soon is largest for the
//! service that takes. The distribution of service is learnt from jobs that have finished.
//!
//! For service `a` and a further service `d`, the index is the largest value over all `d` of
//! P(S − a ≤ d | S > a) / E[min(S − a, d) | S > a].

use super::mlfq::Served;
use heeler_engine::{Job, Key, Line, Note, Order, Service, View};
use heeler_model::{JobId, Span, Time};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// So many steps the index has: it is looked up where service passes one of these quantiles.
const STEPS: usize = 64;
/// So many finished jobs are remembered.
const REMEMBERED: usize = 2000;
/// The index is computed anew after so many finished jobs.
const REFRESH: u32 = 1000;

/// The index as a function of attained service, computed from a sample of past jobs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GittinsIndex {
    /// Service in microseconds at which the index changes, and its value from there on.
    steps: Vec<(u64, f64)>,
}

impl GittinsIndex {
    /// The index for a sample of total services, microseconds. With `horizon`, `d` is fixed
    /// instead of the best.
    pub fn new(sample: &[u64], horizon: Option<u64>) -> GittinsIndex {
        let mut sorted: Vec<u64> = sample.to_vec();
        sorted.sort_unstable();
        let mut sums = vec![0u128];
        for value in &sorted {
            sums.push(sums[sums.len() - 1] + u128::from(*value));
        }
        let stride = sorted.len().div_ceil(STEPS).max(1);
        let mut at: Vec<u64> = vec![0];
        at.extend(sorted.iter().copied().step_by(stride));
        at.dedup();
        let index = |a: u64| match horizon {
            Some(d) => rate(&sorted, &sums, a, d),
            None => best_rate(&sorted, &sums, a),
        };
        GittinsIndex { steps: at.into_iter().map(|a| (a, index(a))).collect() }
    }

    /// The index of a job that has attained so much, microseconds.
    pub fn at(&self, attained: u64) -> f64 {
        let next = self.steps.partition_point(|(from, _)| *from <= attained);
        if next == 0 { 0.0 } else { self.steps[next - 1].1 }
    }

    /// The next service at which the index changes.
    pub fn next_change(&self, attained: u64) -> Option<u64> {
        let next = self.steps.partition_point(|(from, _)| *from <= attained);
        self.steps.get(next).map(|(from, _)| *from)
    }
}

/// P(S − a ≤ d) / E[min(S − a, d)] among the samples above `a`, per microsecond.
fn rate(sorted: &[u64], sums: &[u128], a: u64, d: u64) -> f64 {
    let above = sorted.partition_point(|value| *value <= a);
    let within = sorted.partition_point(|value| *value <= a.saturating_add(d));
    let count = sorted.len() - above;
    if count == 0 {
        return 0.0;
    }
    let finish = (within - above) as f64;
    let spent = (sums[within] - sums[above]) as f64 - a as f64 * finish;
    let rest = d as f64 * (sorted.len() - within) as f64;
    if spent + rest > 0.0 { finish / (spent + rest) } else { 0.0 }
}

/// The best of these over all `d`: it is reached where `d` just lets a sample finish.
fn best_rate(sorted: &[u64], sums: &[u128], a: u64) -> f64 {
    let above = sorted.partition_point(|value| *value <= a);
    let mut best: f64 = 0.0;
    for within in above + 1..=sorted.len() {
        let d = (sorted[within - 1] - a) as f64;
        let finish = (within - above) as f64;
        let spent = (sums[within] - sums[above]) as f64 - a as f64 * finish;
        best = best.max(finish / (spent + d * (sorted.len() - within) as f64));
    }
    best
}

/// Queues by attained service, and the Gittins index inside them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Gittins {
    limits: Vec<Span>,
    served: Served,
    horizon: Option<Span>,
    index: GittinsIndex,
    /// Services of finished jobs, microseconds; the oldest is overwritten first.
    history: Vec<u64>,
    finished: u32,
}

impl Gittins {
    /// Queues with these limits and an index that starts from a sample of services.
    pub fn new(
        limits: Vec<Span>,
        served: Served,
        horizon: Option<Span>,
        sample: Vec<u64>,
    ) -> Gittins {
        let index = GittinsIndex::new(&sample, horizon.map(Span::micros));
        Gittins { limits, served, horizon, index, history: sample, finished: 0 }
    }

    /// Service in microseconds, of one GPU where GPUs count.
    fn counted(&self, service: Service) -> u64 {
        service.counted(self.served.by_gpu()) / 1000
    }

    fn learn(&mut self, service: u64) {
        if self.history.len() < REMEMBERED {
            self.history.push(service);
        } else {
            let slot = self.finished as usize % REMEMBERED;
            self.history[slot] = service;
        }
        self.finished += 1;
        if self.finished.is_multiple_of(REFRESH) {
            self.index = GittinsIndex::new(&self.history, self.horizon.map(Span::micros));
        }
    }
}

impl Order for Gittins {
    fn line(&self, job: &Job, view: &View) -> Line {
        let attained = self.counted(view.service(job));
        let queue = self.limits.iter().take_while(|limit| attained >= limit.micros()).count();
        // Finishing chances per microsecond, in units of 1e-15: an integer, so that equal chances
        // are equal. The last queue is first come, first served.
        let index = if queue < self.limits.len() { self.index.at(attained) * 1e15 } else { 0.0 };
        let major = (queue as i64) << 56;
        let waits = i64::from(!job.is_running());
        Line { key: Key { major: major - index as i64, minor: waits }, slope: 0 }
    }

    fn bends(&self, job: &Job, view: &View) -> Option<Time> {
        if !job.is_running() {
            return None;
        }
        let service = view.service(job);
        let attained = self.counted(service);
        let limit = self.limits.iter().map(|limit| limit.micros()).find(|l| *l > attained)?;
        let next = self.index.next_change(attained).unwrap_or(limit).min(limit);
        Some(view.when_served(job, service, Span::from_micros(next), self.served.by_gpu()))
    }

    fn observe(&mut self, note: &Note, view: &View) -> Vec<JobId> {
        if let Note::Left(id) = *note {
            let service = self.counted(view.service(view.job(id)));
            self.learn(service);
            if self.finished.is_multiple_of(REFRESH) {
                return view.jobs().iter().map(|job| job.id).filter(|job| *job != id).collect();
            }
        }
        Vec::new()
    }

    fn save(&self) -> Value {
        serde_json::to_value(self).expect("plain data")
    }

    fn restore(&mut self, saved: &Value) -> Result<(), String> {
        *self = serde_json::from_value(saved.clone()).map_err(|error| error.to_string())?;
        Ok(())
    }

    fn fork(&self) -> Box<dyn Order> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_or_long_job_is_worth_trying_until_the_short_ones_are_over() {
        // Half of all jobs take 1, half take 100. Fresh: best d is 1, P = 1/2, E = 1. After 1 the
        // job is a long one for sure: d = 99, P = 1, E = 99.
        let index = GittinsIndex::new(&[1, 1, 100, 100], None);
        assert!((index.at(0) - 0.5).abs() < 1e-12);
        assert!((index.at(1) - 1.0 / 99.0).abs() < 1e-12);
        assert!((index.at(50) - 1.0 / 99.0).abs() < 1e-12, "between steps the last one holds");
        assert_eq!(index.next_change(1), Some(100));
        assert!(index.at(100).abs() < 1e-12, "nobody has ever run longer");
    }

    #[test]
    fn the_best_horizon_is_never_worse_than_a_fixed_one() {
        let sample: Vec<u64> = (1..200u64).map(|i| i * i * 7 % 5003 + i).collect();
        let best = GittinsIndex::new(&sample, None);
        for horizon in [1, 10, 100, 1000, 3250] {
            let fixed = GittinsIndex::new(&sample, Some(horizon));
            for a in (0..5200).step_by(37) {
                assert!(best.at(a) >= fixed.at(a) - 1e-12, "horizon {horizon}, service {a}");
            }
        }
    }

    #[test]
    fn memoryless_service_has_a_flat_index() {
        // For geometric service the chance to finish next is the same at every age.
        let mut sample = Vec::new();
        let mut left = 1 << 16;
        for age in 1..=16u64 {
            sample.extend(std::iter::repeat_n(age, left / 2));
            left /= 2;
        }
        let index = GittinsIndex::new(&sample, None);
        for age in 0..8 {
            assert!((index.at(age) - 0.5).abs() < 0.01, "age {age}: {}", index.at(age));
        }
    }
}
