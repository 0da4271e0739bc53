//! Cards of recipes with jobs of two classes on the same GPUs.

use crate::card::Made;
use crate::predictors::Told;
use crate::quantity::{positive, up_to_one};
use heeler_engine::Policy;
use heeler_parts::classes::{Classes, Uses};
use serde::{Deserialize, Serialize};
use toml::Value;

/// What a recipe is made of that has jobs of two classes.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ClassesCard {
    /// For which part of the time a job that is guaranteed its GPUs is taken to keep them busy.
    #[serde(deserialize_with = "up_to_one")]
    pub guaranteed: f64,
    /// One that takes what is left over.
    #[serde(deserialize_with = "positive")]
    pub opportunistic: f64,
    /// GPUs that are busy for a smaller part take one more of the latter.
    #[serde(deserialize_with = "positive")]
    pub below: f64,
}

impl Made for ClassesCard {
    fn build(&self) -> Box<dyn Policy> {
        let ClassesCard { guaranteed, opportunistic, below } = *self;
        Box::new(Classes::new(Uses { guaranteed, opportunistic, below }))
    }

    fn told(&self) -> Told {
        Told::NOTHING
    }

    fn words(&self) -> Option<Value> {
        Value::try_from(self).ok()
    }
}
