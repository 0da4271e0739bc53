//! When jobs come: a week of hours that are busier or quieter, the same every week, and gaps
//! between jobs that come in bursts.

use super::draw::Deck;
use super::shape::{Batches, Profile};
use heeler_model::{SECOND_US, Time};
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

const HOUR_S: f64 = 3_600.0;
const HOURS: u64 = 168;
const WEEK_S: f64 = HOUR_S * HOURS as f64;

/// How busy each hour of a week is, on average one. The week begins on Monday at midnight.
#[derive(Clone, Debug)]
pub(super) struct Week {
    rates: Vec<f64>,
}

impl Week {
    pub(super) fn new(profile: &Profile) -> Week {
        let hours = profile.days.iter().flat_map(|day| profile.hours.map(|hour| day * hour));
        let mut rates: Vec<f64> = hours.collect();
        let mean = rates.iter().sum::<f64>() / HOURS as f64;
        for rate in &mut rates {
            *rate /= mean;
        }
        Week { rates }
    }

    fn rate(&self, hour: u64) -> f64 {
        self.rates[(hour % HOURS) as usize]
    }

    /// The seconds from the start to a moment, each counted as often as its hour is busy.
    pub(super) fn weighted_until(&self, seconds: f64) -> f64 {
        let weeks = (seconds / WEEK_S).floor();
        let rest = seconds - weeks * WEEK_S;
        let hours = (rest / HOUR_S).floor();
        let whole: f64 = self.rates[..hours as usize].iter().sum();
        let last = (rest - hours * HOUR_S) * self.rate(hours as u64);
        weeks * WEEK_S + whole * HOUR_S + last
    }
}

/// A moment: an hour since the start, and seconds into it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    hour: u64,
    into_s: f64,
}

impl Clock {
    pub(super) fn now(self) -> Time {
        let hour_us = self.hour * HOUR_S as u64 * SECOND_US;
        Time::from_micros(hour_us + (self.into_s * SECOND_US as f64) as u64)
    }

    /// Go on by so many seconds, each counted as often as its hour is busy.
    pub(super) fn advance(&mut self, week: &Week, mut weighted_s: f64) {
        if weighted_s >= WEEK_S {
            let weeks = (weighted_s / WEEK_S).floor();
            weighted_s -= weeks * WEEK_S;
            self.hour += weeks as u64 * HOURS;
        }
        loop {
            let rate = week.rate(self.hour);
            let left = (HOUR_S - self.into_s) * rate;
            if weighted_s < left {
                self.into_s += weighted_s / rate;
                return;
            }
            weighted_s -= left;
            self.hour += 1;
            self.into_s = 0.0;
        }
    }
}

/// Gaps between jobs, relative to the mean gap: short to the next of a batch, long to the next
/// batch, both exponentially distributed.
#[derive(Clone, Debug)]
pub(super) struct Gaps {
    choices: Deck,
    long: Deck,
}

impl Gaps {
    pub(super) fn new() -> Gaps {
        Gaps { choices: Deck::new(), long: Deck::new() }
    }

    pub(super) fn next(&mut self, batches: &Batches, random: &mut Xoshiro256PlusPlus) -> f64 {
        let Batches { follow, gap } = *batches;
        let (mean, uniform) = match self.choices.draw(random) < follow {
            true => (gap, random.random()),
            // Few gaps make up nearly all of the time, so they are dealt too.
            false => ((1.0 - follow * gap) / (1.0 - follow), self.long.draw(random)),
        };
        -(1.0 - uniform).ln() * mean
    }
}

#[cfg(test)]
mod tests {
    use super::super::Shape;
    use super::*;
    use heeler_engine::stream;

    #[test]
    fn the_clock_undoes_the_weights() {
        let week = Week::new(Shape::Helios.profile());
        assert!((week.weighted_until(3.0 * WEEK_S) - 3.0 * WEEK_S).abs() < 1e-3);
        for target in [1.0, 3_600.0, 50_000.0, 604_800.0, 2_000_000.5] {
            let mut clock = Clock::default();
            let weighted = week.weighted_until(target);
            for _ in 0..7 {
                clock.advance(&week, weighted / 7.0);
            }
            let reached = clock.now().secs_f64();
            assert!((reached - target).abs() < 1e-3, "{reached} {target}");
        }
    }

    #[test]
    fn gaps_are_one_on_average_and_bursty() {
        let mut random = stream(3, Time::ZERO, "gaps");
        let batches = Batches { follow: 0.8, gap: 0.05 };
        let mut gaps = Gaps::new();
        let gaps: Vec<f64> = (0..100_000).map(|_| gaps.next(&batches, &mut random)).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let square = gaps.iter().map(|gap| gap * gap).sum::<f64>() / gaps.len() as f64;
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
        let scatter = square / mean.powi(2) - 1.0;
        assert!((7.5..9.0).contains(&scatter), "a Poisson process has 1: {scatter}");
    }
}
