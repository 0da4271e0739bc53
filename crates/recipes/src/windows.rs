//! Cards of recipes that plan a window of rounds ahead.

use crate::card::Made;
use crate::predictors::{PredictCard, Told};
use crate::quantity::{Length, amount, one_or_more, period, positive};
use heeler_engine::Policy;
use heeler_parts::windows::{Aims, Windows};
use serde::{Deserialize, Serialize};
use toml::Value;

/// What a recipe is made of that plans rounds ahead.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct WindowsCard {
    /// How long a round is.
    #[serde(deserialize_with = "period")]
    pub round: Length,
    /// For how many rounds a plan is made.
    #[serde(deserialize_with = "one_or_more")]
    pub ahead: u32,
    /// After how many rounds it is made anew, even if no job came or went.
    #[serde(deserialize_with = "one_or_more")]
    pub renew: u32,
    /// The price of a second that is left to whoever has most left.
    #[serde(deserialize_with = "amount")]
    pub makespan: f64,
    /// The power of the ratio of end to fair end by which late jobs count more.
    #[serde(deserialize_with = "amount")]
    pub fairness: f64,
    /// The ratio from which on a job is late.
    #[serde(deserialize_with = "positive")]
    pub ratio: f64,
    /// Who says how long jobs run of which no profile is known.
    pub predict: PredictCard,
}

impl Made for WindowsCard {
    fn build(&self) -> Box<dyn Policy> {
        let aims = Aims { makespan: self.makespan, fairness: self.fairness, ratio: self.ratio };
        let predict = self.predict.build();
        Box::new(Windows::new(aims, self.round.0, self.ahead, self.renew, predict))
    }

    fn told(&self) -> Told {
        self.predict.told()
    }

    fn words(&self) -> Option<Value> {
        Value::try_from(self).ok()
    }
}
