//! The Gittins index as a function of attained service, from a sample of what past jobs took.
//!
//! For service `a` and a further service `d`, the index is the largest value over all `d` of
//! P(S − a ≤ d | S > a) / E[min(S − a, d) | S > a].

use serde::{Deserialize, Serialize};

/// So many steps the index has: it is looked up where service passes one of these quantiles.
const STEPS: usize = 64;

/// The index as a function of attained service, computed from a sample of past jobs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GittinsIndex {
    /// Service in microseconds at which the index changes, and its value from there on.
    steps: Vec<(u64, f64)>,
    /// Whether services are counted whole.
    #[serde(default)]
    whole: bool,
}

impl GittinsIndex {
    /// The index for a sample of total services, microseconds. With `horizon`, `d` is fixed
    /// instead of the best.
    pub fn new(sample: &[u64], horizon: Option<u64>) -> GittinsIndex {
        let (sorted, sums) = sorted(sample);
        let stride = sorted.len().div_ceil(STEPS).max(1);
        let mut at: Vec<u64> = vec![0];
        at.extend(sorted.iter().copied().step_by(stride));
        at.dedup();
        let index = |a: u64| match horizon {
            Some(d) => rate(&sorted, &sums, a, d),
            None => best_rate(&sorted, &sums, a),
        };
        GittinsIndex { steps: at.into_iter().map(|a| (a, index(a))).collect(), whole: false }
    }

    /// The index as Tiresias' published program has it. Between two samples it is what it would be
    /// a `tick` before the second; services that end within the horizon `d` are counted from their
    /// start on, not from `a`; the largest is never taken to end; and all is rounded to a few
    /// digits, which makes equals.
    pub fn of_whole_services(sample: &[u64], d: u64, tick: u64) -> GittinsIndex {
        let (sorted, sums) = sorted(sample);
        let mut steps = Vec::new();
        let mut from = 0;
        for next in sorted.iter().filter(|value| **value > 0) {
            let a = next.saturating_sub(tick.max(1));
            let above = sorted.partition_point(|value| *value <= a);
            let within = sorted.partition_point(|value| *value <= a.saturating_add(d));
            let within = within.min(sorted.len() - 1);
            let count = (sorted.len() - above) as f64;
            let chance = rounded((within - above) as f64 / count, 5);
            let rest = u128::from(d) * (sorted.len() - within) as u128;
            let spent_s = (sums[within] - sums[above] + rest) as f64 / 1e6;
            let each_s = rounded(spent_s / count, 5).max(1e-5);
            // For a million seconds, with four digits.
            let index = rounded(chance * 1e6 / each_s, 4);
            steps.push((from, index / 1e12));
            from = *next;
        }
        steps.push((from, 0.0));
        GittinsIndex { steps, whole: true }
    }

    /// Where a job stands that has attained so much: the larger, the further in front. An integer,
    /// so that equal chances are equal.
    pub fn rank(&self, attained: u64) -> i64 {
        let index = self.at(attained);
        if self.whole { (index * 1e16).round() as i64 } else { (index * 1e15) as i64 }
    }

    /// Whether services are counted whole.
    pub fn is_of_whole_services(&self) -> bool {
        self.whole
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

/// A sample in order, and the sums of its beginnings.
fn sorted(sample: &[u64]) -> (Vec<u64>, Vec<u128>) {
    let mut sorted: Vec<u64> = sample.to_vec();
    sorted.sort_unstable();
    let mut sums = vec![0u128];
    for value in &sorted {
        sums.push(sums[sums.len() - 1] + u128::from(*value));
    }
    (sorted, sums)
}

/// To so many decimal digits, by the exact value of the number, as Python's `round` does it;
/// multiplying and dividing would be wrong near the middle between two.
fn rounded(value: f64, digits: usize) -> f64 {
    format!("{value:.digits$}").parse().expect("a number that was just written")
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
    fn whole_services_are_counted_from_their_start() {
        // Samples of 10, 20 and 40 s, 15 s ahead. Up to 10 it is as at 9: two of three end within
        // 24, after 10 and 20, and the third is looked at for 15: 2/3 ÷ (45 / 3). Up to 20 it is as
        // at 19: one of two ends, 1/2 ÷ (35 / 2). The largest is never taken to end.
        let second = 1_000_000;
        let sample = [20 * second, 10 * second, 40 * second];
        let index = GittinsIndex::of_whole_services(&sample, 15 * second, second);
        let ranks = [0, 9, 10, 19, 20, 39, 40, 99].map(|at| index.rank(at * second));
        let (fresh, older) = (444_446_667, 285_714_286);
        assert_eq!(
            ranks,
            [fresh, fresh, older, older, 0, 0, 0, 0],
            "five digits of 2/3, then four"
        );
        // As in the paper: one of three ends within 15, 1/3 ÷ ((10 + 15 + 15) / 3).
        let beyond = GittinsIndex::new(&sample, Some(15 * second));
        assert!((beyond.at(0) - 1.0 / 40e6).abs() < 1e-15);
    }

    #[test]
    fn equal_services_are_one_step_of_the_whole() {
        let second = 1_000_000;
        let sample = [0, 5, 5, 9].map(|value| value * second);
        let index = GittinsIndex::of_whole_services(&sample, 3 * second, second);
        let rank = |at| index.rank(at * second);
        // As at 4: two of three end within 7, after 5 each, and 3 of the last.
        assert_eq!(rank(0), rank(4));
        assert!(rank(4) > rank(5));
        assert_eq!(rank(5), 0, "the largest is never taken to end");
        assert_eq!(GittinsIndex::of_whole_services(&[], 3, 1).rank(7), 0);
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
