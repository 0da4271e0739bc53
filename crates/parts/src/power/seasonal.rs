//! A forecast of how many nodes are used: what was used at that time on the last seven days, moved
//! by most of how far the last hour is off from it.

use heeler_model::Span;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// How long a slot is.
pub const SLOT: Span = Span::from_secs(600);
/// Slots in an hour, a day and all that is remembered.
const HOUR: usize = 6;
const DAY: usize = 24 * HOUR;
const DAYS: usize = 7;
pub(super) const KEPT: usize = DAYS * DAY + HOUR;
/// How much of the last hour's difference stays.
const STAYS: f64 = 0.9;

/// A forecast by what was seen at this time of day, and in the last hour.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seasonal {
    /// What was seen, the latest last.
    seen: VecDeque<u32>,
}

impl Seasonal {
    /// A slot is over.
    pub fn push(&mut self, used: u32) {
        self.seen.push_back(used);
        if self.seen.len() > KEPT {
            self.seen.pop_front();
        }
    }

    /// What was seen so many slots ago, the latest being none.
    pub fn ago(&self, slots: usize) -> Option<u32> {
        self.seen.len().checked_sub(slots + 1).map(|at| self.seen[at])
    }

    /// The mean of the latest so many before the latest.
    pub fn mean_before(&self, slots: usize) -> Option<f64> {
        let sum: u32 = (1..=slots).map(|ago| self.ago(ago)).sum::<Option<u32>>()?;
        Some(f64::from(sum) / slots as f64)
    }

    /// The mean of the latest so many.
    pub fn mean_of(&self, slots: usize) -> Option<f64> {
        let sum: u32 = (0..slots).map(|ago| self.ago(ago)).sum::<Option<u32>>()?;
        Some(f64::from(sum) / slots as f64)
    }

    /// What was usual so many slots after the latest; before it, if negative. Further ahead than a
    /// day the same days count as within it, or spans would differ by the days they leave out.
    fn usual(&self, ahead: isize) -> Option<f64> {
        let ahead = if ahead > 0 { ahead % DAY as isize } else { ahead };
        let mut found = (0, 0.0);
        for day in 1..=DAYS as isize {
            let ago = day * DAY as isize - ahead;
            let seen = usize::try_from(ago).ok().and_then(|ago| self.ago(ago));
            if let Some(seen) = seen {
                found = (found.0 + 1, found.1 + f64::from(seen));
            }
        }
        (found.0 > 0).then(|| found.1 / f64::from(found.0))
    }

    /// The mean expected of the latest slot and those after it, so many in all. Before a day was
    /// seen, nothing is known to change.
    pub fn expected(&self, slots: usize) -> Option<f64> {
        let hour = HOUR.min(self.seen.len());
        let recent = (0..hour).filter_map(|ago| self.ago(ago)).map(f64::from).sum::<f64>();
        let recent = (hour > 0).then(|| recent / hour as f64)?;
        let before: Vec<f64> = (0..HOUR as isize).filter_map(|ago| self.usual(-ago)).collect();
        if before.is_empty() {
            return Some(recent);
        }
        let off = recent - before.iter().sum::<f64>() / before.len() as f64;
        let ahead: Vec<f64> = (0..slots as isize).filter_map(|slot| self.usual(slot)).collect();
        let usual = ahead.iter().sum::<f64>() / ahead.len().max(1) as f64;
        Some(usual + STAYS * off)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shape_of_a_day_comes_again_at_the_level_of_the_last_hour() {
        let mut seen = Seasonal::default();
        assert_eq!(seen.expected(6), None);
        seen.push(10);
        assert_eq!(seen.expected(6), Some(10.0));
        // Twenty nodes in the first hour of each day and ten in all others, for eight days; in the
        // last hour of the last day there are thirteen.
        let mut seen = Seasonal::default();
        for slot in 0..8 * DAY {
            let usual = if slot % DAY < HOUR { 20 } else { 10 };
            seen.push(if slot + HOUR >= 8 * DAY { 13 } else { usual });
        }
        let expected = seen.expected(7).expect("a week was seen");
        assert!((expected - (130.0 / 7.0 + 0.9 * 3.0)).abs() < 1e-9, "{expected}");
        assert_eq!(seen.mean_before(2), Some(13.0));
        assert_eq!(seen.mean_before(5000), None);
    }

    #[test]
    fn days_that_differ_do_not_make_it_expect_a_fall() {
        let mut seen = Seasonal::default();
        (0..8 * DAY).for_each(|slot| seen.push(10 + 5 * (slot / DAY) as u32));
        let (day, days) = (seen.expected(DAY), seen.expected(3 * DAY));
        assert!((day.unwrap() - days.unwrap()).abs() < 1e-9, "{day:?} {days:?}");
    }
}
