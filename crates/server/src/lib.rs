//! (being written)

pub mod foresee;
