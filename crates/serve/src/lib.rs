//! Served models, request by request. A *cell* is one service: its traffic, its replicas and the
//! router between them. Cells know nothing of the cluster; they are advanced lazily, only when a
//! cluster event touches them, and between such points each is a small simulation of its own whose
//! arrivals are a sorted cursor and whose events are the ends of batches, not of requests.
//!
//! Time inside a cell is whole nanoseconds since the start of the simulation.

pub mod arrivals;
pub mod batch;
mod card;
mod cell;
mod exact;
mod fleet;
mod histogram;
pub mod llm;
pub mod placement;
mod random;
mod recurrence;
mod summary;
mod tally;

pub use arrivals::{Arrivals, Request, Traffic, TrafficCard};
pub use batch::RouterCard;
pub use card::{Mistake, ModelCard, ServiceCard, Setting};
pub use cell::{Cell, Replicas, Service};
pub use histogram::Histogram;
pub use random::{Draws, draws};
pub use recurrence::{Recurrence, RecurrenceCard};
pub use summary::Summary;
pub use tally::Answer;

use heeler_model::{Span, Time};

/// Nanoseconds in one second.
pub const SECOND_NS: u64 = 1_000_000_000;

/// An instant of the cluster's clock as a cell counts it.
pub const fn instant_ns(time: Time) -> u64 {
    time.micros().saturating_mul(1_000)
}

/// A span of the cluster's clock as a cell counts it.
pub const fn span_ns(span: Span) -> u64 {
    span.micros().saturating_mul(1_000)
}

/// Milliseconds, as people write them, in nanoseconds; what is negative is zero.
pub(crate) fn ms_to_ns(ms: f64) -> u64 {
    (ms * 1e6).round() as u64
}

/// Seconds, as people write them, in nanoseconds; what is negative is zero.
pub(crate) fn s_to_ns(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}
