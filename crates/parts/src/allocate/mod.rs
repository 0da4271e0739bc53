//! How much a job gets.

mod as_asked;
mod ladder;
mod moldable;

pub use as_asked::AsAsked;
pub use ladder::{Ladder, Since};
pub use moldable::Moldable;
