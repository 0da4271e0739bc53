//! When nodes are switched off, around whatever a recipe is made of.

use crate::quantity::{Length, amount, slots as whole_slots, some_slots, up_to_one};
use heeler_engine::Policy;
use heeler_model::Span;
use heeler_parts::power::{Habits, Powered, SLOT};
use serde::{Deserialize, Serialize};

/// When nodes are switched off and on.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PowerCard {
    /// How far back less must be used now than was …
    #[serde(deserialize_with = "some_slots")]
    pub history: Length,
    /// … by at least so many nodes.
    #[serde(deserialize_with = "amount")]
    pub fallen: f64,
    /// How far ahead less must be expected than is used now …
    #[serde(deserialize_with = "some_slots")]
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
    #[serde(deserialize_with = "whole_slots")]
    pub keep: Length,
}

impl PowerCard {
    /// The policy whose nodes are switched off while they are not needed.
    pub(crate) fn around(&self, inner: Box<dyn Policy>) -> Box<dyn Policy> {
        let habits = Habits {
            history: slots(self.history.0) as usize,
            fallen: self.fallen,
            future: slots(self.future.0) as usize,
            falling: self.falling,
            least: self.least,
            spare: 0,
            keep: slots(self.keep.0),
        };
        Box::new(Powered::new(inner, habits, (self.spare * 1000.0).round() as u32))
    }
}

/// How many slots. More than a year is as good as for ever.
fn slots(span: Span) -> u64 {
    (span.micros() / SLOT.micros()).min(366 * 24 * 6)
}

#[cfg(test)]
mod tests {
    use crate::{Card, find};

    #[test]
    fn times_are_whole_tens_of_minutes() {
        let set = |name: &str, value: &str| {
            let knobs = [(name.to_string(), value.to_string())];
            let text = find("helios-ces").expect("a card").text;
            Card::read_with(text, "helios-ces", &knobs).map_err(|error| error.to_string())
        };
        for (name, value) in [("history", "7min"), ("keep", "3min"), ("future", "65 min")] {
            let wrong = set(name, value).expect_err("no whole slot");
            assert!(wrong.contains("expected whole tens of minutes such as `20 min`"), "{wrong}");
        }
        assert!(set("history", "0 s").expect_err("no slot").contains("at least `10 min`"));
        for (name, value) in [("history", "1h"), ("keep", "0 s"), ("future", "600 s")] {
            assert!(set(name, value).is_ok(), "{name}={value}");
        }
    }
}
