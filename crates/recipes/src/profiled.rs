//! Cards of recipes that try jobs out before anything else.

use crate::card::Made;
use crate::predictors::{PredictCard, Told};
use crate::quantity::{Length, amount, one_or_more, period, positive, up_to_one};
use heeler_engine::Policy;
use heeler_parts::profiled::{Pairing, Profiled, Trial};
use serde::{Deserialize, Serialize};
use toml::Value;

/// What a recipe is made of that tries jobs out first.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ProfiledCard {
    /// Nodes on which jobs are tried out.
    pub nodes: u32,
    /// For how long.
    #[serde(deserialize_with = "period")]
    pub time: Length,
    /// Jobs of more GPUs are not.
    #[serde(deserialize_with = "one_or_more")]
    pub gpus: u32,
    /// Whoever has waited so long for a trial goes on without one.
    #[serde(deserialize_with = "period")]
    pub patience: Length,
    /// Who may share GPUs.
    pub sharing: SharingCard,
    /// GPUs are shared only while more jobs than this are expected in ten minutes; always, if zero.
    #[serde(deserialize_with = "amount")]
    pub quiet: f64,
    /// Who says how long jobs run.
    pub predict: PredictCard,
}

/// Who may share GPUs.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum SharingCard {
    /// Nobody.
    Never,
    /// Two jobs of one size that do not both keep GPUs busy.
    Pairs {
        /// Busy for a smaller part of the time, a job leaves room for any other.
        #[serde(deserialize_with = "up_to_one")]
        light: f64,
        /// Busy for a smaller part, it leaves room for another such.
        #[serde(deserialize_with = "up_to_one")]
        heavy: f64,
        /// A newcomer may be predicted to need at most so many times the service of who is there.
        #[serde(deserialize_with = "positive")]
        longer: f64,
    },
}

impl Made for ProfiledCard {
    fn build(&self) -> Box<dyn Policy> {
        let trial = Trial {
            nodes: self.nodes,
            span: self.time.0,
            gpus_max: self.gpus,
            patience: self.patience.0,
        };
        let milli = |part: f64| (part * 1000.0).round() as u32;
        let pairing = match self.sharing {
            SharingCard::Never => None,
            SharingCard::Pairs { light, heavy, longer } => {
                let (light_milli, heavy_milli) = (milli(light), milli(heavy));
                Some(Pairing { light_milli, heavy_milli, longer })
            }
        };
        Box::new(Profiled::new(trial, pairing, self.quiet, self.predict.build()))
    }

    fn told(&self) -> Told {
        self.predict.told()
    }

    fn words(&self) -> Option<Value> {
        Value::try_from(self).ok()
    }
}
