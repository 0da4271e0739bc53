//! (being written)

pub mod mps;
pub mod pause;
