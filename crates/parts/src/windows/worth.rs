//! What rounds of a window are worth to a job, as in Shockwave (Zheng et al., NSDI 2023): the
//! logarithm of the part of its epochs that it will have done, so that the sum over jobs is Nash's
//! welfare, and more for whoever would end later than with an equal share.

use serde::{Deserialize, Serialize};

/// Where the logarithm is taken; between these points it is a line.
const POINTS: [f64; 6] = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0];
/// What stands for nothing done.
const NOTHING: f64 = 1e-6;
/// The power for jobs that would end within a round.
const NEARLY_DONE: f64 = 100.0;
/// Nobody is worth more than this to begin with, so that sums stay numbers.
const WEIGHT_MAX: f64 = 1e100;

/// What can be set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Aims {
    /// The price of a second that is left to whoever has most left.
    pub makespan: f64,
    /// The power of the ratio by which late jobs count more.
    pub fairness: f64,
    /// The ratio of end to fair end from which on a job is late.
    pub ratio: f64,
}

/// The logarithm of a part, in lines.
fn log(part: f64) -> f64 {
    let part = part.clamp(0.0, 1.0);
    let value = |point: f64| point.max(NOTHING).ln();
    let above = POINTS.iter().position(|point| part <= *point).unwrap_or(POINTS.len() - 1).max(1);
    let (low, high) = (POINTS[above - 1], POINTS[above]);
    value(low) + (value(high) - value(low)) * (part - low) / (high - low)
}

/// What none, one, two … rounds are worth to a job that has done so many epochs of all, if an epoch
/// takes so many seconds.
pub(super) fn worths(done: f64, all: f64, epoch_s: f64, round_s: f64, rounds: u32) -> Vec<f64> {
    let after = |count: u32| (done + f64::from(count) * round_s / epoch_s) / all;
    (0..=rounds).map(|count| log(after(count))).collect()
}

/// What is left to it after none, one, two … rounds, seconds.
pub(super) fn lefts(left_s: f64, ahead_s: f64, round_s: f64, rounds: u32) -> Vec<f64> {
    let planned = |count: u32| (f64::from(count) * round_s).min(ahead_s);
    (0..=rounds).map(|count| (left_s - planned(count)).max(0.0)).collect()
}

impl Aims {
    /// How much a job counts that would end at so many times the time that is fair.
    pub(super) fn weight(&self, ratio: f64, nearly_done: bool) -> f64 {
        if ratio <= self.ratio {
            return 1.0;
        }
        let power = if nearly_done { NEARLY_DONE.max(self.fairness) } else { self.fairness };
        ratio.powf(power).min(WEIGHT_MAX)
    }
}

/// The end that is fair to a job: the mean of all that were estimated, each for as long as it stood,
/// and a little of the last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct FairEnd {
    sum: f64,
    rounds: f64,
    last_s: f64,
    since: u64,
}

/// The part of the mean; the rest is the last estimate's.
const MOMENTUM: f64 = 0.9;

impl FairEnd {
    /// It is estimated anew.
    pub(super) fn estimate(&mut self, round: u64, end_s: f64) {
        let stood = round.saturating_sub(self.since) as f64;
        self.sum += self.last_s * stood;
        self.rounds += stood;
        (self.last_s, self.since) = (end_s, round);
    }

    /// For the first time.
    pub(super) fn first(round: u64, end_s: f64) -> FairEnd {
        FairEnd { sum: 0.0, rounds: 0.0, last_s: end_s, since: round }
    }

    /// The end, seen from a round.
    pub(super) fn end_s(&self, round: u64) -> f64 {
        let stood = round.saturating_sub(self.since) as f64;
        let rounds = self.rounds + stood;
        let mean = match rounds > 0.0 {
            true => (self.sum + self.last_s * stood) / rounds,
            false => self.last_s,
        };
        MOMENTUM * mean + (1.0 - MOMENTUM) * self.last_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_steps_are_worth_most() {
        let worth = worths(0.0, 10.0, 60.0, 120.0, 6);
        assert!((worth[0] - 1e-6f64.ln()).abs() < 1e-9 && worth[5].abs() < 1e-9);
        assert_eq!(worth[5], worth[6], "nothing after the end");
        let gains: Vec<f64> = worth.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gains.windows(2).all(|pair| pair[1] <= pair[0] + 1e-12), "{gains:?}");
    }

    #[test]
    fn late_jobs_count_more() {
        let aims = Aims { makespan: 0.0, fairness: 12.0, ratio: 1.0 };
        assert_eq!(aims.weight(0.9, false), 1.0);
        assert!((aims.weight(1.1, false) - 1.1f64.powi(12)).abs() < 1e-9);
        assert!(aims.weight(1.1, true) > 1e4);
        assert_eq!(Aims { fairness: 0.0, ..aims }.weight(3.0, false), 1.0);
    }

    #[test]
    fn fair_ends_remember_how_long_they_stood() {
        let mut fair = FairEnd::first(0, 1000.0);
        assert_eq!(fair.end_s(0), 1000.0);
        fair.estimate(3, 2000.0);
        let mean = (3.0 * 1000.0 + 2000.0) / 4.0;
        assert!((fair.end_s(4) - (0.9 * mean + 200.0)).abs() < 1e-9);
    }
}
