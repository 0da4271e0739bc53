//! The server's time: microseconds since the journal's epoch, by a clock that nobody can set. The
//! wall clock is read once, at the start; steps of it later change nothing.

use heeler_model::Time;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A clock that never goes backwards.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    base: Instant,
    base_us: u64,
}

impl Clock {
    /// A clock for a journal with this epoch, whose latest record is of `latest`. If the wall clock
    /// says that it is earlier, time goes on from there.
    pub(crate) fn start(epoch: u64, latest: Time) -> Clock {
        Clock::started_at(Instant::now(), wall_us(), epoch, latest)
    }

    fn started_at(base: Instant, wall_us: u64, epoch: u64, latest: Time) -> Clock {
        let since = wall_us.saturating_sub(epoch.saturating_mul(1_000_000));
        Clock { base, base_us: since.max(latest.micros()) }
    }

    /// What time it is.
    pub(crate) fn now(&self) -> Time {
        let passed = u64::try_from(self.base.elapsed().as_micros()).unwrap_or(u64::MAX);
        Time::from_micros(self.base_us.saturating_add(passed))
    }

    /// How long until then; nothing, if it has come.
    pub(crate) fn until(&self, then: Time) -> Duration {
        Duration::from_micros(then.since(self.now()).micros())
    }
}

/// Microseconds since 1970 by the wall clock.
pub(crate) fn wall_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on_where_the_journal_ended_though_the_wall_clock_was_set_back() {
        let latest = Time::from_secs(500);
        let early = Clock::started_at(Instant::now(), 1_100_000_000, 1_000, latest);
        assert!(early.now() >= latest);
        let usual = Clock::started_at(Instant::now(), 1_900_000_000, 1_000, latest);
        assert!(usual.now() >= Time::from_secs(900));
        let before_the_epoch = Clock::started_at(Instant::now(), 1, 1_000, Time::ZERO);
        assert!(before_the_epoch.now() < Time::from_secs(100));
    }
}
