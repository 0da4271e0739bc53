//! What the loop shows to everybody else: the state, what changed lately, figures.

use crate::clock::Clock;
use crate::events::Ring;
use crate::foresee::Estimates;
use crate::metrics::Metrics;
use crate::settings::Limits;
use heeler_backend::Look;
use heeler_live::Live;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// See above. Only the loop writes to the state.
pub(crate) struct Board {
    live: Mutex<Live>,
    /// Those who look wait here, so that the loop never waits for more than one of them.
    queue: Mutex<()>,
    /// What can be looked at in the world.
    pub(crate) look: Arc<dyn Look>,
    /// Estimates that were given, and how good they were.
    pub(crate) estimates: Mutex<Estimates>,
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
    pub(crate) fn new(
        live: Live,
        clock: Clock,
        limits: Limits,
        notes: Vec<String>,
        look: Arc<dyn Look>,
    ) -> Board {
        Board {
            live: Mutex::new(live),
            queue: Mutex::new(()),
            look,
            estimates: Mutex::default(),
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
    pub(crate) fn live(&self) -> MutexGuard<'_, Live> {
        let _turn = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let mut live = self.for_loop();
        live.see(self.clock.now());
        live
    }

    /// The state, for the loop alone.
    pub(crate) fn for_loop(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Estimates that were given.
    pub(crate) fn estimates(&self) -> MutexGuard<'_, Estimates> {
        self.estimates.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
