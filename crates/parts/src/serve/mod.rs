//! Parts for served models.

mod scale;

pub use scale::{Scale, Wanted};
