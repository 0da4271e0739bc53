//! Recipes: published schedulers as cards, and the registry of those that are built in.

mod card;
mod error;
mod gates;
mod policy;
mod quantity;
mod registry;
mod rounds;

pub use card::{Card, Claim, Differs, Knob};
pub use error::CardError;
pub use gates::{AshaCard, GateCard};
pub use policy::{OrderCard, PlaceCard, PolicyCard};
pub use registry::{BuiltIn, all, find};
pub use rounds::{RoundsCard, SharesCard};
