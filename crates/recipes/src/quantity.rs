//! Quantities as they are written in cards: times, GPU times, and how often.

use heeler_model::Span;
use heeler_parts::power::SLOT;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A time, written such as `10 min`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Length(pub Span);

/// GPU time, written such as `3250 gpu-s` or `1 gpu-hour`.
#[derive(Clone, Copy, Debug)]
pub struct GpuTime(pub Span);

/// How often a job must have waited the time it ran; `never`, or a number.
#[derive(Clone, Copy, Debug, Default)]
pub struct Promote(pub Option<u64>);

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Length, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map(Length).map_err(Error::custom)
    }
}

impl Serialize for Length {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{} s", self.0.secs_f64()))
    }
}

/// How long a lease is: `until-done`, or a time of at least a second.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lease(pub Option<Span>);

impl<'de> Deserialize<'de> for Lease {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Lease, D::Error> {
        let text = String::deserialize(from)?;
        if text == "until-done" {
            return Ok(Lease(None));
        }
        let span: Span = text.parse().map_err(Error::custom)?;
        let wrong = || Error::custom(format!("expected `until-done` or at least {PERIOD_MIN}"));
        if span >= PERIOD_MIN { Ok(Lease(Some(span))) } else { Err(wrong()) }
    }
}

impl Serialize for Lease {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            None => to.serialize_str("until-done"),
            Some(span) => Length(span).serialize(to),
        }
    }
}

/// Rounds, turns and leases shorter than this would only be looked at, never used.
const PERIOD_MIN: Span = Span::from_secs(1);

/// A length that comes again and again: at least a second.
pub(crate) fn period<'de, D: Deserializer<'de>>(from: D) -> Result<Length, D::Error> {
    let length = Length::deserialize(from)?;
    let wrong = || Error::custom(format!("expected a time of at least {PERIOD_MIN}"));
    if length.0 >= PERIOD_MIN { Ok(length) } else { Err(wrong()) }
}

/// A number as people write it: one of hundreds of digits by its power of ten.
pub(crate) fn shown(number: f64) -> String {
    let plain = number == 0.0 || !number.is_finite() || (1e-6..1e15).contains(&number.abs());
    if plain { number.to_string() } else { format!("{number:e}") }
}

/// Whole slots of ten minutes, the time between two looks at how many nodes are used.
pub(crate) fn slots<'de, D: Deserializer<'de>>(from: D) -> Result<Length, D::Error> {
    let length = Length::deserialize(from)?;
    let found = length.0;
    let wrong = || {
        Error::custom(format!("expected whole tens of minutes such as `20 min`, found `{found}`"))
    };
    if found.micros().is_multiple_of(SLOT.micros()) { Ok(length) } else { Err(wrong()) }
}

/// The same, and at least one.
pub(crate) fn some_slots<'de, D: Deserializer<'de>>(from: D) -> Result<Length, D::Error> {
    let length = slots(from)?;
    let wrong = || Error::custom("expected at least `10 min`");
    if length.0 >= SLOT { Ok(length) } else { Err(wrong()) }
}

/// A part: above 0 and up to 1.
pub(crate) fn part<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let number = f64::deserialize(from)?;
    let wrong =
        || Error::custom(format!("expected a part above 0 and up to 1, found {}", shown(number)));
    if number > 0.0 && number <= 1.0 { Ok(number) } else { Err(wrong()) }
}

/// A part: from 0 to 1.
pub(crate) fn up_to_one<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let number = f64::deserialize(from)?;
    let wrong = || Error::custom(format!("expected a part from 0 to 1, found {}", shown(number)));
    if (0.0..=1.0).contains(&number) { Ok(number) } else { Err(wrong()) }
}

/// A number from 0 to 1000.
pub(crate) fn amount<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let number = f64::deserialize(from)?;
    let wrong =
        || Error::custom(format!("expected a number from 0 to 1000, found {}", shown(number)));
    if (0.0..=1000.0).contains(&number) { Ok(number) } else { Err(wrong()) }
}

/// A number above 0 and up to 1000.
pub(crate) fn positive<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let number = amount(from)?;
    let wrong = || Error::custom("expected a number above 0, found 0");
    if number > 0.0 { Ok(number) } else { Err(wrong()) }
}

/// The spread of an error: from 0 to 10, which is more than anybody could err by.
pub(crate) fn sigma<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let number = f64::deserialize(from)?;
    let wrong =
        || Error::custom(format!("expected a number from 0 to 10, found {}", shown(number)));
    if (0.0..=10.0).contains(&number) { Ok(number) } else { Err(wrong()) }
}

/// A number of at least one.
pub(crate) fn one_or_more<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    let number = i64::deserialize(from)?;
    let fitting = u32::try_from(number).ok().filter(|number| *number >= 1);
    fitting.ok_or_else(|| Error::custom(format!("expected a number from 1 on, found {number}")))
}

impl<'de> Deserialize<'de> for GpuTime {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<GpuTime, D::Error> {
        let text = String::deserialize(from)?;
        let plain = text.replace("gpu-", "");
        match plain.parse() {
            Ok(span) if plain != text => Ok(GpuTime(span)),
            _ => Err(Error::custom(format!(
                "expected GPU time such as `3250 gpu-s` or `1 gpu-hour`, found `{text}`"
            ))),
        }
    }
}

impl Serialize for GpuTime {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{} gpu-s", self.0.secs_f64()))
    }
}

impl<'de> Deserialize<'de> for Promote {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Promote, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Word(String),
            Number(f64),
        }
        match Written::deserialize(from)? {
            Written::Word(word) if word == "never" => Ok(Promote(None)),
            Written::Number(times) if times > 0.0 => Ok(Promote(Some((times * 1000.0) as u64))),
            _ => Err(Error::custom("expected `never` or a number above zero")),
        }
    }
}

impl Serialize for Promote {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            None => to.serialize_str("never"),
            Some(milli) => to.serialize_f64(milli as f64 / 1000.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn numbers_are_shown_as_people_write_them() {
        let numbers = [0.0, 3.0, -0.25, 1e6, 1e300, -2.5e-9, f64::INFINITY];
        let expected = ["0", "3", "-0.25", "1000000", "1e300", "-2.5e-9", "inf"];
        assert_eq!(numbers.map(shown), expected.map(String::from));
    }
}
