//! How much a job gets.

mod as_asked;
mod moldable;

pub use as_asked::AsAsked;
pub use moldable::Moldable;
