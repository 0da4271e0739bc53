//! When nodes are switched off, around whatever a recipe is made of.

use crate::quantity::{Length, amount, up_to_one};
use heeler_engine::Policy;
use heeler_model::Span;
use heeler_parts::power::{Habits, Powered, SLOT};
use serde::{Deserialize, Serialize};

/// When nodes are switched off and on.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PowerCard {
    /// How far back less must be used now than was …
    pub history: Length,
    /// … by at least so many nodes.
    #[serde(deserialize_with = "amount")]
    pub fallen: f64,
    /// How far ahead less must be expected than is used now …
    pub future: Length,
    /// … by at least so many nodes.
    #[serde(deserialize_with = "amount")]
    pub falling: f64,
    /// Fewer nodes than this are not worth switching off.
    pub least: u32,
    /// The part of all nodes that stays on beyond those in use.
    #[serde(deserialize_with = "up_to_one")]
    pub spare: f64,
    /// For how long nothing is switched off after something was switched on.
    pub keep: Length,
}

impl PowerCard {
    /// The policy whose nodes are switched off while they are not needed.
    pub(crate) fn around(&self, inner: Box<dyn Policy>) -> Box<dyn Policy> {
        let habits = Habits {
            history: slots(self.history.0).max(1) as usize,
            fallen: self.fallen,
            future: slots(self.future.0).max(1) as usize,
            falling: self.falling,
            least: self.least,
            spare: 0,
            keep: slots(self.keep.0),
        };
        Box::new(Powered::new(inner, habits, (self.spare * 1000.0).round() as u32))
    }
}

/// Whole slots, rounded up. More than a year is as good as for ever.
fn slots(span: Span) -> u64 {
    span.micros().div_ceil(SLOT.micros()).min(366 * 24 * 6)
}
