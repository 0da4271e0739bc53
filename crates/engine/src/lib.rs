//! The engine of Heeler: a pure state machine from stamped events to actions.
//!
//! `Engine` keeps the `State`; a `Policy` makes a `Plan` of a `View` of it; the `checker` looks
//! the plan over; the `differ` turns it into actions. Most policies are a `Pipeline` of parts.
//!
//! # Determinism
//! No clock, no I/O, no threads, no hash order, no randomness but the named streams of
//! [`View::rng`]. Planning takes `&self` and leaves no trace.

mod calendar;
mod calibration;
mod changing;
mod checker;
mod differ;
mod ending;
mod engine;
mod explain;
mod fleet;
mod holding;
mod note;
mod pipeline;
mod python_random;
mod rules;
mod snapshot;
mod state;
mod traits;
mod view;

pub use calendar::Calendar;
pub use calibration::{Band, Calibration};
pub use checker::{Fault, check};
pub use differ::{Change, Gain, diff};
pub use engine::{Engine, Report, Step};
pub use explain::{Edit, Verdict};
pub use fleet::{Beside, Draft, Fleet, Grip, NodeSet, Pick, Savepoint};
pub use pipeline::{Cadence, Fit, Pack, Parts, Pipeline, Preempt};
pub use python_random::PythonRandom;
pub use rules::{
    Crossing, Gangs, Idle, Index, RoundClock, Rules, Seats, Shares, Spill, Starts, Ties, Untried,
};
pub use snapshot::Snapshot;
pub use state::{
    DemandId, Hidden, Job, JobTable, Leaving, Noted, Phase, Progress, State, Tempo, TenantUse,
    Tenants, Touched,
};
pub use traits::{
    Allocate, Door, Gate, Key, Line, Needs, Note, Order, Place, Policy, Power, Predict, Resize,
    Want, Wants,
};
pub use view::{Detail, Service, View, stream};
