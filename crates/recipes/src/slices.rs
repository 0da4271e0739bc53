//! Cards of recipes whose jobs take turns on seats.

use crate::card::Made;
use crate::predictors::Told;
use crate::quantity::{Length, period};
use heeler_engine::Policy;
use heeler_parts::slices::{Gandiva, Slices};
use serde::{Deserialize, Serialize};
use toml::Value;

/// What a recipe is made of whose jobs take turns.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SlicesCard {
    /// Who gets which seat.
    pub seating: SeatingCard,
    /// How long a turn is.
    #[serde(deserialize_with = "period")]
    pub quantum: Length,
    /// Whether two jobs may share GPUs, as long as that measures faster than turns.
    #[serde(default)]
    pub packing: bool,
    /// Whether jobs that have run may move to other nodes.
    #[serde(default)]
    pub migration: bool,
    /// Whether elastic jobs grow on their node while nobody waits.
    #[serde(default)]
    pub grow: bool,
}

/// Who gets which seat.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum SeatingCard {
    /// By size and height, as Gandiva does.
    Gandiva,
}

impl Made for SlicesCard {
    fn told(&self) -> Told {
        Told::NOTHING
    }

    fn build(&self) -> Box<dyn Policy> {
        let SlicesCard { packing, migration, grow, .. } = *self;
        let seating = match self.seating {
            SeatingCard::Gandiva => Gandiva { packing, migration, grow },
        };
        Box::new(Slices::new(Box::new(seating), self.quantum.0))
    }

    fn words(&self) -> Option<Value> {
        Value::try_from(self).ok()
    }
}
