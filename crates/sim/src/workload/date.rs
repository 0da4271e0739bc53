//! Dates and clock times as traces write them. A date counts seconds from 1970 in whatever zone
//! the trace uses: only differences matter, and no trace says when its clocks were changed.

const DAY_S: u64 = 86_400;
/// Seconds from here on are mistakes: thirty thousand years.
const TOO_LATE_S: u64 = 1_000_000_000_000;

/// Seconds from 1970-01-01 to a date like `2017-10-09 07:01:55`, `2017-10-09T07:01:55` or
/// `2017-10-09`; parts of a second are left out. A plain number is seconds already.
pub(super) fn seconds(text: &str) -> Option<u64> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok().filter(|seconds| *seconds < TOO_LATE_S);
    }
    let (date, clock) = text.split_once(['T', ' ']).unwrap_or((text, "00:00:00"));
    let mut parts = date.split('-').map(|part| part.parse::<u64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let sound = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=days_in(year, month)).contains(&day)
        && parts.next().is_none();
    let clock = clock.trim_end_matches('Z').split('.').next()?;
    let clock = clock_seconds(clock).filter(|seconds| *seconds <= DAY_S)?;
    sound.then(|| days_before(year, month, day) * DAY_S + clock)
}

/// A date as it is written in traces.
pub(super) fn text(seconds: u64) -> String {
    let (mut day, clock) = (seconds / DAY_S, seconds % DAY_S);
    let mut year = 1970;
    while day >= days_in_year(year) {
        day -= days_in_year(year);
        year += 1;
    }
    let mut month = 1;
    while day >= days_in(year, month) {
        day -= days_in(year, month);
        month += 1;
    }
    let (hour, minute, second) = (clock / 3600, clock / 60 % 60, clock % 60);
    format!("{year:04}-{month:02}-{:02} {hour:02}:{minute:02}:{second:02}", day + 1)
}

/// Seconds of a length of time like `2-03:04:05`, `03:04:05` or `04:05`, with days first.
pub(super) fn length_seconds(text: &str) -> Option<u64> {
    let (days, clock) = match text.split_once('-') {
        Some((days, clock)) => (days.parse::<u64>().ok()?, clock),
        None => (0, text),
    };
    let seconds = days.checked_mul(DAY_S)?.checked_add(clock_seconds(clock)?)?;
    Some(seconds).filter(|seconds| *seconds < TOO_LATE_S)
}

/// `hours:minutes:seconds` or `minutes:seconds`; parts of a second are left out.
fn clock_seconds(text: &str) -> Option<u64> {
    let whole = text.split('.').next()?;
    let parts: Option<Vec<u64>> = whole.split(':').map(|part| part.parse().ok()).collect();
    let (hours, minutes, seconds) = match parts?[..] {
        [hours, minutes, seconds] => (hours, minutes, seconds),
        [minutes, seconds] => (0, minutes, seconds),
        _ => return None,
    };
    (minutes < 60 && seconds <= 60 && hours < 1 << 32)
        .then(|| hours * 3600 + minutes * 60 + seconds)
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_in_year(year: u64) -> u64 {
    if is_leap(year) { 366 } else { 365 }
}

fn days_in(year: u64, month: u64) -> u64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap(year) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a date.
fn days_before(year: u64, month: u64, day: u64) -> u64 {
    let leap_years = |until: u64| until / 4 - until / 100 + until / 400;
    let years = (year - 1970) * 365 + leap_years(year - 1) - leap_years(1969);
    years + (1..month).map(|month| days_in(year, month)).sum::<u64>() + day - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_count_from_1970() {
        for (date, count) in [
            ("1970-01-01 00:00:00", 0),
            ("2000-02-29T12:00:00", 951_825_600),
            ("2017-10-09 07:01:55", 1_507_532_515),
            ("2024-12-31T23:59:59.75Z", 1_735_689_599),
            ("2024-03-01", 1_709_251_200),
            ("1507532515", 1_507_532_515),
        ] {
            assert_eq!(seconds(date), Some(count), "{date}");
        }
        for date in ["", "Unknown", "2017-13-01 00:00:00", "2017-02-29", "2017-10-09 25:61:00"] {
            assert_eq!(seconds(date), None, "{date}");
        }
    }

    #[test]
    fn dates_print_as_they_were_written() {
        for date in ["1970-01-01 00:00:00", "2000-02-29 12:00:00", "2100-12-31 23:59:59"] {
            assert_eq!(text(seconds(date).expect("a date")), date);
        }
    }

    #[test]
    fn lengths_may_have_days() {
        for (length, count) in [
            ("2-03:04:05", Some(183_845)),
            ("03:04:05", Some(11_045)),
            ("04:05", Some(245)),
            ("04:05.678", Some(245)),
            ("UNLIMITED", None),
            ("1:2:3:4", None),
            ("18446744073709551615:00:00", None),
        ] {
            assert_eq!(length_seconds(length), count, "{length}");
        }
    }
}
