//! What the loop shows to everybody else: the state, what changed lately, figures.

use crate::clock::Clock;
use crate::events::Ring;
use crate::metrics::Metrics;
use crate::settings::Limits;
use heeler_live::Live;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// See above. Only the loop writes to the state.
pub(crate) struct Board {
    live: RwLock<Live>,
    pub(crate) clock: Clock,
    pub(crate) limits: Limits,
    pub(crate) metrics: Metrics,
    pub(crate) ring: Ring,
    /// Asks that the loop has not taken up.
    pub(crate) waiting: AtomicUsize,
    /// Records in the journal.
    pub(crate) records: AtomicU64,
    /// Decisions since the start.
    pub(crate) decisions: AtomicU64,
    /// Whether the loop runs, and could write to its journal the last time it tried.
    pub(crate) running: AtomicBool,
    pub(crate) storing: AtomicBool,
    /// When the server was started, seconds since 1970.
    pub(crate) started: f64,
    /// What was found when it was started.
    pub(crate) notes: Vec<String>,
}

impl Board {
    pub(crate) fn new(live: Live, clock: Clock, limits: Limits, notes: Vec<String>) -> Board {
        Board {
            live: RwLock::new(live),
            clock,
            metrics: Metrics::new(),
            ring: Ring::new(limits.events),
            limits,
            waiting: AtomicUsize::new(0),
            records: AtomicU64::new(0),
            decisions: AtomicU64::new(0),
            running: AtomicBool::new(true),
            storing: AtomicBool::new(true),
            started: crate::clock::wall_us() as f64 / 1e6,
            notes,
        }
    }

    /// The state, to look at.
    pub(crate) fn live(&self) -> RwLockReadGuard<'_, Live> {
        self.live.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state, to change: for the loop alone.
    pub(crate) fn live_mut(&self) -> RwLockWriteGuard<'_, Live> {
        self.live.write().unwrap_or_else(PoisonError::into_inner)
    }
}
