//! Quantities as they are written in cards: times, GPU times, and how often.

use heeler_model::Span;
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
