//! Solvers, each behind a small function over its own vocabulary: nothing here knows jobs or
//! clusters. Work is limited in steps, never in time, and every answer says whether it is optimal.

mod assignment;
pub mod auction;
pub mod boost;
pub mod choose;
mod falling;
pub mod goodput;
mod groups;
pub mod interleave;
mod linear;
mod matching;
mod nonnegative;
mod sharing;
pub mod sizes;
pub mod trade;
pub mod window;

pub use assignment::cheapest_assignment;
pub use falling::{Fall, Falling, LOSSES_MIN, fit_falling};
pub use groups::{group_of, in_groups};
pub use linear::{Answer, Linear, Status};
pub use matching::{Matching, Twos, heaviest_from_halves, heaviest_matching, heaviest_twos};
pub use nonnegative::fit_nonnegative;
pub use sharing::{Beside, Division, Finish, Floor, Pair, Row, Sharing, Within};
