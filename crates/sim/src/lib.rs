//! The simulator: virtual time, a modelled world, workloads, metrics and reports.

mod act;
pub mod cluster;
pub mod metrics;
mod names;
mod queue;
mod record;
pub mod report;
mod rounds;
mod simulation;
mod study;
pub mod suggest;
mod timeline;
mod watch;
pub mod workload;
pub mod world;

pub use record::{Outcome, Record, Records};
pub use simulation::Simulation;
pub use study::{Best, StudyRecord};
pub use timeline::{Bucket, Level, Timeline};
pub use watch::Watch;
