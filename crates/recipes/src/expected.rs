//! The words of Heeler's own order.

use crate::predictors::PredictCard;
use crate::quantity::{Length, amount, positive};
use heeler_parts::order::Expected;
use serde::{Deserialize, Serialize};

/// Who is expected to need least GPU time, in doubt.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ExpectedCard {
    /// Who says how long jobs are.
    pub predict: PredictCard,
    /// The part of what a job has had that it is taken to need once more, at least.
    #[serde(deserialize_with = "amount")]
    pub doubt: f64,
    /// The power of the factor by which predictions were off that they are divided by.
    #[serde(deserialize_with = "amount")]
    pub distrust: f64,
    /// How many times as much a running job must have left as the one it is stopped for.
    #[serde(deserialize_with = "positive")]
    pub hold: f64,
    /// How many times as long it must run still, beyond that.
    #[serde(deserialize_with = "amount")]
    pub longer: f64,
    /// What stopping and starting again takes, where jobs do not say it.
    pub restart: Length,
    /// For how long a job waits at least before it comes first.
    pub patience: Length,
    /// And how many times what it is expected to need.
    #[serde(deserialize_with = "amount")]
    pub patience_times: f64,
    /// The part of an equal share that a tenant without a quota gets before others get more.
    #[serde(deserialize_with = "amount")]
    pub floor: f64,
}

impl ExpectedCard {
    pub(crate) fn build(&self) -> Expected {
        Expected {
            predict: self.predict.build(),
            doubt: self.doubt,
            distrust: self.distrust,
            hold: self.hold,
            longer: self.longer,
            restart: self.restart.0,
            patience: self.patience.0,
            patience_times: self.patience_times,
            floor: self.floor,
            off: (1.0, 0),
            divided: Default::default(),
            gpus: 0,
            guaranteed: Default::default(),
            kept: Default::default(),
        }
    }
}
