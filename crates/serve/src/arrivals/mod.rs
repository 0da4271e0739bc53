//! Requests in the order in which they come. A cursor makes them one by one, so that a month of
//! traffic takes no memory.

mod keys;
mod lengths;
mod rates;

pub use keys::KeysCard;
pub use lengths::LengthsCard;
pub use rates::ShapeCard;

use crate::card::Mistake;
use crate::random::draws;
use keys::Zipf;
use rates::Clock;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Somebody asks something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// When.
    pub at_ns: u64,
    /// What, as a small number: equal questions have equal answers, which a cache may keep.
    pub key: u32,
    /// Tokens of the question, for language models.
    pub prompt: u32,
    /// Tokens of the answer, for language models.
    pub output: u32,
}

/// Requests in the order in which they come.
pub trait Arrivals: Iterator<Item = Request> {
    /// When the next request comes; the end of time if none does.
    fn next_ns(&self) -> u64;
}

/// How requests come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TrafficCard {
    /// Requests per second, on average.
    pub rate_per_s: f64,
    /// How bursty they are: the coefficient of variation of the gaps between them, which have a
    /// gamma distribution. One is a Poisson process, zero a metronome.
    #[serde(default = "one")]
    pub cv: f64,
    /// How the rate changes over time.
    #[serde(default)]
    pub shape: Option<ShapeCard>,
    /// Which questions are asked; all are different if this is absent.
    #[serde(default)]
    pub keys: Option<KeysCard>,
    /// How long questions and answers are.
    #[serde(default)]
    pub lengths: Option<LengthsCard>,
}

fn one() -> f64 {
    1.0
}

impl TrafficCard {
    /// A steady Poisson process.
    pub fn poisson(rate_per_s: f64) -> TrafficCard {
        TrafficCard { rate_per_s, cv: 1.0, shape: None, keys: None, lengths: None }
    }

    /// Whether all values make sense.
    pub fn check(&self) -> Result<(), Mistake> {
        let rate = self.rate_per_s.is_finite() && self.rate_per_s >= 0.0;
        Mistake::unless(rate, "rate-per-s", "requests per second, not negative")?;
        let cv = (0.0..=100.0).contains(&self.cv);
        Mistake::unless(cv, "cv", "a number from 0 (a metronome) to 100; 1 is a Poisson process")?;
        if let Some(shape) = &self.shape {
            shape.check().map_err(|mistake| mistake.inside("shape"))?;
        }
        if let Some(keys) = &self.keys {
            keys.check().map_err(|mistake| mistake.inside("keys"))?;
        }
        self.lengths
            .as_ref()
            .map_or(Ok(()), |lengths| lengths.check().map_err(|mistake| mistake.inside("lengths")))
    }
}

/// The requests of one service: made up, or from a list.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Traffic {
    source: Source,
    /// The one to come.
    next: Option<Request>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Source {
    Listed { requests: Arc<[Request]>, taken: usize },
    Made(Box<Maker>),
}

impl Traffic {
    /// Requests as a card describes them, from `from_ns` until before `until_ns`. The `n`-th
    /// request depends on nothing but the card, the seed and the number of the stream.
    pub fn new(card: &TrafficCard, seed: u64, stream: u64, from_ns: u64, until_ns: u64) -> Traffic {
        let mut maker = Maker {
            cv: card.cv,
            clock: Clock::new(card.rate_per_s, card.shape.as_ref(), from_ns),
            keys: card.keys.map(Zipf::new),
            lengths: card.lengths.clone().map(Arc::new),
            seed,
            stream,
            index: 0,
            until_ns,
        };
        let next = maker.make();
        Traffic { source: Source::Made(Box::new(maker)), next }
    }

    /// Requests from a list, which has to be in order of time.
    pub fn listed(requests: impl Into<Arc<[Request]>>) -> Traffic {
        let requests = requests.into();
        let next = requests.first().copied();
        Traffic { source: Source::Listed { requests, taken: 0 }, next }
    }
}

impl Arrivals for Traffic {
    #[inline]
    fn next_ns(&self) -> u64 {
        self.next.as_ref().map_or(u64::MAX, |request| request.at_ns)
    }
}

impl Iterator for Traffic {
    type Item = Request;

    #[inline]
    fn next(&mut self) -> Option<Request> {
        let next = self.next?;
        self.next = match &mut self.source {
            Source::Listed { requests, taken } => {
                *taken += 1;
                requests.get(*taken).copied()
            }
            Source::Made(maker) => maker.make(),
        };
        Some(next)
    }
}

/// Makes requests up.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Maker {
    cv: f64,
    clock: Clock,
    keys: Option<Zipf>,
    lengths: Option<Arc<LengthsCard>>,
    seed: u64,
    stream: u64,
    /// The number of the next request.
    index: u64,
    until_ns: u64,
}

impl Maker {
    fn make(&mut self) -> Option<Request> {
        let mut draws = draws(self.seed, self.stream, self.index);
        let at_ns = self.clock.after(draws.gamma(self.cv)).filter(|at| *at < self.until_ns)?;
        let key = self.keys.as_ref().map_or(self.index as u32, |zipf| zipf.draw(&mut draws));
        let (prompt, output) =
            self.lengths.as_ref().map_or((0, 0), |lengths| lengths.draw(&mut draws));
        self.index += 1;
        Some(Request { at_ns, key, prompt, output })
    }
}

#[cfg(test)]
mod tests;
