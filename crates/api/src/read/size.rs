//! Sizes of memory, numbers of GPUs with their kinds, shares of a GPU, and signals before the end.

use crate::Early;

/// Signals that can be asked for, with their numbers.
const SIGNALS: [(&str, i32); 12] = [
    ("HUP", 1),
    ("INT", 2),
    ("QUIT", 3),
    ("KILL", 9),
    ("USR1", 10),
    ("USR2", 12),
    ("ALRM", 14),
    ("TERM", 15),
    ("CONT", 18),
    ("STOP", 19),
    ("TSTP", 20),
    ("WINCH", 28),
];

/// Seconds before the end that Slurm's own default is.
const BEFORE_S: u64 = 60;

/// A size in MB: `4096`, `16G`, `1.5T`, `512M`, `2GB`.
pub fn memory_mb(text: &str) -> Result<u32, String> {
    let text = text.trim();
    let wrong = || format!("expected a size such as 4096 (MB), 16G or 1T, found `{text}`");
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..end].parse().map_err(|_| wrong())?;
    let unit = text[end..].trim().to_ascii_uppercase();
    let mb = match unit.trim_end_matches("IB").trim_end_matches('B') {
        "K" => number / 1024.0,
        "M" => number,
        "" if unit.is_empty() => number,
        "G" => number * 1024.0,
        "T" => number * 1024.0 * 1024.0,
        _ => return Err(wrong()),
    };
    if mb > f64::from(u32::MAX) {
        return Err(format!("`{text}` is more than any node has"));
    }
    Ok(mb.ceil() as u32)
}

/// A number of GPUs, with their kind if one is named: `4`, `a100:4`, `gpu:a100:4`.
pub fn gpus(text: &str) -> Result<(Option<String>, u32), String> {
    let wrong = || format!("expected a number of GPUs such as 4 or a100:4, found `{text}`");
    let text = text.trim();
    let (kind, count) = match text.rsplit_once(':') {
        Some((kind, count)) => (Some(kind), count),
        None => (None, text),
    };
    let count: u32 = count.parse().map_err(|_| wrong())?;
    match kind {
        Some(kind) if !is_name(kind) => Err(wrong()),
        kind => Ok((kind.map(str::to_string), count)),
    }
}

/// What Slurm calls generic resources: `gpu:4` or `gpu:a100:4`.
pub fn generic(text: &str) -> Result<(Option<String>, u32), String> {
    let wrong = || format!("expected gpu:4 or gpu:a100:4, found `{text}`");
    match text.trim() {
        "none" => Ok((None, 0)),
        "gpu" => Ok((None, 1)),
        // Several kinds of resources in one list are not for us.
        text if text.contains(',') => Err(wrong()),
        text => gpus(text.strip_prefix("gpu:").ok_or_else(wrong)?).map_err(|_| wrong()),
    }
}

pub(super) fn is_name(text: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
    !text.is_empty() && text.len() <= 64 && text.chars().all(letter)
}

/// A whole number of at least so much.
pub fn number(text: &str, least: u32) -> Result<u32, String> {
    match text.trim().parse::<u32>() {
        Ok(number) if number >= least => Ok(number),
        _ => Err(format!("expected a whole number of at least {least}, found `{text}`")),
    }
}

/// Thousandths of a GPU: `0.5`, `50%` or `500m`.
pub fn share_milli(text: &str) -> Result<u32, String> {
    let text = text.trim();
    let wrong = || format!("expected a share of a GPU such as 0.5, 50% or 500m, found `{text}`");
    let (number, scale) = match (text.strip_suffix('%'), text.strip_suffix('m')) {
        (Some(number), _) => (number, 10.0),
        (_, Some(number)) => (number, 1.0),
        _ => (text, 1000.0),
    };
    let milli = number.trim().parse::<f64>().map_err(|_| wrong())? * scale;
    if !(1.0..=1000.0).contains(&milli) {
        return Err(wrong());
    }
    Ok(milli.round() as u32)
}

