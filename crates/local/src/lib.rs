//! This machine as a world: real processes on its GPUs, or on GPUs that are made up.
//!
//! Each attempt of a job is run by a small process of its own, its *shepherd*, which starts and
//! reaps the job's processes, keeps what they print and how they ended, and outlives the server.
//! A server that was killed finds the shepherds again and goes on.

mod cgroup;
mod core;
mod folder;
mod inventory;
mod keeper;
mod local;
mod logs;
pub mod mps;
pub mod pause;
mod pool;
mod process;
mod setup;
mod shepherd;
mod tidy;
mod wire;

pub use inventory::Emulated;
pub use local::Local;
pub use setup::{LocalError, Setup};
pub use shepherd::shepherd;
