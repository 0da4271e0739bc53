//! Numbers as people read them.

/// A count with its thousands apart: `12,345`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A part of one as percent: `84.1 %`.
pub(crate) fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}

/// A time in the unit that suits it, three digits: `45.0 s`, `3.21 h`, `12.5 d`.
pub(crate) fn seconds(seconds: f64) -> String {
    let (value, unit) = match seconds.abs() {
        s if s < 120.0 => (seconds, "s"),
        s if s < 7_200.0 => (seconds / 60.0, "min"),
        s if s < 172_800.0 => (seconds / 3_600.0, "h"),
        _ => (seconds / 86_400.0, "d"),
    };
    format!("{} {unit}", decimal(value))
}

/// Three digits, or all before the point: `0.0123`, `1.23`, `12.3`, `123`, `12,345`.
pub(crate) fn decimal(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        v if v < 0.001 => format!("{value:.1e}"),
        v if v < 0.1 => format!("{value:.4}"),
        v if v < 1.0 => format!("{value:.3}"),
        v if v < 9.995 => format!("{value:.2}"),
        v if v < 99.95 => format!("{value:.1}"),
        v => {
            let sign = if value < 0.0 { "-" } else { "" };
            format!("{sign}{}", count(v.round() as u64))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        for (value, text) in [
            (0.0, "0"),
            (0.01234, "0.0123"),
            (0.1234, "0.123"),
            (1.234, "1.23"),
            (9.999, "10.0"),
            (99.99, "100"),
            (12_345.6, "12,346"),
            (-1_234.0, "-1,234"),
        ] {
            assert_eq!(decimal(value), text);
        }
        assert_eq!(seconds(90.0), "90.0 s");
        assert_eq!(seconds(5_400.0), "90.0 min");
        assert_eq!(seconds(1e6), "11.6 d");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(percent(0.8412), "84.1 %");
    }
}
