//! Cards of recipes that give every job so many GPUs of a kind, in rounds, by how much it would get
//! done there.

use crate::card::Made;
use crate::quantity::Length;
use heeler_engine::Policy;
use heeler_parts::goodput::{Allot, ShapeRounds, Sia};
use serde::{Deserialize, Serialize};
use toml::Value;

/// What a recipe is made of that gives every job so many GPUs of a kind, in rounds.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ShapesCard {
    /// Who gets how many of which.
    pub allot: AllotCard,
    /// How long a round is.
    pub round: Length,
}

/// Who gets how many GPUs of which kind.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum AllotCard {
    /// The best for all together, by normalised goodput.
    #[serde(rename_all = "kebab-case")]
    Sia {
        /// The power to which goodput counts.
        power: f64,
        /// What it costs to leave a job without GPUs.
        penalty: f64,
        /// How many times the most GPUs it has run on a job may have.
        scale_up: u32,
        /// Decimals of costs.
        decimals: u32,
        /// What starting again costs a job that does not say.
        restart: Length,
    },
}

impl Made for ShapesCard {
    fn build(&self) -> Box<dyn Policy> {
        let allot: Box<dyn Allot> = match self.allot {
            AllotCard::Sia { power, penalty, scale_up, decimals, restart } => Box::new(Sia {
                power,
                penalty,
                scale_up,
                decimals: decimals.min(9) as i32,
                restart_s: restart.0.secs_f64(),
            }),
        };
        Box::new(ShapeRounds::new(allot, self.round.0))
    }

    fn knows_the_truth(&self) -> bool {
        false
    }

    fn words(&self) -> Option<Value> {
        Value::try_from(self).ok()
    }
}
