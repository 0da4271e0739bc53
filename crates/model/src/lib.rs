//! The nouns of Heeler: time, jobs, clusters, placements, events, plans, actions and reasons.
//!
//! This crate knows nothing of how decisions are made. Everything here is plain data that can be
//! compared, ordered and serialised; quantities are integers wherever a decision compares them.

mod cluster;
mod date;
mod demand;
mod event;
mod ids;
mod job;
mod pairs;
mod placement;
mod plan;
mod quantity;
mod reason;
mod render;
mod report;
mod time;

pub use cluster::{Cluster, Kind, Node, Price, Tenant};
pub use date::universal_time;
pub use demand::{Demand, Reach, Sizes, Step};
pub use event::{Event, Exit};
pub use ids::{
    Generation, JobId, KindId, ModelId, NodeId, RackId, ServiceId, StudyId, TenantId, UserId,
};
pub use job::{
    Appetite, Batch, Course, Deadline, Extras, JobSpec, Regimes, Replica, Stages, Truth,
};
pub use pairs::Pairs;
pub use placement::{Assignment, GPUS_PER_NODE_MAX, Placement, Portion, Slice, Slots};
pub use plan::{Action, Plan, Promise, Reservation, Run, Scope, Stop, Transition, Wait};
pub use quantity::{KindSet, Milli};
pub use reason::{Reason, Tier};
pub use render::{Naming, Words, render};
pub use report::{Load, Report};
pub use time::{SECOND_US, SPAN_EXPECTED, Span, Time};
