//! Where a world differs from the plain one in how decisions are taken. Each switch exists because
//! some author's published program works that way and its results can only be met by doing the
//! same. Recipes do not look at these; the pipeline and the forecasts do.

use serde::{Deserialize, Serialize};

/// Who goes first when an order says two jobs are equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ties {
    /// Who was submitted first, then the smaller number.
    #[default]
    Submitted,
    /// Who was ahead at the last decision, as a program that keeps one list and sorts it again
    /// and again has it. Costs a pass over all jobs for each decision.
    Previous,
}

/// How it is forecast when a running job's service reaches a limit. Service itself is always
/// counted right; with a wrong forecast it is looked at only when something happens, so jobs cross
/// late, and all forecasts are made anew at every decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Crossing {
    /// When its GPU time does.
    #[default]
    Exact,
    /// After (limit − run time) ÷ GPUs in whole ticks, as Tiresias' published program has it: the
    /// run time should have been multiplied by the GPUs.
    WithoutGpus,
    /// When the run time reaches limit ÷ GPUs, rounded up to whole ticks, as in Muri's program.
    RoundedUp,
}

/// Who says when a round is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RoundClock {
    /// Rounds have the length the recipe gives them.
    #[default]
    Recipe,
    /// The world ends a round when the work handed out for it is done.
    World,
}

/// Who gets GPUs that come free between two looks at all jobs, where a recipe has such.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Idle {
    /// Who stands first.
    #[default]
    BestFirst,
    /// Who stands last, as Chronus' published program has it: it sorts the other way there.
    WorstFirst,
}

/// How long a job is taken to run that has never run, where an order goes by what is left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Untried {
    /// As predicted.
    #[default]
    Predicted,
    /// As its owner declared, whatever is predicted, as Muri's published program has it.
    Declared,
}

/// The switches together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Rules {
    /// What forecasts are rounded to, microseconds.
    pub tick_us: u64,
    /// Who goes first among equals.
    pub ties: Ties,
    /// How crossings of a service limit are forecast.
    pub crossing: Crossing,
    /// Who says when a round is over.
    pub rounds: RoundClock,
    /// Who gets GPUs that come free between two looks at all jobs.
    pub idle: Idle,
    /// How long a job is taken to run that has never run.
    pub untried: Untried,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            tick_us: 1,
            ties: Ties::default(),
            crossing: Crossing::default(),
            rounds: RoundClock::default(),
            idle: Idle::default(),
            untried: Untried::default(),
        }
    }
}
