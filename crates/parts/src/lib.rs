//! The parts that recipes are made of, by family. Each is one small file with a doc comment that
//! says what it does and where it comes from.

pub mod allocate;
pub mod gate;
pub mod order;
pub mod place;
pub mod predict;
pub mod resize;
pub mod shares;
pub mod tune;
