//! What travels between Heeler's server and those who talk to it: submissions, views of jobs, nodes
//! and tenants, and how mistakes are said. Plain data with a schema; everything is versioned by the
//! path it travels on (`/v1`).

mod account;
mod answer;
mod problem;
pub mod read;
mod select;
mod submission;
mod view;

pub use account::{Role, TenantChange, TenantView, TokenMade, TokenRequest, TokenView, Who};
pub use answer::{
    AuditView, Calibration, Eviction, Forecast, Helps, ReasonView, Usage, UsageRow, WhatIf,
    WhatIfAnswer, Why,
};
pub use problem::{Code, Problem};
pub use select::{Selection, Selector};
pub use submission::{
    Array, Class, Condition, Dependency, Early, Fed, Gpus, Pause, Ranks, Regimes, Submission,
    Submitted,
};
pub use view::{
    AttemptView, JobEvent, JobState, JobView, NodeView, RecipeChange, RecipeView, RunReport,
    ServerView,
};

/// The version of everything here, as it stands in paths.
pub const VERSION: &str = "v1";
