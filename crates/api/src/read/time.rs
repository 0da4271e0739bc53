//! Times as Slurm writes them, and as people say them: `90` (minutes), `1:30:00`, `2-12`, `90min`;
//! instants such as `now+1hour`, `16:00`, `tomorrow` or `2026-12-24T18:00`.

use heeler_model::Span;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};

/// Longer is a mistake: about a thousand years.
const LONGEST_S: u64 = 1_000 * 366 * 86_400;

const SHAPES: &str = "a time such as 90 (minutes), 1:30:00 (hours), 2-12 (days-hours) or 90min";

/// A length of time in seconds; `None` for one without end.
///
/// A bare number is minutes, as in Slurm. A part of a minute counts as it is.
pub fn read(text: &str) -> Result<Option<u64>, String> {
    let text = text.trim();
    let wrong = || format!("expected {SHAPES}, found `{text}`");
    if ["infinite", "unlimited", "none"].iter().any(|word| text.eq_ignore_ascii_case(word)) {
        return Ok(None);
    }
    let digits = |c: char| c.is_ascii_digit() || c == ':' || c == '-';
    let seconds = match text.chars().all(digits) {
        true => clock(text).ok_or_else(wrong)?,
        false => {
            let span = text.parse::<Span>().map_err(|_| wrong())?;
            span.micros().div_ceil(1_000_000)
        }
    };
    match seconds {
        0 => Ok(None),
        seconds if seconds > LONGEST_S => Err(format!("`{text}` is longer than a thousand years")),
        seconds => Ok(Some(seconds)),
    }
}

/// A length of time in seconds that has an end.
pub fn ending(text: &str) -> Result<u64, String> {
    read(text)?.ok_or_else(|| format!("expected {SHAPES}, found `{text}`"))
}

/// Minutes, minutes:seconds, hours:minutes:seconds, or what follows days.
fn clock(text: &str) -> Option<u64> {
    let numbers = |text: &str| -> Option<Vec<u64>> {
        text.split(':').map(|part| part.parse::<u64>().ok()).collect()
    };
    let parts = |days: u64, hours: u64, minutes: u64, seconds: u64| {
        let hours = days.checked_mul(24)?.checked_add(hours)?;
        let minutes = hours.checked_mul(60)?.checked_add(minutes)?;
        minutes.checked_mul(60)?.checked_add(seconds)
    };
    match text.split_once('-') {
        Some((days, rest)) => {
            let days = days.parse().ok()?;
            match numbers(rest)?[..] {
                [hours] => parts(days, hours, 0, 0),
                [hours, minutes] => parts(days, hours, minutes, 0),
                [hours, minutes, seconds] => parts(days, hours, minutes, seconds),
                _ => None,
            }
        }
        None => match numbers(text)?[..] {
            [minutes] => parts(0, 0, minutes, 0),
            [minutes, seconds] => parts(0, 0, minutes, seconds),
            [hours, minutes, seconds] => parts(0, hours, minutes, seconds),
            _ => None,
        },
    }
}

/// An instant, in seconds since 1970, said at some time in some time zone.
pub fn instant(text: &str, now: &Zoned) -> Result<u64, String> {
    let said = text.trim();
    let found = relative(said, now).or_else(|| named(said, now)).or_else(|| civil(said, now));
    let wrong = || {
        format!(
            "expected a moment such as now+1hour, 16:00, tomorrow, 2026-12-24 or \
             2026-12-24T18:00, found `{text}`"
        )
    };
    u64::try_from(found.ok_or_else(wrong)?.as_second()).map_err(|_| wrong())
}

/// `now`, `now+90`, `now+2hours`: seconds, if no unit is said.
fn relative(text: &str, now: &Zoned) -> Option<Timestamp> {
    let lower = text.to_ascii_lowercase();
    let rest = lower.strip_prefix("now")?.trim();
    if rest.is_empty() {
        return Some(now.timestamp());
    }
    let span = rest.strip_prefix('+')?.trim();
    let end = span.find(|c: char| !c.is_ascii_digit()).unwrap_or(span.len());
    let (number, unit) = span.split_at(end);
    let seconds = match unit.trim() {
        "week" | "weeks" => number.parse::<u64>().ok()?.checked_mul(7 * 86_400)?,
        _ => span.parse::<Span>().ok()?.micros() / 1_000_000,
    };
    let later = SignedDuration::from_secs(i64::try_from(seconds.min(LONGEST_S)).ok()?);
    now.timestamp().checked_add(later).ok()
}

