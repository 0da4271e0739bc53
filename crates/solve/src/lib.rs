//! Solvers, each behind a small function over its own vocabulary: nothing here knows jobs or
//! clusters. Work is limited in steps, never in time, and every answer says whether it is optimal.

pub mod choose;
pub mod goodput;
mod linear;
mod sharing;
pub mod window;

pub use linear::{Answer, Linear, Status};
pub use sharing::{Division, Finish, Row, Sharing};
