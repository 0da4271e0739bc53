//! Helios' estimate (Hu et al., SC 2021): a tenth of what jobs with names like it say, and the rest
//! of what trees say that were trained on all of them.

use super::{Facts, Learner, Names, Trees};
use serde::{Deserialize, Serialize};

/// Names and trees together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Blend {
    names: Names,
    trees: Trees,
    /// The part of the names.
    part: f64,
}

impl Blend {
    /// Nothing seen yet; names have so large a part in what is said.
    pub fn new(part: f64) -> Blend {
        Blend { part, ..Blend::default() }
    }
}

impl Learner for Blend {
    type Noted = <Trees as Learner>::Noted;

    fn guess(&self, facts: &Facts) -> (Option<f64>, Self::Noted) {
        let (named, ()) = self.names.guess(facts);
        let (grown, noted) = self.trees.guess(facts);
        let guess = match (named, grown) {
            (Some(named), Some(grown)) => Some(self.part * named + (1.0 - self.part) * grown),
            (named, grown) => grown.or(named),
        };
        (guess, noted)
    }

    fn learn(&mut self, facts: &Facts, noted: &Self::Noted, seconds: f64) {
        self.names.learn(facts, &(), seconds);
        self.trees.learn(facts, noted, seconds);
    }
}
