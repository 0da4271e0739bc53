//! What users say of their run times. None of the traces has it, so this follows what is known of
//! batch systems (Tsafrir, Etsion and Feitelson, *Modeling User Runtime Estimates*, JSSPP 2005):
//! users ask for too much, in few round numbers, and many for all that is allowed.

use super::draw::{Quantiles, Stream, Streams};
use heeler_model::Span;

const MINUTE_S: u64 = 60;
const HOUR_S: u64 = 3_600;
const DAY_S: u64 = 86_400;

/// The round numbers that are asked for. 30 days times the largest factor is below the last.
const LIMITS_S: [u64; 18] = [
    10 * MINUTE_S,
    30 * MINUTE_S,
    HOUR_S,
    2 * HOUR_S,
    4 * HOUR_S,
    8 * HOUR_S,
    12 * HOUR_S,
    DAY_S,
    2 * DAY_S,
    3 * DAY_S,
    5 * DAY_S,
    7 * DAY_S,
    10 * DAY_S,
    14 * DAY_S,
    21 * DAY_S,
    30 * DAY_S,
    60 * DAY_S,
    120 * DAY_S,
];

/// Users ask for between once and so many times what the job needs.
const FACTOR_MAX: f64 = 4.0;

/// Share of jobs for which users ask for the longest time that jobs of the class can need.
const ALL_ALLOWED: f64 = 0.1;

/// What is declared for a job of a class. A job that ends early was meant to run as long as another
/// of its class.
pub(super) fn declared(seconds: f64, early: f64, class: &Quantiles, streams: &mut Streams) -> Span {
    let choice = streams.uniform(Stream::Declared);
    let factor = 1.0 + (FACTOR_MAX - 1.0) * streams.uniform(Stream::Declared);
    let meant = streams.uniform(Stream::Declared);
    if choice < ALL_ALLOWED {
        return round_up(class.longest());
    }
    let ends_early = choice < ALL_ALLOWED + (1.0 - ALL_ALLOWED) * early;
    let needed = if ends_early { class.at(meant).max(seconds) } else { seconds };
    round_up(needed * factor)
}

fn round_up(seconds: f64) -> Span {
    let next = LIMITS_S.partition_point(|limit| (*limit as f64) < seconds);
    Span::from_secs(LIMITS_S[next.min(LIMITS_S.len() - 1)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_times_are_round_and_never_too_short() {
        assert_eq!(round_up(1.0), Span::from_secs(600));
        assert_eq!(round_up(3_600.0), Span::from_secs(3_600));
        assert_eq!(round_up(3_601.0), Span::from_secs(7_200));
        let class = Quantiles::new(&[(0.0, 1.0), (0.5, 3_000.0), (1.0, 2_592_000.0)]);
        let mut streams = Streams::new(1);
        let declared: Vec<Span> =
            (0..1_000).map(|_| declared(3_000.0, 0.3, &class, &mut streams)).collect();
        assert!(declared.iter().all(|span| *span >= Span::from_secs(3_600)));
        let all = Span::from_secs(30 * DAY_S);
        let share = declared.iter().filter(|span| **span == all).count();
        assert!((80..160).contains(&share), "some ask for all there is: {share}");
        let exact = declared.iter().filter(|span| **span == Span::from_secs(3_600)).count();
        assert!((20..150).contains(&exact), "few are nearly right: {exact}");
    }
}
