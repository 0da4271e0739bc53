//! Seconds since 1970 as a date and a time of day.

/// Seconds since 1970 as a date and a time of day in universal time.
pub fn universal_time(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Years are counted from March, so that the day that some years have comes last.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::universal_time;

    #[test]
    fn times_have_dates() {
        assert_eq!(universal_time(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(universal_time(951_868_799), "2000-02-29 23:59:59 UTC");
        assert_eq!(universal_time(1_709_251_200), "2024-03-01 00:00:00 UTC");
        assert_eq!(universal_time(4_107_542_400), "2100-03-01 00:00:00 UTC");
    }
}
