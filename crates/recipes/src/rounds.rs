//! Cards of recipes that share out time in rounds.

use crate::card::Made;
use crate::quantity::{Length, period};
use heeler_engine::Policy;
use heeler_parts::predict::Oracle;
use heeler_parts::shares::{
    BestKindFirst, EqualShares, Kinds, Objective, Optimal, RoundTarget, Shares,
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
}

/// Shares.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum SharesCard {
    /// Every job its n-th part of every kind.
    Equal,
    /// Every job the same part of the time, whatever its size.
    EqualTime,
    /// First come, first served, on the best kind with room.
    BestKindFirst,
    /// Best by an objective.
    Best {
        /// What is best.
        objective: Objective,
        /// Whether rates differ between kinds.
        #[serde(default)]
        kinds: Kinds,
    },
}

impl Made for RoundsCard {
    fn knows_the_truth(&self) -> bool {
        let by_work = |objective| matches!(objective, Objective::Makespan | Objective::FinishTime);
        matches!(self.shares, SharesCard::Best { objective, .. } if by_work(objective))
    }

    fn build(&self) -> Box<dyn Policy> {
        let shares: Box<dyn Shares> = match self.shares {
            SharesCard::Equal => Box::new(EqualShares::OfGpus),
            SharesCard::EqualTime => Box::new(EqualShares::OfTime),
            SharesCard::BestKindFirst => Box::new(BestKindFirst),
            SharesCard::Best { objective, kinds } => {
                Box::new(Optimal::new(objective, kinds, Box::new(Oracle)))
            }
        };
        Box::new(RoundTarget::new(shares, self.round.0, self.reset.0, self.fill_idle))
    }

    fn words(&self) -> Option<Value> {
        Value::try_from(self).ok()
    }
}
