//! What is journaled: everything the state depends on, stamped, in the order it was taken up.

use crate::ask::Ask;
use heeler_api::Who;
use heeler_backend::{Inventory, Sign};
use heeler_model::Time;
use serde::{Deserialize, Serialize};

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Input {
    /// The journal begins: what there is, and what decides.
    Opened {
        /// Seconds since 1970 at time zero.
        epoch: u64,
        /// What the world has to offer.
        inventory: Inventory,
        /// The name of the recipe.
        recipe: String,
        /// The seed of all chance.
        seed: u64,
    },
    /// Somebody asked for something, and it was checked.
    Asked {
        /// Who.
        who: Who,
        /// What.
        ask: Ask,
    },
    /// The world said something.
    Sign(Sign),
    /// The server was started again.
    Restarted,
    /// A time came that was waited for.
    Tick,
}

/// All that was taken up at one moment. One decision follows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// When.
    pub at: Time,
    /// What, in this order.
    pub inputs: Vec<Input>,
    /// The digest of all decisions before this record, to notice when a replay takes another way.
    pub digest: u64,
}
