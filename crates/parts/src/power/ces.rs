//! Helios' cluster energy saving (Hu et al., SC 2021): every ten minutes it is decided how many
//! nodes stay on. Too few are made up for at once, with some to spare, and then nothing is switched
//! off for a while; what is too much is switched off when fewer are used than before and a forecast
//! does not say that they will be needed.

use super::Seasonal;
use crate::predict::Tally;
use heeler_engine::Calibration;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// When nodes are switched on and off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Habits {
    /// Slots before, of which the mean must be above what is used now …
    pub history: usize,
    /// … by at least so many nodes.
    pub fallen: f64,
    /// Slots ahead, of which the mean must be below what is used now …
    pub future: usize,
    /// … by at least so many nodes, and not above it in twice as many.
    pub falling: f64,
    /// Fewer nodes than this are not worth switching off.
    pub least: u32,
    /// Nodes that stay on beyond those in use.
    pub spare: u32,
    /// Slots in which nothing is switched off after something was switched on.
    pub keep: u64,
}

impl Habits {
    /// As published for Philly.
    pub const PHILLY: Habits =
        Habits { history: 2, fallen: 0.1, future: 30, falling: 0.0, least: 1, spare: 20, keep: 10 };
}

/// At first nothing is known, and all that is used stays on, with some to spare.
const FIRST_SLOTS: u64 = 6;

/// How many nodes stay on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ces {
    seen: Seasonal,
    slots: u64,
    on: u32,
    /// The slot before which nothing is switched off.
    keep_until: u64,
    /// What was said of as many slots as the forecast looks ahead, the latest last.
    #[serde(default)]
    said: VecDeque<Option<f64>>,
    #[serde(default)]
    tally: Tally,
}

impl Ces {
    /// Somebody who has seen what was used before, with all nodes on.
    pub fn after(before: impl IntoIterator<Item = u32>) -> Ces {
        let mut ces = Ces::default();
        before.into_iter().for_each(|used| ces.seen.push(used));
        ces
    }

    /// A slot is over in which so many of all nodes were used: how many are on now.
    pub fn look(&mut self, used: u32, all: u32, habits: &Habits) -> u32 {
        self.seen.push(used);
        self.judge(habits.future);
        let (slot, wanted) = (self.slots, used + habits.spare);
        self.slots += 1;
        if slot < FIRST_SLOTS && slot >= self.keep_until {
            self.on = wanted.min(all);
            return self.on;
        }
        if self.on < used {
            self.on = wanted;
            self.keep_until = slot + habits.keep;
        }
        self.on = self.on.min(all);
        let worth = self.on >= wanted + habits.least;
        if slot >= self.keep_until && worth && self.is_falling(used, habits) {
            self.on = wanted;
        }
        self.on
    }

    /// Note what is expected of the latest slot and those after it, and compare what was said of
    /// those that are over with what was used in them.
    fn judge(&mut self, future: usize) {
        let expected = self.seen.expected(future);
        self.said.push_back(expected);
        if self.said.len() < future.max(1) {
            return;
        }
        let was = self.seen.mean_of(future.max(1));
        if let Some((said, was)) = self.said.pop_front().flatten().zip(was) {
            self.tally.note(Some(said.max(0.0) + 1.0), was + 1.0);
        }
    }

    /// How well the forecast has done. One is added to both sides, because nothing may be used.
    pub fn calibration(&self) -> Calibration {
        self.tally.calibration("seasonal", "nodes used in the slots ahead, and one")
    }

    /// Between two looks more were needed, and so many are on now: none goes for a while.
    pub fn woken(&mut self, on: u32, habits: &Habits) {
        self.on = on;
        self.keep_until = self.slots + habits.keep;
    }

    /// Whether fewer are used than before, and will be.
    fn is_falling(&self, used: u32, habits: &Habits) -> bool {
        let used = f64::from(used);
        let Some(before) = self.seen.mean_before(habits.history) else { return false };
        let soon = self.seen.expected(habits.future);
        let later = self.seen.expected(2 * habits.future);
        let Some((soon, later)) = soon.zip(later) else { return false };
        before - used >= habits.fallen && used - soon >= habits.falling && soon >= later
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HABITS: Habits = Habits { spare: 2, keep: 3, history: 2, ..Habits::PHILLY };

    /// More than are on are met at once, with two to spare, and for three slots nothing is switched
    /// off. Then fewer are used than before, and still more than is usual: all but two to spare go.
    /// After that no more are used than the forecast says, and the rest stays.
    #[test]
    fn nodes_come_back_at_once_and_go_when_less_is_used() {
        let mut ces = Ces::after([20; 200]);
        let mut look = |used| ces.look(used, 40, &HABITS);
        assert_eq!([20; 6].map(&mut look), [22; 6]);
        assert_eq!([10; 5].map(&mut look), [22; 5], "it is usual to need more");
        assert_eq!([30, 28, 24, 22, 21].map(look), [32, 32, 32, 24, 24]);
    }

    /// Ten nodes are expected of thirty slots where ten were used, and are; of the last twenty-nine
    /// slots that were twenty, fewer were expected.
    #[test]
    fn forecasts_are_judged_when_their_slots_are_over() {
        let mut ces = Ces::default();
        for _ in 0..29 {
            ces.look(10, 40, &HABITS);
        }
        assert_eq!(ces.calibration().seen, 0, "none is over");
        for _ in 0..31 {
            ces.look(10, 40, &HABITS);
        }
        let known = ces.calibration();
        assert_eq!((known.seen, known.is_exact()), (31, true), "{known:?}");
        for _ in 0..29 {
            ces.look(20, 40, &HABITS);
        }
        let known = ces.calibration();
        assert!(known.seen == 60 && known.factor > 1.05, "{known:?}");
        assert!(known.ratio_p10 < 0.7, "{known:?}");
    }

    #[test]
    fn never_more_than_there_are_and_never_fewer_than_are_used() {
        let mut ces = Ces::default();
        for slot in 0..500u32 {
            let used = 10 + slot * 7 % 31;
            let on = ces.look(used, 40, &HABITS);
            assert!((used.min(40)..=40).contains(&on), "{used} used, {on} on");
        }
    }
}
