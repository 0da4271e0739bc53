//! What a pipeline is made of.

use super::pack::Pack;
use crate::rules::RoundClock;
use crate::traits::{Allocate, Gate, Order, Place, Predict, Resize};
use crate::view::View;
use heeler_model::{Span, Time};

/// What happens behind a job that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It blocks the queue.
    Strict,
    /// Others that fit may pass.
    Skip,
    /// Others may pass if they do not delay the first `depth` jobs that wait, by what is
    /// estimated. A depth of one is EASY backfill, no limit is conservative backfill.
    Backfill {
        /// How many waiting jobs get a reservation.
        depth: u32,
    },
}

/// Whose GPUs a job may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preempt {
    /// Nobody's.
    Never,
    /// Those of jobs behind it in the order, last first.
    ByOrder {
        /// For how long a job that starts may not be disturbed.
        lease: Span,
        /// Whether having come earlier is not enough, where the order itself makes no difference.
        strictly: bool,
    },
    /// Those of jobs whose tenants use more than their quota, the least important first and among
    /// equals the latest start, if its own tenant uses less.
    Reclaim {
        /// For how long a job that starts may not be disturbed.
        lease: Span,
        /// Only while so many thousandths of all GPUs are in use.
        from_used: u32,
    },
}

impl Preempt {
    pub(super) fn lease(self) -> Span {
        match self {
            Preempt::Never => Span::ZERO,
            Preempt::ByOrder { lease, .. } | Preempt::Reclaim { lease, .. } => lease,
        }
    }
}

/// When decisions are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cadence {
    /// Whenever something happens.
    Event,
    /// At whole multiples of a span, while there are jobs.
    Round(Span),
}

impl Cadence {
    /// When the next round begins that may begin from a time on, or since when it could have.
    pub(super) fn from(self, from: Time, view: &View) -> Time {
        match (self, view.rules().rounds) {
            (Cadence::Round(every), RoundClock::Multiples) => {
                let every = every.micros().max(1);
                from.max(Time::from_micros(view.now().micros().div_ceil(every) * every))
            }
            _ => from,
        }
    }
}

/// The parts of a pipeline.
pub struct Parts {
    /// Who runs first.
    pub order: Box<dyn Order>,
    /// Who may be considered.
    pub gate: Option<Box<dyn Gate>>,
    /// How much a job gets.
    pub allocate: Box<dyn Allocate>,
    /// Which GPUs.
    pub place: Box<dyn Place>,
    /// Whether running jobs change their size.
    pub resize: Option<Box<dyn Resize>>,
    /// How long jobs are taken to run, for backfill.
    pub predict: Option<Box<dyn Predict>>,
    /// What happens behind a job that does not fit.
    pub fit: Fit,
    /// Whose GPUs a job may take.
    pub preempt: Preempt,
    /// When a job may share the GPUs of another.
    pub pack: Option<Pack>,
    /// When decisions are taken.
    pub cadence: Cadence,
}

impl Parts {
    pub(super) fn fork(&self) -> Parts {
        Parts {
            order: self.order.fork(),
            gate: self.gate.as_ref().map(|gate| gate.fork()),
            allocate: self.allocate.fork(),
            place: self.place.fork(),
            resize: self.resize.as_ref().map(|resize| resize.fork()),
            predict: self.predict.as_ref().map(|predict| predict.fork()),
            ..*self
        }
    }
}
