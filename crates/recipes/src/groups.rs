//! Cards of recipes that put jobs into groups which share their GPUs.

use crate::card::Made;
use crate::policy::CadenceCard;
use crate::predictors::{PredictCard, Told};
use crate::quantity::{GpuTime, one_or_more, shown};
use heeler_engine::Policy;
use heeler_parts::groups::{Forming, Groups, Interleaving, Pairing, Rank, Turns};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use toml::Value;

/// What a recipe is made of that forms groups.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct GroupsCard {
    /// Who comes first.
    pub order: RankCard,
    /// How many jobs a group may have.
    #[serde(deserialize_with = "one_or_more")]
    pub most: u32,
    /// Who is put with whom.
    #[serde(default)]
    pub pairing: Pairing,
    /// Whether groups that are slower than one after the other are undone.
    #[serde(default)]
    pub unpack: bool,
    /// In which order the jobs of a group take their turns.
    #[serde(default)]
    pub turns: Turns,
    /// How much longer than its stages say a round of two, of three and so on is taken to be.
    #[serde(deserialize_with = "factors")]
    pub slowdown: Vec<f64>,
    /// When decisions are taken.
    #[serde(default)]
    pub cadence: CadenceCard,
}

/// Who comes first.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum RankCard {
    /// Who has the least GPU time left.
    Left {
        /// Who says how long jobs are.
        predict: PredictCard,
    },
    /// Who has had the least GPU time.
    Served,
    /// Who has had less GPU time than each of these, the first first.
    Queues {
        /// The limits.
        limits: Vec<GpuTime>,
    },
}

/// Numbers above 0.
fn factors<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
    let numbers = Vec::<f64>::deserialize(from)?;
    let wrong = numbers.iter().find(|number| !(number.is_finite() && **number > 0.0));
    match wrong {
        Some(number) => {
            Err(Error::custom(format!("expected numbers above 0, found {}", shown(*number))))
        }
        None => Ok(numbers),
    }
}

impl Made for GroupsCard {
    fn build(&self) -> Box<dyn Policy> {
        let rank = match &self.order {
            RankCard::Left { predict } => Rank::Left(predict.build()),
            RankCard::Served => Rank::Served,
            RankCard::Queues { limits } => {
                Rank::Queues(limits.iter().map(|limit| limit.0).collect())
            }
        };
        let interleaving = Interleaving { turns: self.turns, slowdown: self.slowdown.clone() };
        let (most, pairing, unpack) = (self.most as usize, self.pairing, self.unpack);
        let forming = Forming { most, pairing, unpack, interleaving };
        Box::new(Groups::new(rank, forming, self.cadence.build()))
    }

    fn told(&self) -> Told {
        match &self.order {
            RankCard::Left { predict } => predict.told(),
            RankCard::Served | RankCard::Queues { .. } => Told::NOTHING,
        }
    }

    fn words(&self) -> Option<Value> {
        Value::try_from(self).ok()
    }
}
