//! Who runs first.

mod fifo;
mod gittins;
mod las;
mod mlfq;
mod shortest;
mod size;
mod tenant_share;

pub use fifo::{Fifo, Priority};
pub use gittins::{Gittins, GittinsIndex};
pub use las::Las;
pub use mlfq::{Mlfq, Served};
pub use shortest::{Shortest, Weigh};
pub use size::FewestGpus;
pub use tenant_share::TenantShare;
