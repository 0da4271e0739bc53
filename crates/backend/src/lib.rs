//! The contract between the control plane and a world: what a world is told to do, what it says of
//! what happened, and what it has to offer. This machine's processes are one world; other clusters'
//! are behind the same trait.

mod launch;
mod look;
mod pattern;
mod sign;

pub use launch::{Expected, Identity, Launch, Order, Ranks, Resume};
pub use look::{Look, Piece, Window, frame, resized};
pub use pattern::Labels;
pub use sign::{Ending, Said, Sign, Way};

use heeler_model::Cluster;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a world has to offer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Inventory {
    /// Kinds, nodes and racks. Tenants are not the world's business; one stands for all.
    pub cluster: Cluster,
    /// Whether the GPUs are made up.
    pub emulated: bool,
    /// Whether jobs can be moved off a GPU by the driver.
    pub checkpoints: bool,
    /// What a user should know, such as that cgroups are not permitted.
    pub notes: Vec<String>,
}

/// Where a world says what happened. It may be called from any thread, and does not block.
pub type Tell = Arc<dyn Fn(Sign) + Send + Sync>;

/// A world that jobs run in.
///
/// Orders are carried out at most once: one for a (job, generation) that has been seen, or is older
/// than what has been seen, does nothing but repeat the sign that answered it. No call waits for a
/// job; what comes of it is told later.
pub trait Backend: Send {
    /// What there is.
    fn inventory(&self) -> Inventory;

    /// After a restart, before any order: what should be there. The world goes on with what still
    /// runs, says how the rest ended, starts what was never started, and ends what is not expected.
    fn adopt(&mut self, expected: Vec<Expected>);

    /// Do something.
    fn carry_out(&mut self, order: Order);

    /// What each GPU of each node says of itself, where it can be asked: `use-percent`,
    /// `memory-used-mb`, `power-w`, `temperature-c`.
    fn readings(&mut self) -> Vec<Vec<BTreeMap<String, f64>>>;

    /// What can be looked at from other threads.
    fn look(&self) -> Arc<dyn Look> {
        Arc::new(look::Blind)
    }
}
