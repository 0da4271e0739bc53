//! The modelled world: what starting and stopping cost, how fast jobs run, what breaks, and the
//! named rules by which an author's published program differs from plain sense.

mod card;
mod costs;
mod failures;
mod lucid_pairs;
mod measured;
mod pace;
mod profiles;
mod sharing;

pub use card::{WorldCard, WorldError};
pub use costs::{Cost, Costs};
pub use failures::Failures;
pub use measured::PaceTable;
pub use pace::PaceModel;
pub use profiles::{
    Curves, KnownPlaces, ModelSettings, Profile, Profiles, StepTime, Steps, TrainingSettings,
};
pub use sharing::{Alone, Mechanism, PairTable, Sharer, Sharing};

use crate::losses::LossReports;
use heeler_engine::Rules;
use heeler_model::{Span, Time};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How the world itself differs from the plain one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Quirks {
    /// A finished job holds its GPUs, and is noticed, so much later.
    pub notice_late_s: f64,
    /// Whenever anything happens, every running job loses its cost of starting once more, and that
    /// of those it shares GPUs with, moved or not, as far as the time since the last event goes.
    pub restart_all_at_every_event: bool,
    /// Of those it shares GPUs with a job then pays nothing.
    pub restart_without_neighbours: bool,
    /// What is due within this part of the time that has passed happens at once.
    pub together_part: f64,
    /// Time passes in rounds of so many seconds: jobs join, and are found done, when one is over.
    pub rounds_s: Option<f64>,
    /// When the first of those rounds begins.
    pub rounds_from_s: f64,
    /// Jobs are heard of when they come, though nothing is decided on them before a round is over.
    pub heard_at_once: bool,
    /// Jobs get whole units of work done in such a round; what is left of it is lost.
    pub whole_units: bool,
    /// Jobs of Synergy's traces know two speeds, with all that they can make use of beside their
    /// GPUs and with anything less, and gangs are profiled as single GPUs are.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub two_speeds: bool,
    /// Work is handed out in whole units for a round of so many seconds, a round ends when the last
    /// of it is done, and jobs join at its end.
    pub whole_units_per_round_s: Option<f64>,
    /// Of a full round of such a world, a job that did not run in the one before loses so many
    /// seconds.
    pub restart_in_round_s: Option<f64>,
    /// A job that has run in such rounds for so many times as long as it would alone counts as
    /// done, whatever is left of its work.
    pub done_after_alone: Option<f64>,
    /// Whether a round counts in such a world for a gang of which some GPU had nothing to do; who
    /// is given up because none had counts as done.
    pub idle_parts_pass: bool,
    /// At whole multiples of so many seconds every running job without a lease pays for its start
    /// once more.
    pub restart_unleased_every_s: Option<f64>,
    /// Kinds of GPU are offered in a new random order every round, by the generator of Python's
    /// standard library with this seed.
    pub shuffled_kinds_seed: Option<u32>,
}

impl Quirks {
    /// Whether services can run beside jobs: where work is handed out by the round, or whatever
    /// happens disturbs everybody, they cannot.
    pub fn can_serve(&self) -> bool {
        let rounds = self.rounds_s.is_some() || self.whole_units_per_round_s.is_some();
        !rounds && !self.restart_all_at_every_event
    }
}

/// A world to run jobs in.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// Where decisions differ.
    pub rules: Rules,
    /// Where the world differs.
    pub quirks: Quirks,
    /// What transitions cost.
    pub costs: Costs,
    /// How fast jobs run.
    pub pace: PaceModel,
    /// What happens to jobs that share a GPU.
    pub sharing: Sharing,
    /// What breaks.
    pub failures: Option<Failures>,
    /// Whether jobs report losses.
    pub losses: Option<LossReports>,
    /// What was measured of training jobs.
    pub profiles: Option<Arc<Profiles>>,
}

impl World {
    /// How much later than finished a job is noticed.
    pub fn notice_late(&self) -> Span {
        Span::from_secs_f64(self.quirks.notice_late_s)
    }

    /// When a job is noticed that finishes at some time.
    pub fn noticed(&self, finish: Time) -> Time {
        self.round_over(finish) + self.notice_late()
    }

    /// Until when things are due that happen at some time.
    pub fn together(&self, at: Time) -> Time {
        at + Span::from_micros((at.micros() as f64 * self.quirks.together_part) as u64)
    }

    /// When the round is over that a time is in, if time passes in rounds: nobody decides within
    /// one.
    pub fn round_over(&self, at: Time) -> Time {
        let Some(round_s) = self.quirks.rounds_s else { return at };
        let round = Span::from_secs_f64(round_s).micros().max(1);
        let from = Time::from_secs_f64(self.quirks.rounds_from_s);
        let rounds = at.since(from).micros().div_ceil(round);
        Time::from_micros(rounds.saturating_mul(round).saturating_add(from.micros()))
    }

    /// The pace at which whole units are done in each round, if that is how time passes.
    pub fn whole_pace(&self, pace: f64) -> f64 {
        let Some(round_s) = self.quirks.rounds_s.filter(|_| self.quirks.whole_units) else {
            return pace;
        };
        let round_us = round_s * 1e6;
        // A pace may be a hair below what gives a whole number.
        let whole = (pace * round_us + 1e-6).floor();
        if whole > 0.0 { whole / round_us } else { pace }
    }
}
