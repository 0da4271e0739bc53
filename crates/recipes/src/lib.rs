//! Recipes: published schedulers as cards, and the registry of those that are built in.

mod card;
mod cells;
mod error;
mod policy;
mod quantity;
mod registry;
mod rounds;

pub use card::{Card, Claim, Differs, Knob};
pub use cells::{CellsCard, CellsFit};
pub use error::CardError;
pub use policy::{OrderCard, PlaceCard, PolicyCard};
pub use registry::{BuiltIn, all, find};
pub use rounds::{RoundsCard, SharesCard};
