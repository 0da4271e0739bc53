//! The simulator: virtual time, a modelled world, workloads, metrics and reports.

mod act;
mod bill;
pub mod cluster;
mod continued;
mod entitled;
mod fork;
mod letting;
mod loans;
mod losses;
pub mod metrics;
mod names;
mod neighbours;
mod phases;
mod queue;
mod record;
pub mod report;
mod rounds;
pub mod services;
mod simulation;
mod study;
mod submit;
pub mod suggest;
mod timeline;
mod training;
mod watch;
pub mod workload;
pub mod world;

pub use entitled::{TenantShare, gini};
pub use letting::Before;
pub use loans::Loan;
pub use losses::{LossCurve, LossReports};
pub use record::{Outcome, Record, Records};
pub use simulation::Simulation;
pub use study::{Best, StudyRecord};
pub use timeline::{Bucket, Level, Timeline};
pub use watch::Watch;
