//! The parts that recipes are made of, by family. Each is one small file with a doc comment that
//! says what it does and where it comes from.

pub mod allocate;
pub mod cells;
pub mod classes;
pub mod gate;
pub mod goodput;
pub mod grants;
pub mod groups;
pub mod leases;
pub mod order;
pub mod packing;
pub mod place;
pub mod plans;
pub mod portions;
pub mod power;
pub mod predict;
pub mod profiled;
pub mod resize;
mod round_turn;
pub mod serve;
pub mod shares;
pub mod slices;
pub mod tune;
pub mod virtual_clusters;
pub mod windows;
