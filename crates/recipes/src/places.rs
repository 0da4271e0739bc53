//! Placements as they are written in cards: which GPUs a job gets.

use crate::quantity::up_to_one;
use heeler_engine::{Pick, Place};
use heeler_parts::place;
use place::{Racks, Remainder};
use serde::{Deserialize, Serialize};

/// Placements.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum PlaceCard {
    /// Any free GPUs.
    Anywhere,
    /// The first node with room; large jobs on whole nodes.
    FirstFit,
    /// As first fit, with large jobs in the first rack with room.
    FirstFitOneRack,
    /// The fullest node with room; large jobs on whole nodes.
    BestFit,
    /// The emptiest node with room; large jobs on whole nodes.
    WorstFit,
    /// The fullest node with room; large jobs on whole nodes of one rack where possible.
    #[default]
    Consolidate,
    /// As consolidate, but spread rather than wait.
    ConsolidateOrSpread,
    /// The node with most room, and then the next, so that nodes are few.
    MostRoom,
    /// In even parts on as few nodes as possible.
    Even,
    /// Over as many nodes as possible.
    Spread,
    /// Keep skewed jobs together, spread others if need be.
    SkewAware,
    /// As best fit, with the remainder of large jobs on the emptiest node.
    BestFitRemainderEmptiest,
    /// The fullest node with room; the fastest kind is left to jobs that run on nothing else.
    SpareBest {
        /// The part of the fastest GPUs that stays free of others.
        #[serde(deserialize_with = "up_to_one")]
        keep: f64,
    },
}

impl PlaceCard {
    pub(crate) fn build(self) -> Box<dyn Place> {
        let fit = |pick, racks, relax, remainder| {
            Box::new(place::Fit { pick, remainder, relax, racks }) as Box<dyn Place>
        };
        match self {
            PlaceCard::Anywhere => Box::new(place::Anywhere),
            PlaceCard::FirstFit => fit(Pick::First, Racks::Any, false, Remainder::AsPicked),
            PlaceCard::FirstFitOneRack => {
                fit(Pick::First, Racks::First, false, Remainder::AsPicked)
            }
            PlaceCard::BestFit => fit(Pick::Tightest, Racks::Any, false, Remainder::AsPicked),
            PlaceCard::WorstFit => fit(Pick::Loosest, Racks::Any, false, Remainder::AsPicked),
            PlaceCard::Consolidate => {
                fit(Pick::Tightest, Racks::Fullest, false, Remainder::AsPicked)
            }
            PlaceCard::ConsolidateOrSpread => {
                fit(Pick::Tightest, Racks::Fullest, true, Remainder::AsPicked)
            }
            PlaceCard::BestFitRemainderEmptiest => {
                fit(Pick::Tightest, Racks::Any, false, Remainder::Emptiest)
            }
            PlaceCard::MostRoom => Box::new(place::MostRoom),
            PlaceCard::Even => Box::new(place::Even),
            PlaceCard::Spread => Box::new(place::Spread),
            PlaceCard::SkewAware => Box::new(place::SkewAware),
            PlaceCard::SpareBest { keep } => Box::new(place::SpareBest { keep }),
        }
    }
}
