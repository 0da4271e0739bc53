//! Solvers, each behind a small function over its own vocabulary: nothing here knows jobs or
//! clusters. Work is limited in steps, never in time, and every answer says whether it is optimal.

pub mod auction;
pub mod choose;
pub mod goodput;
mod linear;
pub mod partition;
mod sharing;
pub mod trade;

pub use linear::{Answer, Linear, Status};
pub use sharing::{Division, Finish, Row, Sharing};
