//! Gates as they are written in cards: a word, a table, or several of them one behind the other.

use crate::quantity::{Length, part};
use heeler_engine::Gate;
use heeler_parts::gate::{AllOf, Asha, Replicas, Variant, WithinQuota};
use heeler_parts::serve::Scale;
use heeler_parts::tune::{Ladder, Leftover};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// Gates.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum GateCard {
    /// Everybody may be considered.
    #[default]
    None,
    /// Nobody beyond their tenant's quota.
    WithinQuota,
    /// Trials of a study go on while they are among its best.
    Asha(AshaCard),
    /// As many replicas of each service as its load calls for.
    Replicas(ReplicasCard),
    /// Whoever passes all of these.
    All(Vec<GateCard>),
}

/// Asynchronous successive halving.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct AshaCard {
    /// One of so many goes on from each rung.
    #[serde(deserialize_with = "two_or_more")]
    pub eta: u32,
    /// Iterations of the first rung.
    #[serde(deserialize_with = "one_or_more")]
    pub first: u32,
    /// The most iterations of a trial; as many as it has, if not given.
    #[serde(deserialize_with = "limit", skip_serializing_if = "Option::is_none")]
    pub most: Option<u32>,
    /// What becomes of trials that are not among the best.
    pub variant: Variant,
    /// What becomes of paused trials once a study has nothing better to do.
    pub leftover: Leftover,
    /// How many trials of a study run at a time; as many as there is room for, if not given.
    #[serde(deserialize_with = "limit", skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
}

/// How many replicas a service has.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ReplicasCard {
    /// Part of the time that replicas should be busy.
    #[serde(deserialize_with = "part")]
    pub busy: f64,
    /// Part of the requests that may be late.
    #[serde(deserialize_with = "part")]
    pub late: f64,
    /// The fewest replicas.
    pub least: u32,
    /// For how long fewer must have been enough before replicas are taken away.
    pub patience: Length,
}

impl Default for AshaCard {
    fn default() -> AshaCard {
        AshaCard {
            eta: 4,
            first: 1,
            most: None,
            variant: Variant::default(),
            leftover: Leftover::default(),
            workers: None,
        }
    }
}

impl GateCard {
    pub(crate) fn build(&self) -> Option<Box<dyn Gate>> {
        match self {
            GateCard::None => None,
            GateCard::WithinQuota => Some(Box::new(WithinQuota)),
            GateCard::Asha(AshaCard { eta, first, most, variant, leftover, workers }) => {
                let ladder = Ladder { first: *first, eta: *eta, most: *most };
                Some(Box::new(Asha::new(ladder, *variant, *leftover, *workers)))
            }
            GateCard::Replicas(ReplicasCard { busy, late, least, patience }) => {
                let (busy, late) = (*busy, *late);
                let scale = Scale { busy, late, least: *least, patience: patience.0 };
                Some(Box::new(Replicas::new(scale)))
            }
            GateCard::All(gates) => {
                Some(Box::new(AllOf(gates.iter().filter_map(GateCard::build).collect())))
            }
        }
    }
}

fn two_or_more<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    at_least(2, from)
}

fn one_or_more<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    at_least(1, from)
}

fn limit<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    at_least(1, from).map(Some)
}

fn at_least<'de, D: Deserializer<'de>>(least: u32, from: D) -> Result<u32, D::Error> {
    let number = i64::deserialize(from)?;
    let fitting = u32::try_from(number).ok().filter(|number| *number >= least);
    fitting
        .ok_or_else(|| Error::custom(format!("expected a number from {least} on, found {number}")))
}