/// The number of a signal: `TERM`, `SIGUSR1`, `10`.
pub fn signal(text: &str) -> Result<i32, String> {
    let upper = text.trim().to_ascii_uppercase();
    let name = upper.strip_prefix("SIG").unwrap_or(&upper);
    let known = SIGNALS.iter().find(|(known, _)| *known == name).map(|(_, number)| *number);
    let number = known.or_else(|| name.parse().ok().filter(|number| (1..=64).contains(number)));
    number.ok_or_else(|| format!("expected a signal such as TERM, USR1 or 10, found `{text}`"))
}

/// A signal before the end: `TERM@120`, `B:USR1@60`, `10`.
pub fn early(text: &str) -> Result<Early, String> {
    let text = text.trim();
    // Whether only the batch shell gets it makes no difference here.
    let rest = ["B:", "R:", "RB:", "BR:"].iter().find_map(|lead| text.strip_prefix(lead));
    let (name, before) = match rest.unwrap_or(text).split_once('@') {
        Some((name, before)) => (name, Some(before)),
        None => (rest.unwrap_or(text), None),
    };
    let number = signal(name)?;
    let before_s = match before {
        None => BEFORE_S,
        Some(before) => before
            .trim()
            .parse()
            .map_err(|_| format!("expected seconds after `@`, as in TERM@120, found `{before}`"))?,
    };
    let known = SIGNALS.iter().find(|(_, known)| *known == number);
    let signal = known.map_or_else(|| number.to_string(), |(name, _)| (*name).to_string());
    Ok(Early { signal, before_s })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, mb) in [
            ("4096", 4096),
            ("16G", 16_384),
            ("16GB", 16_384),
            ("16GiB", 16_384),
            ("1.5g", 1_536),
            ("1T", 1_048_576),
            ("2048K", 2),
            ("1K", 1),
            ("0", 0),
        ] {
            assert_eq!(memory_mb(text), Ok(mb), "{text}");
        }
        for text in ["", "G", "16X", "-1", "1e3", "99999999T", "1..2", "4B"] {
            assert!(memory_mb(text).is_err(), "{text}");
        }
    }

    #[test]
    fn gpus_have_kinds() {
        assert_eq!(gpus("4"), Ok((None, 4)));
        assert_eq!(gpus("a100:8"), Ok((Some("a100".into()), 8)));
        assert_eq!(generic("gpu:2"), Ok((None, 2)));
        assert_eq!(generic("gpu:h100:2"), Ok((Some("h100".into()), 2)));
        assert_eq!(generic("gpu"), Ok((None, 1)));
        for text in ["", "a100", ":4", "a100:", "a/b:2", "4:a100", "-1"] {
            assert!(gpus(text).is_err(), "{text}");
        }
        for text in ["", "4", "license:2", "gpu:x", "gpu:1,shard:2"] {
            assert!(generic(text).is_err(), "{text}");
        }
    }

    #[test]
    fn shares_and_signals() {
        for (text, milli) in [("0.5", 500), ("50%", 500), ("250m", 250), ("1", 1000)] {
            assert_eq!(share_milli(text), Ok(milli), "{text}");
        }
        for text in ["0", "1.5", "x", "NaN", "-1", "200%", ""] {
            assert!(share_milli(text).is_err(), "{text}");
        }
        let early_of = |text| early(text).map(|early| (early.signal, early.before_s));
        assert_eq!(early_of("TERM@120"), Ok(("TERM".into(), 120)));
        assert_eq!(early_of("B:SIGUSR1@60"), Ok(("USR1".into(), 60)));
        assert_eq!(early_of("10"), Ok(("USR1".into(), 60)));
        for text in ["", "TERM@", "TERM@x", "NOPE@5", "99@5", "0"] {
            assert!(early(text).is_err(), "{text}");
        }
    }
}
