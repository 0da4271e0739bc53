//! Where a world differs from the plain one in how decisions are taken. Each switch exists because
//! some author's published program works that way and its results can only be met by doing the
//! same. Cards do not know them; the pipeline, the forecasts and a few parts look at them.

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
    /// As long as the recipe says, and at whole multiples of that even after nobody was there: who
    /// comes to an empty cluster waits for the end of a round, too.
    Multiples,
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

/// How gangs are matched with GPUs, where a recipe does that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gangs {
    /// With as many as they are.
    #[default]
    Whole,
    /// With one, of which they are due a part of the time, and again every time, as Shockwave's
    /// published program does: it was written for single GPUs.
    AsOne,
}

/// When it is settled which GPUs a job gets that starts while others stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Starts {
    /// As soon as there is room for it.
    #[default]
    AsFound,
    /// Once it is known who runs and who stops, for all who start one after the other, as a program
    /// has it that counts GPUs first.
    Together,
    /// The same, and who runs is settled by counting GPUs alone, as in Lucid's published
    /// program for recipes that stop jobs: whoever then finds no place waits, though others were
    /// stopped for it and nobody else gets what it was counted.
    Counted,
    /// One after the other, on the first nodes whose free GPUs come to exactly as many as a job
    /// asks for, as Blox' published program has it whatever the recipe says of places: it goes on
    /// adding where it has too many. For whoever finds none, jobs behind it are stopped one by one
    /// and stay stopped if that does not help; then nobody behind it is looked at.
    AddingUp,
}

/// Where jobs go that run from one round to the next, where a recipe places all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Seats {
    /// Where they are, if there is room.
    #[default]
    Kept,
    /// Where they would go if nobody had been there, as programs have it in which moving is free.
    Anew,
}

impl Seats {
    /// Whether jobs stay where they are.
    pub fn are_kept(&self) -> bool {
        *self == Seats::Kept
    }
}

/// Where gangs go that fit on no node, where a placement lets them spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spill {
    /// On as few nodes as possible: those with most room first.
    #[default]
    Emptiest,
    /// On the nodes with the fewest free GPUs first, as in Synergy's published program, which
    /// goes on as with single GPUs.
    Fullest,
}

impl Spill {
    fn is_plain(&self) -> bool {
        *self == Spill::Emptiest
    }
}

/// What a proportional share of CPUs and memory does for a job that was profiled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shares {
    /// What was measured with so much.
    #[default]
    Measured,
    /// Nothing, however much it is: in Synergy's published program it is the unit of speed, also
    /// on servers whose share is more than a job can make use of.
    Nominal,
}

impl Shares {
    /// Whether they do what was measured.
    pub fn are_measured(&self) -> bool {
        *self == Shares::Measured
    }
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

/// How a Gittins index is reckoned from what past jobs took, where it looks a fixed service ahead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Index {
    /// By what they took beyond what the job has had.
    #[default]
    Beyond,
    /// By all they took, for those that ended as far ahead, as Tiresias' published program has it.
    Whole,
}

impl Index {
    /// Whether what the job has had is left out.
    pub fn is_beyond(&self) -> bool {
        *self == Index::Beyond
    }
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
    /// How gangs are matched with GPUs.
    pub gangs: Gangs,
    /// Who does not tell kinds of GPU apart takes the last one on the list, and strikes off another
    /// that is drawn by the generator of Python's standard library with this seed, as Gavel's
    /// published program does by mistake.
    pub leftover_kind_seed: Option<u32>,
    /// When it is settled which GPUs a job gets that starts while others stop.
    pub starts: Starts,
    /// How long a job is taken to run that has never run.
    pub untried: Untried,
    /// Where jobs go that run from one round to the next.
    #[serde(skip_serializing_if = "Seats::are_kept")]
    pub seats: Seats,
    /// How a Gittins index is reckoned.
    #[serde(skip_serializing_if = "Index::is_beyond")]
    pub index: Index,
    /// Where gangs go that fit on no node.
    #[serde(skip_serializing_if = "Spill::is_plain")]
    pub spill: Spill,
    /// What a proportional share of CPUs and memory does for a job that was profiled.
    #[serde(skip_serializing_if = "Shares::are_measured")]
    pub shares: Shares,
    /// Where CPUs and memory are shared out to those with the least service, who runs is settled by
    /// counting GPUs; whoever then finds no place waits, and nobody else has its turn.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub least_served_by_count: bool,
    /// How long a node takes to be there after it was switched on, seconds. Where nothing is
    /// ever switched off it is there at once.
    #[serde(skip_serializing_if = "is_none")]
    pub boot_s: u32,
}

fn is_none(seconds: &u32) -> bool {
    *seconds == 0
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            tick_us: 1,
            ties: Ties::default(),
            crossing: Crossing::default(),
            rounds: RoundClock::default(),
            idle: Idle::default(),
            gangs: Gangs::default(),
            leftover_kind_seed: None,
            starts: Starts::default(),
            untried: Untried::default(),
            seats: Seats::default(),
            index: Index::default(),
            spill: Spill::default(),
            shares: Shares::default(),
            least_served_by_count: false,
            boot_s: 0,
        }
    }
}
