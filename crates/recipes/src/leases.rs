//! Cards of recipes that promise leases to jobs with deadlines.

use crate::card::Made;
use crate::predictors::{PredictCard, Told};
use crate::quantity::{Length, amount, period, positive};
use heeler_engine::Policy;
use heeler_parts::leases::{Admission, Chronus, Desk, Profile, Terms};
use heeler_parts::place::LocalSearch;
use serde::{Deserialize, Serialize};
use toml::Value;

/// What a recipe is made of that promises leases.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LeasesCard {
    /// How long a lease is.
    #[serde(deserialize_with = "period")]
    pub lease: Length,
    /// How often new jobs are looked at.
    #[serde(deserialize_with = "period")]
    pub admission: Length,
    /// How often idle GPUs are handed out.
    #[serde(deserialize_with = "period")]
    pub tick: Length,
    /// Part by which estimates are raised.
    #[serde(deserialize_with = "amount")]
    pub margin: f64,
    /// What saving and resuming is taken to cost a job of one GPU; as much again for each doubling.
    pub restart: Length,
    /// Whether jobs with deadlines may run outside their leases.
    pub early: bool,
    /// Which of several deadlines a job must be able to keep to be admitted.
    pub admit: AdmitCard,
    /// A deadline up to so many times as far away as asked for is agreed to.
    #[serde(deserialize_with = "positive")]
    pub tolerate: f64,
    /// Who says how long jobs run.
    pub predict: PredictCard,
    /// Moves looked at when leases are decided on.
    pub moves: u32,
    /// Orders of placing tried for a batch of jobs.
    pub tries: u32,
    /// GPUs of every kind that are kept for measuring jobs.
    #[serde(default)]
    pub profile_gpus: u32,
    /// How long a job is measured, for each of its GPUs.
    #[serde(default)]
    pub profile: Length,
    /// How long it is measured at most.
    #[serde(default)]
    pub profile_most: Length,
}

/// Which of several deadlines a job must be able to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum AdmitCard {
    /// The first, which is worth most.
    FirstDeadline,
    /// Any of them.
    AnyDeadline,
}

impl Made for LeasesCard {
    fn build(&self) -> Box<dyn Policy> {
        let terms = Terms {
            leases: Admission {
                lease: self.lease.0,
                any: self.admit == AdmitCard::AnyDeadline,
                tolerate: self.tolerate,
            },
            admission: self.admission.0,
            tick: self.tick.0,
            moves: self.moves,
            place: LocalSearch { tries: self.tries },
            profile: Profile {
                gpus: self.profile_gpus,
                each: self.profile.0,
                most: self.profile_most.0,
            },
        };
        let rules = Chronus {
            margin: self.margin,
            restart: self.restart.0,
            early: self.early,
            predict: self.predict.build(),
        };
        Box::new(Desk::new(terms, Box::new(rules)))
    }

    fn told(&self) -> Told {
        self.predict.told()
    }

    fn words(&self) -> Option<Value> {
        Value::try_from(self).ok()
    }
}
