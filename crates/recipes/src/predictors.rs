//! The words for predictors: who says how long jobs run.

use crate::quantity::{part, sigma, up_to_one};
use heeler_engine::Predict;
use heeler_parts::predict::{
    Blend, By, Convergence, Declared, Error, Judged, Learned, Mean, Names, Noisy, Oracle, Trees,
};
use serde::{Deserialize, Serialize};

/// What a recipe is told of how long jobs run, beside what it sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    /// What only a simulator knows.
    pub(crate) truth: bool,
    /// What owners declared, if only where nothing else is known.
    pub(crate) declared: bool,
}

impl Told {
    pub(crate) const NOTHING: Told = Told { truth: false, declared: false };
    pub(crate) const TRUTH: Told = Told { truth: true, declared: false };
    pub(crate) const DECLARED: Told = Told { truth: false, declared: true };

    /// By several predictors.
    pub(crate) fn by<'a>(predictors: impl IntoIterator<Item = &'a PredictCard>) -> Told {
        predictors.into_iter().map(PredictCard::told).fold(Told::NOTHING, |all, told| Told {
            truth: all.truth || told.truth,
            declared: all.declared || told.declared,
        })
    }
}

/// Predictors.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum PredictCard {
    /// The truth, which only a simulator knows.
    Oracle,
    /// What the owner declared.
    Declared,
    /// The truth times a log-normal error.
    Noisy {
        /// Standard deviation of the logarithm of the error.
        #[serde(deserialize_with = "sigma")]
        sigma: f64,
    },
    /// The truth with errors as those of Helios' predictor.
    HeliosErrors,
    /// The mean of earlier jobs that were alike.
    Mean {
        /// Which are alike.
        #[serde(default)]
        by: By,
    },
    /// The mean of earlier jobs with names like it.
    Names,
    /// Boosted trees trained on the jobs that have ended.
    Trees,
    /// Names and trees together.
    Blend {
        /// The part of the names.
        #[serde(deserialize_with = "up_to_one")]
        names: f64,
    },
    /// Until its loss has settled, by a curve through what it reported; what was declared, before.
    Convergence {
        /// The part of all it falls that a settled loss falls from one report to the next.
        #[serde(deserialize_with = "part")]
        settled: f64,
    },
}

impl PredictCard {
    pub(crate) fn build(&self) -> Box<dyn Predict> {
        let noisy = |error| -> Box<dyn Predict> { Box::new(Noisy { error }) };
        let (name, predict): (_, Box<dyn Predict>) = match *self {
            PredictCard::Oracle => ("oracle", Box::new(Oracle)),
            PredictCard::Declared => ("declared", Box::new(Declared)),
            PredictCard::Noisy { sigma } => ("noisy", noisy(Error::LogNormal { sigma })),
            PredictCard::HeliosErrors => ("helios-errors", noisy(Error::Helios)),
            PredictCard::Mean { by } => ("mean", Box::new(Learned::new(Mean::new(by)))),
            PredictCard::Names => ("names", Box::new(Learned::new(Names::default()))),
            PredictCard::Trees => ("trees", Box::new(Learned::new(Trees::default()))),
            PredictCard::Blend { names } => ("blend", Box::new(Learned::new(Blend::new(names)))),
            PredictCard::Convergence { settled } => {
                ("convergence", Box::new(Convergence::new(settled)))
            }
        };
        Box::new(Judged::new(name, predict))
    }

    /// What it is told of how long jobs run.
    pub(crate) fn told(&self) -> Told {
        match self {
            PredictCard::Oracle | PredictCard::Noisy { .. } | PredictCard::HeliosErrors => {
                Told::TRUTH
            }
            // Written out, so that whoever adds a predictor thinks of it. Those that learn take
            // what was declared where they have seen nothing; trees also learn from it.
            PredictCard::Declared
            | PredictCard::Mean { .. }
            | PredictCard::Names
            | PredictCard::Trees
            | PredictCard::Blend { .. }
            | PredictCard::Convergence { .. } => Told::DECLARED,
        }
    }
}
