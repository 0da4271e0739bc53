//! The live control plane without its world: a pure state machine from stamped inputs to orders.
//!
//! A server writes a [`Record`] to its journal and syncs it, then [`Live::apply`]s it, answers
//! those who asked, and lets [`Live::decide`] say what the world has to do. Applying the same
//! records to the same snapshot gives the same orders, the same answers and the same digest on
//! every machine: so a journal is a trace, and a server that was killed goes on where it was.

mod accounts;
mod ask;
mod change;
mod check;
mod digest;
mod input;
mod job;
mod jobs;
mod live;
mod nodes;
mod orders;
mod recipe;
mod save;
mod signs;
mod store;
mod tenants;
mod views;

pub use ask::{Act, Ask, Done};
pub use change::Change;
pub use check::signal_number;
pub use input::{Input, Record};
pub use live::{Decision, Live};
pub use views::{Filter, Measured, Outlook, Which};
