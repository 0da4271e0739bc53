//! Cards of recipes that share out time in rounds.

use crate::card::Made;
use crate::predictors::{PredictCard, Told};
use crate::quantity::{Length, one_or_more, part, period};
use heeler_engine::Policy;
use heeler_parts::shares::{
    BestKindFirst, EqualShares, InParts, Kinds, Matching, Objective, Optimal, RandomPairs,
    RoundTarget, Shares, Spare,
};
use serde::{Deserialize, Serialize};
use toml::Value;

/// What a recipe is made of that shares out time in rounds.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RoundsCard {
    /// Which part of the time each job should have on each kind of GPU.
    pub shares: SharesCard,
    /// How long a round is.
    #[serde(deserialize_with = "period")]
    pub round: Length,
    /// Shares are computed anew no more often than this.
    pub reset: Length,
    /// Whether jobs that are due nothing may use GPUs that would be idle.
    #[serde(default)]
    pub fill_idle: bool,
    /// In how many groups of jobs shares are found, each by itself.
    #[serde(default = "whole", deserialize_with = "one_or_more")]
    pub parts: u32,
    /// Who says how much work jobs are, where that matters.
    #[serde(default = "oracle")]
    pub predict: PredictCard,
}

fn whole() -> u32 {
    1
}

fn oracle() -> PredictCard {
    PredictCard::Oracle
}

/// Shares.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum SharesCard {
    /// Every job its n-th part of every kind.
    Equal,
    /// Every job the same part of the time, whatever its size.
    EqualTime,
    /// First come, first served, on the best kind with room.
    BestKindFirst,
    /// First come, first served, on the kind with the most room, whatever jobs make of it.
    AnyKindFirst,
    /// First come, first served, on the best kind with room, or else beside another.
    Packed {
        /// Two share GPUs if they keep more than this together, of one each.
        above: f64,
    },
    /// Best by an objective.
    Best {
        /// What is best.
        objective: Objective,
        /// Whether rates differ between kinds.
        #[serde(default)]
        kinds: Kinds,
        /// Whether two jobs may share GPUs.
        #[serde(default)]
        pairs: bool,
        /// Who has what is left over when all are done in time.
        #[serde(default)]
        spare: Spare,
    },
    /// Equal shares, of whoever is alone or in a pair drawn at random where GPUs are short.
    RandomPairs {
        /// Pairs stay together while they keep this much of their speeds, on all kinds added up.
        keep: f64,
        /// What pairs are drawn by.
        #[serde(default)]
        seed: u32,
    },
    /// Each job on one kind until it is done, matched so that they are done early on average.
    Matching {
        /// The part of those who wait, the first to come, that is considered.
        #[serde(deserialize_with = "part")]
        alpha: f64,
    },
}

impl Made for RoundsCard {
    fn told(&self) -> Told {
        let looks_ahead = match self.shares {
            SharesCard::Best { objective, .. } => {
                matches!(objective, Objective::Makespan | Objective::FinishTime | Objective::Cost)
            }
            SharesCard::Matching { .. } => true,
            SharesCard::Equal
            | SharesCard::EqualTime
            | SharesCard::BestKindFirst
            | SharesCard::AnyKindFirst
            | SharesCard::RandomPairs { .. }
            | SharesCard::Packed { .. } => false,
        };
        if looks_ahead { self.predict.told() } else { Told::NOTHING }
    }

    fn build(&self) -> Box<dyn Policy> {
        let shares: Box<dyn Shares> = match &self.shares {
            SharesCard::Equal => Box::new(EqualShares::OfGpus),
            SharesCard::EqualTime => Box::new(EqualShares::OfTime),
            SharesCard::BestKindFirst => Box::new(BestKindFirst::new(Kinds::Aware)),
            SharesCard::AnyKindFirst => Box::new(BestKindFirst::new(Kinds::Agnostic)),
            SharesCard::Packed { above } => {
                Box::new(BestKindFirst::new(Kinds::Aware).packing(Some(*above)))
            }
            SharesCard::Best { objective, kinds, pairs, spare } => {
                let best = Optimal::new(*objective, *kinds, self.predict.build());
                Box::new(best.in_pairs(*pairs).sparing(*spare))
            }
            SharesCard::RandomPairs { keep, seed } => Box::new(RandomPairs::new(*keep, *seed)),
            SharesCard::Matching { alpha } => Box::new(Matching::new(*alpha, self.predict.build())),
        };
        let shares =
            if self.parts > 1 { Box::new(InParts::new(shares, self.parts)) } else { shares };
        Box::new(RoundTarget::new(shares, self.round.0, self.reset.0, self.fill_idle))
    }

    fn words(&self) -> Option<Value> {
        Value::try_from(self).ok()
    }
}
