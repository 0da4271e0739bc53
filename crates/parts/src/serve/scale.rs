//! How many replicas a service should have, from how busy those are that it has. Grows at once and
//! shrinks only after the load has been lower for a while, as the autoscalers of model servers do.

use heeler_model::{Load, Span, Time};
use serde::{Deserialize, Serialize};

/// The rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Part of the time that replicas should be busy.
    pub busy: f64,
    /// Part of the requests that may be late.
    pub late: f64,
    /// The fewest replicas.
    pub least: u32,
    /// For how long fewer must have been enough before replicas are taken away.
    pub patience: Span,
}

/// What is wanted for one service, and what the rule remembers of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// How many replicas it should have.
    pub replicas: u32,
    /// Since when fewer have been enough, and the most that were needed since.
    fewer: Option<(Time, u32)>,
}

impl Scale {
    /// Before anything is known.
    pub fn first(&self) -> Wanted {
        Wanted { replicas: self.least, fewer: None }
    }

    /// What is wanted after a look at the load. There are at most `most` replicas to be had.
    pub fn next(&self, wanted: Wanted, load: &Load, most: u32, now: Time) -> Wanted {
        let needed = self.needed(load).clamp(self.least.min(most), most);
        if needed >= wanted.replicas {
            return Wanted { replicas: needed, fewer: None };
        }
        let (since, before) = wanted.fewer.unwrap_or((now, needed));
        let needed = needed.max(before);
        if now.since(since) >= self.patience {
            return Wanted { replicas: needed, fewer: None };
        }
        Wanted { replicas: wanted.replicas, fewer: Some((since, needed)) }
    }

    /// Replicas with which this load would have kept them as busy as they should be. Where too many
    /// requests were late that is not known, and half as many more are tried.
    fn needed(&self, load: &Load) -> u32 {
        let by_busy = f64::from(load.busy_milli) / 1000.0 / self.busy;
        let by_busy = by_busy.ceil() as u32;
        let too_late = load.late as f64 > load.arrived as f64 * self.late;
        let starved = load.waiting > 0 && load.replicas == 0;
        if too_late || starved {
            let more = load.replicas + (load.replicas / 2).max(1);
            return by_busy.max(more);
        }
        by_busy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCALE: Scale =
        Scale { busy: 0.5, late: 0.01, least: 1, patience: Span::from_micros(60_000_000) };

    fn load(busy_milli: u32, replicas: u32, late: u64) -> Load {
        Load { arrived: 100, late, replicas, busy_milli, ..Load::default() }
    }

    fn at(seconds: u64) -> Time {
        Time::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn grows_at_once_and_shrinks_after_a_while() {
        let mut wanted = SCALE.first();
        wanted = SCALE.next(wanted, &load(1800, 2, 0), 8, at(0));
        assert_eq!(wanted.replicas, 4);
        for (seconds, busy, replicas) in [(10, 400, 4), (40, 900, 4), (69, 400, 4), (70, 400, 2)] {
            wanted = SCALE.next(wanted, &load(busy, 4, 0), 8, at(seconds));
            assert_eq!(wanted.replicas, replicas, "at {seconds} s");
        }
    }

    #[test]
    fn tries_half_as_many_more_while_requests_are_late() {
        let wanted = SCALE.next(SCALE.first(), &load(100, 4, 50), 8, at(0));
        assert_eq!(wanted.replicas, 6);
        let wanted = SCALE.next(wanted, &load(100, 8, 50), 8, at(10));
        assert_eq!(wanted.replicas, 8, "there are no more than that");
        let from_nothing = Load { waiting: 3, ..Load::default() };
        assert_eq!(SCALE.next(SCALE.first(), &from_nothing, 8, at(0)).replicas, 1);
    }
}
