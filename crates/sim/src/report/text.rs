//! How text, numbers and times are written on the page.

use std::fmt::Write;

/// Text that cannot be taken for markup. What no page may contain becomes a replacement character.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' => out.push(letter),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            other if other.is_control() => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

/// At most so many letters, escaped.
pub(super) fn clip(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return escape(text);
    }
    let short: String = text.chars().take(letters - 1).collect();
    escape(&short) + "…"
}

/// A whole number with commas between thousands.
pub(super) fn count(value: usize) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Three digits that count, and all of those before the point.
pub(super) fn number(value: f64) -> String {
    let size = value.abs();
    if size >= 99.95 {
        let whole = count(size.round() as usize);
        return if value < 0.0 { format!("-{whole}") } else { whole };
    }
    let places = if size >= 9.995 { 1 } else { 2 };
    let text = format!("{value:.places$}");
    if text.trim_matches(['-', '0', '.']).is_empty() && size > 0.0 {
        return format!("{value:.1e}");
    }
    text
}

/// The same without zeros at the end.
pub(super) fn short_number(value: f64) -> String {
    let text = number(value);
    match text.contains('.') && !text.contains('e') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

/// A part of a whole.
pub(super) fn percent(part: f64) -> String {
    let percent = part * 100.0;
    let places = usize::from(percent < 99.95 && percent != 0.0);
    format!("{percent:.places$} %")
}

const MINUTE: f64 = 60.0;
const HOUR: f64 = 3_600.0;
const DAY: f64 = 86_400.0;

/// A length of time in its two largest units: `1 d 12 h`, `2 h 30 min`, `45 s`, `20 ms`.
pub(super) fn time(seconds: f64) -> String {
    let whole = |value: f64| count(value as usize);
    let pair = |large: f64, large_name: &str, small: f64, small_name: &str| {
        let total = (seconds / small).round();
        let (of_large, rest) = ((total * small / large).floor(), total % (large / small).round());
        match (of_large, rest) {
            (_, 0.0) => format!("{} {large_name}", whole(of_large)),
            (0.0, _) => format!("{} {small_name}", whole(rest)),
            _ => format!("{} {large_name} {} {small_name}", whole(of_large), whole(rest)),
        }
    };
    match seconds {
        s if s >= 100.0 * DAY => format!("{} d", whole((s / DAY).round())),
        s if s >= DAY => pair(DAY, "d", HOUR, "h"),
        s if s >= HOUR => pair(HOUR, "h", MINUTE, "min"),
        s if s >= MINUTE => pair(MINUTE, "min", 1.0, "s"),
        s if s >= 1.0 => format!("{} s", short_number(s)),
        s if s >= 1e-3 => format!("{} ms", short_number(s * 1e3)),
        s if s > 0.0 => format!("{} µs", short_number(s * 1e6)),
        _ => "0".to_string(),
    }
}

/// The unit in which the smallest of some times has two digits before the point, or nearly.
pub(super) fn unit_for(smallest_s: f64) -> (f64, &'static str) {
    match smallest_s {
        s if s >= 2.0 * DAY => (DAY, "d"),
        s if s >= 2.0 * HOUR => (HOUR, "h"),
        s if s >= 2.0 * MINUTE => (MINUTE, "min"),
        _ => (1.0, "s"),
    }
}

/// A coordinate to a tenth of a pixel.
pub(super) fn px(value: f64) -> String {
    let tenths = (value * 10.0).round() as i64;
    let sign = if tenths < 0 { "-" } else { "" };
    let (whole, rest) = (tenths.abs() / 10, tenths.abs() % 10);
    if rest == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{rest}") }
}

/// Points of a line as an attribute's value.
pub(super) fn points(points: impl IntoIterator<Item = (f64, f64)>) -> String {
    let mut out = String::new();
    let mut last = None;
    for (x, y) in points {
        let point = (px(x), px(y));
        if last.as_ref() == Some(&point) {
            continue;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        let _ = write!(out, "{},{}", point.0, point.1);
        last = Some(point);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_never_markup() {
        assert_eq!(escape("<b a='x'>&\"\u{0}"), "&lt;b a=&#39;x&#39;&gt;&amp;&quot;\u{fffd}");
        assert_eq!(clip("<<<<", 3), "&lt;&lt;…");
        assert_eq!(clip("abc", 3), "abc");
    }

    #[test]
    fn numbers_have_three_digits_that_count() {
        for (value, text) in [
            (0.0, "0.00"),
            (1.234, "1.23"),
            (9.996, "10.0"),
            (12.34, "12.3"),
            (99.96, "100"),
            (1_234_567.8, "1,234,568"),
            (0.0004, "4.0e-4"),
            (-1.5, "-1.50"),
        ] {
            assert_eq!(number(value), text);
        }
        assert_eq!(short_number(0.5), "0.5");
        assert_eq!(short_number(200.0), "200");
        assert_eq!((percent(0.0), percent(0.1234), percent(1.0)), {
            ("0 %".into(), "12.3 %".into(), "100 %".into())
        });
    }

    #[test]
    fn times_read_as_people_say_them() {
        for (seconds, text) in [
            (0.0, "0"),
            (0.02, "20 ms"),
            (45.0, "45 s"),
            (600.0, "10 min"),
            (5_400.0, "1 h 30 min"),
            (7_200.0, "2 h"),
            (129_600.0, "1 d 12 h"),
            (3.0 * 86_400.0, "3 d"),
            (86_399.9, "24 h"),
            (1e9, "11,574 d"),
        ] {
            assert_eq!(time(seconds), text);
        }
    }

    #[test]
    fn coordinates_are_short() {
        for (value, text) in [(0.0, "0"), (-0.01, "0"), (12.34, "12.3"), (-3.96, "-4")] {
            assert_eq!(px(value), text);
        }
        assert_eq!(points([(0.0, 1.0), (0.01, 1.01), (2.0, 3.5)]), "0,1 2,3.5");
    }
}
