//! Two jobs on one GPU at the same time: what was measured of that, and whom to try.

mod ledger;
mod pairs;

pub use ledger::Ledger;
pub(crate) use pairs::TURNS;
pub use pairs::pair_up;
