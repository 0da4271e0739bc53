//! Helios' estimate (Hu et al., SC 2021): a tenth of what jobs with names like it say, and the rest
//! of what trees say that were trained on all of them. Until there are trees, and where no name is
//! like it, whatever its owner says counts.

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
        let (grown, noted) = self.trees.guess(facts);
        // What other jobs took says less than its owner does; once trees have grown they know how
        // much that is worth.
        if grown.is_none() && facts.declared_s > 0.0 {
            return (self.names.alike(facts).and_then(super::past::Sum::mean_s), noted);
        }
        let (named, ()) = self.names.guess(facts);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_are_believed_until_there_is_more_to_go_by() {
        let facts =
            |name: &str, declared_s| Facts { name: name.into(), declared_s, ..Facts::default() };
        let mut blend = Blend::new(0.5);
        let noted = blend.guess(&facts("news", 0.0)).1;
        blend.learn(&facts("news", 0.0), &noted, 8.0);
        let guess = |name, declared_s| blend.guess(&facts(name, declared_s)).0;
        assert_eq!(guess("beta", 3.0), None, "its owner knows");
        assert_eq!(guess("beta", 0.0), Some(8.0), "nobody does: as long as the other");
        assert_eq!(guess("news", 3.0), Some(8.0), "it was seen before");
    }
}
