//! Cards of recipes that decide in rounds how much CPU and memory jobs get beside their GPUs.

use crate::card::Made;
use crate::places::PlaceCard;
use crate::predictors::{PredictCard, Told};
use crate::quantity::{Length, period};
use heeler_engine::Policy;
use heeler_parts::portions::{Give, Portions, Rank, Ranking};
use serde::{Deserialize, Serialize};
use toml::Value;

/// What a recipe is made of that decides what jobs get beside their GPUs.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PortionsCard {
    /// Who comes first.
    pub order: Rank,
    /// What jobs get beside their GPUs.
    pub give: Give,
    /// Which GPUs.
    #[serde(default)]
    pub place: PlaceCard,
    /// How long a round is.
    #[serde(deserialize_with = "period")]
    pub round: Length,
    /// Who says how long jobs run, where the order asks for it.
    pub predict: PredictCard,
}

impl Made for PortionsCard {
    fn build(&self) -> Box<dyn Policy> {
        let ranking = Ranking { rank: self.order, give: self.give, predict: self.predict.build() };
        Box::new(Portions::new(ranking, self.place.build(), self.round.0))
    }

    fn told(&self) -> Told {
        if self.order.asks() { self.predict.told() } else { Told::NOTHING }
    }

    fn words(&self) -> Option<Value> {
        Value::try_from(self).ok()
    }
}
