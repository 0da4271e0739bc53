//! What a policy sees: the engine's state, borrowed, with the questions policies ask of it.

use crate::rules::Crossing;
use crate::state::{Job, State};
use heeler_model::{Generation, JobId, Span, Time};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};
use std::ops::Deref;

/// How much a plan has to say about jobs that wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// Verdicts for those the plan comes across.
    #[default]
    Reached,
    /// A verdict for every waiting job.
    All,
}

/// What a job has been served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Service {
    /// Time it had GPUs.
    pub run: Span,
    /// GPU time, thousandths of a GPU × microseconds.
    pub milli: u64,
}

impl Service {
    /// In thousandths × microseconds: GPU time, or time on GPUs.
    pub fn counted(self, by_gpu: bool) -> u64 {
        if by_gpu { self.milli } else { self.run.micros() * 1000 }
    }

    /// What was served since.
    #[must_use]
    pub fn since(self, earlier: Service) -> Service {
        Service { run: self.run - earlier.run, milli: self.milli - earlier.milli }
    }
}

/// A view of the state at one moment. Reading it is all a policy can do with it.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    state: &'a State,
    detail: Detail,
}

impl<'a> View<'a> {
    /// A view of a state.
    pub fn new(state: &'a State, detail: Detail) -> View<'a> {
        View { state, detail }
    }

    /// The state itself, for as long as it is borrowed.
    pub fn state(&self) -> &'a State {
        self.state
    }

    /// Whether every waiting job needs a verdict.
    pub fn wants_all_verdicts(&self) -> bool {
        self.detail == Detail::All
    }

    /// A random stream of its own for each purpose and moment: a new draw in one part disturbs no
    /// other, and planning the same view twice draws the same numbers.
    pub fn rng(&self, name: &str) -> Xoshiro256PlusPlus {
        stream(self.state.seed(), self.state.now(), name)
    }

    /// What a job has been served so far.
    pub fn service(&self, job: &Job) -> Service {
        let now = self.state.now();
        Service { run: job.attained_at(now), milli: job.attained_milli_at(now) }
    }

    /// When a running job that was served so much will have been served up to a limit: time on
    /// GPUs, or, with `by_gpu`, GPU time.
    pub fn when_served(&self, job: &Job, served: Service, limit: Span, by_gpu: bool) -> Time {
        let now = self.state.now();
        let gpus = if by_gpu { u64::from(job.gpus().max(1)) } else { 1 };
        match self.state.rules().crossing {
            // Without GPUs no GPU time is served, however long it runs.
            Crossing::Exact if by_gpu && job.milli() == 0 => Time::MAX,
            Crossing::Exact => {
                let milli = if by_gpu { job.milli() } else { 1000 };
                let missing = (limit.micros() * 1000).saturating_sub(served.counted(by_gpu));
                now + Span::from_micros(missing.div_ceil(milli))
            }
            Crossing::WithoutGpus => {
                let missing = limit.saturating_sub(served.run).micros();
                let span = self.whole_ticks(Span::from_micros(missing / gpus));
                // Where jobs come between ticks less than one may be missing: not yet, though.
                let is_there = served.counted(by_gpu) >= limit.micros() * 1000;
                let least = if is_there { 0 } else { self.state.rules().tick_us };
                now + span.max(Span::from_micros(least))
            }
            Crossing::RoundedUp => {
                let tick = self.state.rules().tick_us;
                let ticks = limit.micros().div_ceil(tick * gpus);
                now + Span::from_micros(ticks * tick).saturating_sub(served.run)
            }
        }
    }

    /// A span cut down to whole ticks of the world's clock.
    pub fn whole_ticks(&self, span: Span) -> Span {
        let tick = self.state.rules().tick_us;
        Span::from_micros(span.micros() / tick * tick)
    }

    /// The assignment number of a job, for actions.
    pub fn generation(&self, job: JobId) -> Generation {
        self.state.job(job).generation
    }
}

impl Deref for View<'_> {
    type Target = State;
    fn deref(&self) -> &State {
        self.state
    }
}

/// The random stream for a purpose at a moment.
pub fn stream(seed: u64, now: Time, name: &str) -> Xoshiro256PlusPlus {
    // FNV-1a over the three parts; the generator's own seeding spreads the bits.
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let parts = [&seed.to_le_bytes()[..], &now.micros().to_le_bytes()[..], name.as_bytes()];
    for byte in parts.into_iter().flatten() {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    Xoshiro256PlusPlus::seed_from_u64(hash)
}
