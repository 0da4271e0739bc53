//! What transitions cost, by name. A paper's cost rule is a table of these; a live world measures
//! its own.

use heeler_model::{Span, Transition};
use serde::{Deserialize, Serialize};

/// The cost of a transition, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Cost {
    /// For every job.
    pub fixed_s: f64,
    /// More for each doubling of the GPUs.
    pub per_doubling_s: f64,
    /// More for jobs of more than eight GPUs.
    pub beyond_eight_s: f64,
}

impl Cost {
    /// The same for every job.
    pub const fn fixed(fixed_s: f64) -> Cost {
        Cost { fixed_s, per_doubling_s: 0.0, beyond_eight_s: 0.0 }
    }

    /// What it costs a job of so many GPUs.
    pub fn of(&self, gpus: u32) -> Span {
        let doublings = f64::from(gpus.max(1)).log2();
        let beyond = if gpus > 8 { self.beyond_eight_s } else { 0.0 };
        Span::from_secs_f64(self.fixed_s + self.per_doubling_s * doublings + beyond)
    }
}

/// What transitions cost. GPUs are held all the while.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Costs {
    /// Until a job that starts for the first time makes progress.
    pub start: Cost,
    /// Until a job that is stopped has saved its work and frees its GPUs.
    pub save: Cost,
    /// Until a job that was stopped makes progress again.
    pub restore: Cost,
    /// Until a job that was moved makes progress again; in addition to saving.
    pub relocate: Cost,
    /// Until a job that changed its size makes progress again; in addition to saving.
    pub resize: Cost,
    /// Work that a stop undoes, counted in run time.
    pub undo: Cost,
    /// How often a job saves its work while it runs, seconds; never, if not given. What was done
    /// since is lost when a node breaks.
    pub checkpoint_every_s: Option<f64>,
}

impl Costs {
    /// The time until a job makes progress.
    pub fn until_progress(&self, transition: Transition, gpus: u32) -> Span {
        match transition {
            Transition::Start => self.start.of(gpus),
            Transition::Resume => self.restore.of(gpus),
            Transition::Move => self.relocate.of(gpus),
            Transition::Grow | Transition::Shrink => self.resize.of(gpus),
        }
    }
}
