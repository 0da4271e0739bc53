//! The commands, one file each.

pub(crate) mod compare;
pub(crate) mod demo;
mod describe;
pub(crate) mod recipes;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod services;
pub(crate) mod sim;
pub(crate) mod trace;
pub(crate) mod tune;
mod verdict;
pub(crate) mod why;
pub(crate) mod worlds;
