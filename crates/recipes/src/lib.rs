//! Recipes: published schedulers as cards, and the registry of those that are built in.

mod card;
mod error;
mod policy;
mod quantity;
mod registry;
mod rounds;
mod slices;

pub use card::{Card, Claim, Differs, Knob};
pub use error::CardError;
pub use policy::{OrderCard, PlaceCard, PolicyCard};
pub use registry::{BuiltIn, all, find};
pub use rounds::{RoundsCard, SharesCard};
pub use slices::{SeatingCard, SlicesCard};
