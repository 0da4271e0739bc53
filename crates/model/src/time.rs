//! Instants and spans as whole microseconds. Integers make equal inputs give equal decisions on
//! every machine; a microsecond is fine enough for a decode step and an `u64` of them lasts
//! longer than any cluster (584,000 years).

use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};
use std::str::FromStr;

/// Microseconds in one second.
pub const SECOND_US: u64 = 1_000_000;

/// An instant: microseconds since the engine's start.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Time(u64);

/// A length of time in microseconds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Span(u64);

impl Time {
    /// The engine's start.
    pub const ZERO: Time = Time(0);
    /// Later than everything that happens.
    pub const MAX: Time = Time(u64::MAX);

    /// An instant so many microseconds after the start.
    pub const fn from_micros(us: u64) -> Time {
        Time(us)
    }

    /// An instant so many whole seconds after the start.
    pub const fn from_secs(seconds: u64) -> Time {
        Time(seconds * SECOND_US)
    }

    /// An instant so many seconds after the start, to the nearest microsecond.
    pub fn from_secs_f64(seconds: f64) -> Time {
        Time(Span::from_secs_f64(seconds).0)
    }

    /// Microseconds since the start.
    pub const fn micros(self) -> u64 {
        self.0
    }

    /// Seconds since the start, for people and files.
    pub fn secs_f64(self) -> f64 {
        self.0 as f64 / SECOND_US as f64
    }

    /// So much earlier, but not before the start.
    #[must_use]
    pub const fn minus(self, span: Span) -> Time {
        Time(self.0.saturating_sub(span.0))
    }

    /// The span since `earlier`, zero if that is not earlier.
    pub const fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);
    /// Longer than everything that happens.
    pub const MAX: Span = Span(u64::MAX);

    /// So many microseconds.
    pub const fn from_micros(us: u64) -> Span {
        Span(us)
    }

    /// So many whole seconds.
    pub const fn from_secs(seconds: u64) -> Span {
        Span(seconds * SECOND_US)
    }

    /// So many seconds to the nearest microsecond; what is negative or not a number is zero.
    pub fn from_secs_f64(seconds: f64) -> Span {
        Span((seconds * SECOND_US as f64).round() as u64)
    }

    /// Whole microseconds.
    pub const fn micros(self) -> u64 {
        self.0
    }

    /// Seconds, for people and files.
    pub fn secs_f64(self) -> f64 {
        self.0 as f64 / SECOND_US as f64
    }

    /// Whether there is nothing of it.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// What is left after taking `other` away, never below zero.
    pub const fn saturating_sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}

impl Add<Span> for Time {
    type Output = Time;
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub<Time> for Time {
    type Output = Span;
    fn sub(self, earlier: Time) -> Span {
        self.since(earlier)
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Span) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Span;
    fn sub(self, other: Span) -> Span {
        self.saturating_sub(other)
    }
}

impl SubAssign for Span {
    fn sub_assign(&mut self, other: Span) {
        *self = *self - other;
    }
}

impl Mul<u64> for Span {
    type Output = Span;
    fn mul(self, times: u64) -> Span {
        Span(self.0.saturating_mul(times))
    }
}

impl Div<u64> for Span {
    type Output = Span;
    fn div(self, parts: u64) -> Span {
        Span(self.0 / parts)
    }
}

impl Sum for Span {
    fn sum<I: Iterator<Item = Span>>(spans: I) -> Span {
        spans.fold(Span::ZERO, Add::add)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Span(self.0).fmt(f)
    }
}

/// The two largest units that say something: `3d 4h`, `1min 30s`, `250ms`.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 6] = [
            (86_400 * SECOND_US, "d"),
            (3_600 * SECOND_US, "h"),
            (60 * SECOND_US, "min"),
            (SECOND_US, "s"),
            (1_000, "ms"),
            (1, "us"),
        ];
        let Some(first) = UNITS.iter().position(|(unit, _)| self.0 >= *unit) else {
            return f.pad("0s");
        };
        let (unit, name) = UNITS[first];
        let mut text = format!("{}{name}", self.0 / unit);
        if let Some((next, next_name)) = UNITS.get(first + 1) {
            let rest = self.0 % unit / next;
            if rest > 0 && first < 3 {
                text.push_str(&format!(" {rest}{next_name}"));
            }
        }
        f.pad(&text)
    }
}

/// What `Span::from_str` expected, for error messages.
pub const SPAN_EXPECTED: &str = "a time such as `90 s`, `1.5 h` or `2 days 3 h`";

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Span, String> {
        let mut total = 0.0;
        let mut rest = text.trim();
        let mut any = false;
        while !rest.is_empty() {
            let end = rest
                .find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_')
                .unwrap_or(rest.len());
            let number: f64 = rest[..end]
                .replace('_', "")
                .parse()
                .map_err(|_| format!("expected {SPAN_EXPECTED}, found `{text}`"))?;
            rest = rest[end..].trim_start();
            let end = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
            let unit = unit_seconds(&rest[..end]).ok_or_else(|| {
                format!("expected {SPAN_EXPECTED}, found unit `{}`", &rest[..end])
            })?;
            total += number * unit;
            rest = rest[end..].trim_start();
            any = true;
        }
        if any { Ok(Span::from_secs_f64(total)) } else { Err(format!("expected {SPAN_EXPECTED}")) }
    }
}

/// Seconds in a unit of time; a number without a unit is seconds.
fn unit_seconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "us" => 1e-6,
        "ms" => 1e-3,
        "" | "s" | "sec" | "second" | "seconds" => 1.0,
        "min" | "m" | "minute" | "minutes" => 60.0,
        "h" | "hour" | "hours" => 3_600.0,
        "d" | "day" | "days" => 86_400.0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_as_people_write_them() {
        for (text, seconds) in [
            ("90", 90.0),
            ("90 s", 90.0),
            ("1.5h", 5400.0),
            ("2 days 3 h", 183_600.0),
            ("5ms", 0.005),
        ] {
            assert_eq!(text.parse::<Span>(), Ok(Span::from_secs_f64(seconds)), "{text}");
        }
        for text in ["", "h", "3 fortnights", "-5 s", "1..2 s"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }

    #[test]
    fn spans_print_their_two_largest_units() {
        for (span, text) in [
            (Span::ZERO, "0s"),
            (Span::from_secs(45), "45s"),
            (Span::from_secs(90), "1min 30s"),
            (Span::from_secs(7_200), "2h"),
            (Span::from_secs(270_000), "3d 3h"),
            (Span::from_micros(2_500), "2ms"),
        ] {
            assert_eq!(span.to_string(), text);
        }
    }
}
