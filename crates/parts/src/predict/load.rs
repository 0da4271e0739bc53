//! How many jobs will come: half of what came in the last hour, half of what came at this time of
//! day before. It says so for each slot of time, and is judged when the slot is over.

use super::Tally;
use heeler_engine::Calibration;
use heeler_model::{Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Slots of an hour, of a day and of all that is remembered: two weeks.
const HOUR: usize = 6;
const DAY: usize = 24 * HOUR;
const KEPT: usize = 14 * DAY;
/// How long a slot is.
pub(crate) const SLOT: Span = Span::from_secs(600);

/// A forecast of arrivals.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadForecast {
    /// Jobs that came in the slots that are over, the latest last.
    counts: VecDeque<u32>,
    /// The slot that is not over, and how many came in it.
    slot: u64,
    came: u32,
    /// What was said of that slot when it began.
    said: Option<f64>,
    tally: Tally,
}

impl LoadForecast {
    /// Time has come so far.
    pub fn pass(&mut self, now: Time) {
        let slot = now.micros() / SLOT.micros();
        // What is older than all that is remembered says nothing.
        if slot > self.slot + KEPT as u64 {
            self.counts.clear();
            (self.slot, self.came, self.said) = (slot, 0, None);
        }
        while self.slot < slot {
            if let Some(said) = self.said {
                self.tally.note(Some(said + 1.0), f64::from(self.came) + 1.0);
            }
            self.counts.push_back(std::mem::take(&mut self.came));
            if self.counts.len() > KEPT {
                self.counts.pop_front();
            }
            self.slot += 1;
            self.said = self.expected();
        }
    }

    /// A job has come.
    pub fn came(&mut self, now: Time) {
        self.pass(now);
        self.came += 1;
    }

    /// Jobs for each slot of the hour to come, if enough was seen.
    pub fn expected(&self) -> Option<f64> {
        if self.counts.len() < HOUR {
            return None;
        }
        let mean = |from: usize, count: usize| {
            let slots = self.counts.iter().skip(from).take(count);
            slots.map(|came| f64::from(*came)).sum::<f64>() / count as f64
        };
        let last = mean(self.counts.len() - HOUR, HOUR);
        let days = self.counts.len() / DAY;
        if days == 0 {
            return Some(last);
        }
        let before = (1..=days).map(|day| mean(self.counts.len() - day * DAY, HOUR));
        Some(0.5 * last + 0.5 * before.sum::<f64>() / days as f64)
    }

    /// How well it has done. One is added to both sides, because nothing may come.
    pub fn calibration(&self) -> Calibration {
        self.tally.calibration("load", "jobs of 10 minutes, and one")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_of_the_day_before_counts_half() {
        let mut load = LoadForecast::default();
        let at = |slot: usize| Time::from_micros(slot as u64 * SLOT.micros());
        assert_eq!(load.expected(), None);
        for slot in 0..DAY {
            // Twelve jobs in each slot of the first hour, two in all others.
            for _ in 0..if slot < HOUR { 12 } else { 2 } {
                load.came(at(slot));
            }
        }
        load.pass(at(DAY - 1));
        assert_eq!(load.expected(), Some(2.0), "not a day yet");
        load.pass(at(DAY));
        assert_eq!(load.expected(), Some(0.5 * 2.0 + 0.5 * 12.0), "the first hour comes again");
        assert!(load.calibration().within_double > 0.9);
        load.pass(at(10 * KEPT));
        assert_eq!(load.expected(), None, "that was too long ago");
    }
}