/// `today`, `tomorrow`, `midnight`, `noon`: the next of them.
fn named(text: &str, now: &Zoned) -> Option<Timestamp> {
    let today = now.date();
    let at = |date: Date, hour: i8| in_zone(date.at(hour, 0, 0, 0), now.time_zone());
    let next = |hour: i8| match at(today, hour) {
        Some(there) if there > now.timestamp() => Some(there),
        _ => at(today.tomorrow().ok()?, hour),
    };
    match text.to_ascii_lowercase().as_str() {
        "today" => at(today, 0),
        "tomorrow" => at(today.tomorrow().ok()?, 0),
        "midnight" => next(0),
        "noon" => next(12),
        "teatime" => next(16),
        _ => None,
    }
}

/// A time of day, the next to come; a date; both; or an instant with its zone.
fn civil(text: &str, now: &Zoned) -> Option<Timestamp> {
    if let Ok(instant) = text.parse::<Timestamp>() {
        return Some(instant);
    }
    let zone = now.time_zone();
    if text.contains('-') {
        let moment = text
            .parse::<DateTime>()
            .or_else(|_| text.parse::<Date>().map(|date| date.at(0, 0, 0, 0)));
        return in_zone(moment.ok()?, zone);
    }
    let time: Time = text.contains(':').then(|| padded(text).parse().ok())??;
    match in_zone(now.date().to_datetime(time), zone) {
        Some(there) if there > now.timestamp() => Some(there),
        _ => in_zone(now.date().tomorrow().ok()?.to_datetime(time), zone),
    }
}

/// Hours of one digit are said, too.
fn padded(text: &str) -> String {
    match text.find(':') {
        Some(1) => format!("0{text}"),
        _ => text.to_string(),
    }
}

fn in_zone(moment: DateTime, zone: &TimeZone) -> Option<Timestamp> {
    Some(moment.to_zoned(zone.clone()).ok()?.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_written_as_in_slurm() {
        for (text, seconds) in [
            ("90", 90 * 60),
            ("1:30", 90),
            ("1:30:15", 5_415),
            ("2-12", 60 * 3_600),
            ("1-2:30", 95_400),
            ("1-2:30:01", 95_401),
            ("90min", 5_400),
            ("2h 30m", 9_000),
            ("1.5s", 2),
            ("3 days", 259_200),
        ] {
            assert_eq!(read(text), Ok(Some(seconds)), "{text}");
        }
        for text in ["0", "UNLIMITED", "infinite", "0:00"] {
            assert_eq!(read(text), Ok(None), "{text}");
        }
        let huge = "99999999999999999999";
        for text in ["", "x", "1:2:3:4", "1-", "-1", "1-2-3", "1::2", huge, "9e9h", "1-1:2:3:4"] {
            assert!(read(text).is_err(), "{text}");
        }
        assert!(read("999999999999-1").is_err());
        assert!(ending("unlimited").is_err());
    }

    #[test]
    fn instants_are_said_as_people_say_them() {
        let now: Zoned = "2026-03-10T15:00:00+00:00[UTC]".parse().expect("a moment");
        let base = u64::try_from(now.timestamp().as_second()).expect("after 1970");
        for (text, after) in [
            ("now", 0),
            ("now+90", 90),
            ("now+1hour", 3_600),
            ("now + 2 hours", 7_200),
            ("now+1week", 604_800),
            ("16:00", 3_600),
            ("15:00:10", 10),
            ("9:00", 18 * 3_600),
            ("tomorrow", 9 * 3_600),
            ("midnight", 9 * 3_600),
            ("noon", 21 * 3_600),
            ("2026-03-11", 9 * 3_600),
            ("2026-03-10T15:01", 60),
            ("2026-03-10T16:01:00Z", 3_660),
        ] {
            assert_eq!(instant(text, &now), Ok(base + after), "{text}");
        }
        for text in ["", "later", "now-1hour", "25:00", "2026-13-01", "now+", "1960-01-01", "5"] {
            assert!(instant(text, &now).is_err(), "{text}");
        }
    }
}
