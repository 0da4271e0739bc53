//! Solvers, each behind a small function over its own vocabulary: nothing here knows jobs or
//! clusters. Work is limited in steps, never in time, and every answer says whether it is optimal.

mod assignment;
pub mod auction;
pub mod choose;
pub mod goodput;
mod groups;
pub mod interleave;
mod linear;
mod matching;
mod sharing;
pub mod sizes;
pub mod trade;
pub mod window;

pub use assignment::cheapest_assignment;
pub use groups::{group_of, in_groups};
pub use linear::{Answer, Linear, Status};
pub use matching::{Matching, heaviest_matching};
pub use sharing::{Division, Finish, Floor, Row, Sharing, Within};
