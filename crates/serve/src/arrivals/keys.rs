//! Which question is asked: few are popular and many are rare, by Zipf's law. Drawn by rejection
//! from the inverted integral (Hörmann and Derflinger, 1996), so that a million questions need no
//! table.

use crate::card::Mistake;
use crate::random::Draws;
use serde::{Deserialize, Serialize};

/// Popularity of questions: the `n`-th most popular is asked in proportion to `n^-exponent`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct KeysCard {
    /// How many different questions there are.
    pub count: u32,
    /// How much more popular the popular ones are; zero is all alike.
    #[serde(default = "one")]
    pub exponent: f64,
}

fn one() -> f64 {
    1.0
}

impl KeysCard {
    pub(super) fn check(&self) -> Result<(), Mistake> {
        let count = (1..=100_000_000).contains(&self.count);
        Mistake::unless(count, "count", "a number from 1 to 100000000")?;
        let exponent = (0.0..=10.0).contains(&self.exponent);
        Mistake::unless(exponent, "exponent", "a number from 0 to 10")
    }
}

/// Draws keys, the most popular of which is zero.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Zipf {
    count: u32,
    exponent: f64,
    #[serde(with = "crate::exact")]
    low: f64,
    #[serde(with = "crate::exact")]
    high: f64,
    /// Below this a draw is accepted without more ado.
    #[serde(with = "crate::exact")]
    sure: f64,
}

impl Zipf {
    pub(super) fn new(card: KeysCard) -> Zipf {
        let exponent = card.exponent;
        let low = integral(1.5, exponent) - 1.0;
        let high = integral(f64::from(card.count) + 0.5, exponent);
        let sure = 2.0 - inverse(integral(2.5, exponent) - power(2.0, exponent), exponent);
        Zipf { count: card.count, exponent, low, high, sure }
    }

    pub(super) fn draw(&self, draws: &mut Draws) -> u32 {
        loop {
            let area = self.high + draws.unit() * (self.low - self.high);
            let x = inverse(area, self.exponent);
            let rank = x.round().clamp(1.0, f64::from(self.count));
            let accepted = rank - x <= self.sure
                || area >= integral(rank + 0.5, self.exponent) - power(rank, self.exponent);
            if accepted {
                return rank as u32 - 1;
            }
        }
    }
}

fn power(x: f64, exponent: f64) -> f64 {
    (-exponent * x.ln()).exp()
}

/// The integral of `x^-exponent` from one.
fn integral(x: f64, exponent: f64) -> f64 {
    let log = x.ln();
    let rest = (1.0 - exponent) * log;
    // Around an exponent of one the plain formula divides zero by zero.
    if rest.abs() < 1e-8 { log } else { log * rest.exp_m1() / rest }
}

fn inverse(area: f64, exponent: f64) -> f64 {
    let rest = (area * (1.0 - exponent)).max(-1.0);
    if rest.abs() < 1e-8 { area.exp() } else { (area * rest.ln_1p() / rest).exp() }
}
