//! Recipes: published schedulers as cards, and the registry of those that are built in.

mod card;
mod cells;
mod classes;
mod error;
mod expected;
mod gates;
mod gittins;
mod grants;
mod groups;
mod leases;
mod places;
mod plans;
mod policy;
mod portions;
mod power;
mod predictors;
mod profiled;
mod quantity;
mod registry;
mod rounds;
mod serve;
mod shapes;
mod slices;
mod windows;

pub use card::{Card, Claim, Differs, Knob};
pub use cells::{CellsCard, CellsFit};
pub use classes::ClassesCard;
pub use error::CardError;
pub use gates::{AshaCard, GateCard};
pub use grants::{GrantsCard, RuleCard};
pub use groups::{GroupsCard, RankCard};
pub use leases::{AdmitCard, LeasesCard};
pub use places::PlaceCard;
pub use plans::{
    AheadCard, CloudPriceCard, GadgetCard, GenieCard, SmdCard, SpinCard, UrgentCard, UtilityCard,
};
pub use policy::{OrderCard, PolicyCard};
pub use portions::PortionsCard;
pub use power::PowerCard;
pub use predictors::PredictCard;
pub use profiled::{ProfiledCard, SharingCard};
pub use registry::{BuiltIn, all, find};
pub use rounds::{RoundsCard, SharesCard};
pub use serve::{BatchingCard, ServeCard};
pub use shapes::{AllotCard, ShapesCard};
pub use slices::{SeatingCard, SlicesCard};
pub use windows::WindowsCard;
