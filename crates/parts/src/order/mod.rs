//! Who runs first.

mod chains;
mod epochs;
mod expected;
mod fifo;
mod gain;
mod gittins;
mod gittins_index;
mod las;
mod mlfq;
mod newcomers;
mod patient;
mod shortest;
mod size;
mod tenant_share;

pub use chains::Chains;
pub use epochs::Epochs;
pub use expected::Expected;
pub use fifo::{Fifo, Priority};
pub use gain::Gain;
pub use gittins::{Equals, Gittins, LastQueue};
pub use gittins_index::GittinsIndex;
pub use las::Las;
pub use mlfq::{Mlfq, Served};
pub use newcomers::Newcomers;
pub use patient::Patient;
pub use shortest::{Shortest, Weigh};
pub use size::FewestGpus;
pub use tenant_share::TenantShare;
