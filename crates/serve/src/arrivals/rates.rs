//! Rates that change over time. Gaps are drawn for a rate of one and stretched by the rate of the
//! moment, so a burst stays a burst whatever the rate is, and scaling the rate keeps the order.

use crate::card::Mistake;
use crate::{SECOND_NS, s_to_ns};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How the rate changes over time: a table of factors, each for as long as the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ShapeCard {
    /// What the rate is multiplied by, step after step.
    pub factors: Vec<f64>,
    /// Seconds that each factor holds.
    #[serde(default = "one_second")]
    pub step_s: f64,
    /// Begin anew at the end of the table; otherwise its last factor stays.
    #[serde(default = "yes")]
    pub repeat: bool,
}

fn one_second() -> f64 {
    1.0
}

fn yes() -> bool {
    true
}

impl ShapeCard {
    pub(super) fn check(&self) -> Result<(), Mistake> {
        let sensible = self.factors.iter().all(|factor| factor.is_finite() && *factor >= 0.0);
        let factors = sensible && !self.factors.is_empty();
        Mistake::unless(factors, "factors", "one or more factors of the rate, none negative")?;
        let step = self.step_s.is_finite() && self.step_s >= 1e-3;
        Mistake::unless(step, "step-s", "seconds, at least a thousandth")
    }

    /// The average of the factors.
    pub fn mean(&self) -> f64 {
        self.factors.iter().sum::<f64>() / self.factors.len() as f64
    }
}

/// Turns gaps of mean one into instants.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Clock {
    /// Requests per nanosecond where the factor is one.
    #[serde(with = "crate::exact")]
    rate: f64,
    shape: Option<Arc<Steps>>,
    /// The step of the last request …
    step: u64,
    /// … when that began …
    since_ns: u64,
    /// … and how far into it the request came.
    #[serde(with = "crate::exact")]
    offset_ns: f64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Steps {
    factors: Vec<f64>,
    step_ns: u64,
    repeat: bool,
}

impl Steps {
    /// The factor of a step; none if no more requests will come.
    fn factor(&self, step: u64) -> Option<f64> {
        let count = self.factors.len() as u64;
        if self.repeat {
            return Some(self.factors[(step % count) as usize]);
        }
        let factor = self.factors[step.min(count - 1) as usize];
        (step < count || factor > 0.0).then_some(factor)
    }
}

impl Clock {
    pub(super) fn new(rate_per_s: f64, shape: Option<&ShapeCard>, from_ns: u64) -> Clock {
        // A table of nothing but zeros would be searched for ever.
        let silent = shape.is_some_and(|shape| shape.factors.iter().all(|factor| *factor == 0.0));
        let shape = shape.map(|shape| {
            Arc::new(Steps {
                factors: shape.factors.clone(),
                step_ns: s_to_ns(shape.step_s),
                repeat: shape.repeat,
            })
        });
        let rate = if silent { 0.0 } else { rate_per_s / SECOND_NS as f64 };
        Clock { rate, shape, step: 0, since_ns: from_ns, offset_ns: 0.0 }
    }

    /// The instant a gap after the last one; none if there will be none.
    pub(super) fn after(&mut self, mut gap: f64) -> Option<u64> {
        if self.rate <= 0.0 {
            return None;
        }
        if let Some(steps) = &self.shape {
            loop {
                let rate = self.rate * steps.factor(self.step)?;
                let left = (steps.step_ns as f64 - self.offset_ns) * rate;
                if gap < left {
                    self.offset_ns += gap / rate;
                    break;
                }
                gap -= left;
                self.step += 1;
                self.since_ns = self.since_ns.checked_add(steps.step_ns)?;
                self.offset_ns = 0.0;
            }
        } else {
            self.offset_ns += gap / self.rate;
            // Whole seconds leave the floating-point part, so that it stays exact.
            let whole = (self.offset_ns / SECOND_NS as f64).floor();
            self.since_ns = self.since_ns.checked_add(whole as u64 * SECOND_NS)?;
            self.offset_ns -= whole * SECOND_NS as f64;
        }
        self.since_ns.checked_add(self.offset_ns as u64)
    }
}
