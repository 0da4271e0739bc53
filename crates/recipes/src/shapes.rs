//! Cards of recipes that give every job so many GPUs of a kind, in rounds, by how much it would get
//! done there.

use crate::card::Made;
use crate::plans::{
    AheadCard, AndreasCard, CloudPriceCard, GadgetCard, GenieCard, SmdCard, SpinCard,
};
use crate::predictors::{PredictCard, Told};
use crate::quantity::{Length, one_or_more, period, positive, shown, up_to_one};
use heeler_engine::Policy;
use heeler_parts::goodput::{Allot, Dorm, Optimus, Settling, ShapeRounds, Sia, Slaq};
use heeler_parts::predict::Losses;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use toml::Value;

/// What a recipe is made of that gives every job so many GPUs of a kind, in rounds.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ShapesCard {
    /// Who gets how many of which.
    pub allot: AllotCard,
    /// How long a round is.
    #[serde(deserialize_with = "period")]
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
        #[serde(deserialize_with = "power")]
        power: f64,
        /// What it costs to leave a job without GPUs.
        #[serde(deserialize_with = "positive")]
        penalty: f64,
        /// How many times the most GPUs it has run on a job may have.
        #[serde(deserialize_with = "one_or_more")]
        scale_up: u32,
        /// Decimals of costs.
        #[serde(deserialize_with = "decimals")]
        decimals: u32,
        /// What starting again costs a job that does not say.
        restart: Length,
    },
    /// As much as possible in use, nobody far from its fair part, few disturbed.
    Dorm {
        /// The most that shares may be away from fair ones, as a part of the most they could.
        #[serde(deserialize_with = "up_to_one")]
        unfairness: f64,
        /// The part of running jobs that may be disturbed in a round.
        #[serde(deserialize_with = "up_to_one")]
        disturbed: f64,
    },
    /// One GPU after the other to whom it saves most time.
    Optimus {
        /// Who says how much is left of a job.
        predict: PredictCard,
        /// Who says how long steps take on more GPUs.
        speeds: SpeedsCard,
        /// Which GPUs.
        place: SettlingCard,
    },
    /// One GPU after the other to whose loss falls most by it.
    Slaq,
    /// The cheapest that keeps each deadline, the most urgent job first.
    Genie(GenieCard),
    /// Planned and reserved when a job comes, at prices.
    Ahead(AheadCard),
    /// The best sum of utilities.
    Smd(SmdCard),
    /// Drawn by a linear programme over intervals.
    Spin(SpinCard),
    /// One step at a time to whom it is worth most.
    Gadget(GadgetCard),
    /// The cheapest at present prices.
    CloudPrice(CloudPriceCard),
    /// Energy and being late, together as cheap as can be.
    Andreas(AndreasCard),
}

/// Who says how long steps take on more GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum SpeedsCard {
    /// A curve that is fitted to what the job reported.
    Learnt,
    /// A profile that was measured before, where there is one.
    Profiled,
}

/// Which GPUs make up a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum SettlingCard {
    /// The largest first, each where it just fits.
    Close,
    /// The smallest first, each on the nodes with most room.
    MostRoom,
    /// The smallest first, each in even parts on as few nodes as possible.
    Even,
}

impl SettlingCard {
    fn build(self) -> Settling {
        match self {
            SettlingCard::Close => Settling::Close,
            SettlingCard::MostRoom => Settling::MostRoom,
            SettlingCard::Even => Settling::Even,
        }
    }
}

impl Made for ShapesCard {
    fn build(&self) -> Box<dyn Policy> {
        let allot: Box<dyn Allot> = match &self.allot {
            AllotCard::Genie(card) => Box::new(card.build()),
            AllotCard::CloudPrice(card) => Box::new(card.build()),
            AllotCard::Andreas(card) => Box::new(card.build(self.round.0)),
            AllotCard::Ahead(card) => Box::new(card.build()),
            AllotCard::Smd(card) => Box::new(card.build()),
            AllotCard::Spin(card) => Box::new(card.build()),
            AllotCard::Gadget(card) => Box::new(card.build(self.round.0)),
            &AllotCard::Sia { power, penalty, scale_up, decimals, restart } => Box::new(Sia {
                power,
                penalty,
                scale_up,
                decimals: decimals.min(9) as i32,
                restart_s: restart.0.secs_f64(),
            }),
            AllotCard::Optimus { predict, speeds, place } => Box::new(Optimus {
                predict: predict.build(),
                profiled: *speeds == SpeedsCard::Profiled,
                settling: place.build(),
            }),
            AllotCard::Slaq => Box::new(Slaq { round: self.round.0, losses: Losses::default() }),
            &AllotCard::Dorm { unfairness, disturbed } => Box::new(Dorm { unfairness, disturbed }),
        };
        Box::new(ShapeRounds::new(allot, self.round.0))
    }

    fn told(&self) -> Told {
        let predict = match &self.allot {
            AllotCard::Sia { .. } | AllotCard::Dorm { .. } => return Told::NOTHING,
            // Until there is a curve, a job falls over all that was declared.
            AllotCard::Slaq => return Told::DECLARED,
            AllotCard::Optimus { speeds: SpeedsCard::Profiled, .. } => return Told::TRUTH,
            AllotCard::Optimus { predict, .. } => predict,
            AllotCard::Genie(card) => &card.predict,
            AllotCard::CloudPrice(card) => &card.predict,
            AllotCard::Andreas(card) => &card.predict,
            AllotCard::Ahead(card) => &card.predict,
            AllotCard::Smd(card) => &card.predict,
            AllotCard::Spin(card) => &card.predict,
            AllotCard::Gadget(card) => &card.predict,
        };
        predict.told()
    }

    fn words(&self) -> Option<Value> {
        Value::try_from(self).ok()
    }
}

fn power<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let number = f64::deserialize(from)?;
    let fits = number != 0.0 && (-10.0..=10.0).contains(&number);
    let wrong = || {
        Error::custom(format!("expected a number from -10 to 10 but 0, found {}", shown(number)))
    };
    if fits { Ok(number) } else { Err(wrong()) }
}

fn decimals<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    let number = i64::deserialize(from)?;
    let fitting = u32::try_from(number).ok().filter(|number| *number <= 9);
    fitting.ok_or_else(|| Error::custom(format!("expected a number from 0 to 9, found {number}")))
}
