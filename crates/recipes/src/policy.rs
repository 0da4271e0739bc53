//! From the words of a card to parts. Every word is a variant of an enum here, so a card with a
//! word that does not exist is refused with the list of those that do.

use crate::card::Made;
use crate::gates::GateCard;
use crate::quantity::{GpuTime, Length, Promote, period, sigma};
use heeler_engine::{
    Allocate, Cadence, Fit, Order, Parts, Pick, Pipeline, Place, Policy, Predict, Preempt, Resize,
};
use heeler_parts::{allocate, order, place, predict, resize};
use order::{Served, Weigh};
use place::Remainder;
use serde::{Deserialize, Serialize};
use toml::Value;

/// What a recipe is made of.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PolicyCard {
    /// Who runs first.
    pub order: OrderCard,
    /// Who may be considered.
    #[serde(default)]
    pub gate: GateCard,
    /// How much a job gets.
    #[serde(default)]
    pub allocate: AllocateCard,
    /// Which GPUs.
    #[serde(default)]
    pub place: PlaceCard,
    /// Whether running jobs change their size.
    #[serde(default)]
    pub resize: ResizeCard,
    /// What happens behind a job that does not fit.
    #[serde(default)]
    pub fit: FitCard,
    /// How long jobs are taken to run, for backfill.
    #[serde(default)]
    pub estimate: Option<PredictCard>,
    /// Whose GPUs a job may take.
    #[serde(default)]
    pub preempt: PreemptCard,
    /// For how long a job that starts may not be disturbed.
    #[serde(default)]
    pub lease: Length,
    /// When decisions are taken.
    #[serde(default)]
    pub cadence: CadenceCard,
}

/// Orders.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum OrderCard {
    /// In order of submission.
    Fifo,
    /// Larger declared priority first.
    Priority,
    /// Fewest GPUs first.
    FewestGpus,
    /// The tenant that uses the smallest part of its quota first.
    TenantShare,
    /// Shortest job first.
    Sjf {
        /// Who says how long jobs are.
        predict: PredictCard,
    },
    /// Shortest remaining time first.
    Srtf {
        /// Who says how long jobs are.
        predict: PredictCard,
    },
    /// Smallest remaining service (time × GPUs) first.
    Srsf {
        /// Who says how long jobs are.
        predict: PredictCard,
    },
    /// Least attained service first.
    Las {
        /// What counts as service.
        #[serde(default)]
        served: Served,
    },
    /// Multi-level feedback queues over attained service.
    #[serde(rename_all = "kebab-case")]
    Mlfq {
        /// Service at which a job leaves each queue but the last.
        limits: Vec<GpuTime>,
        /// What counts as service.
        #[serde(default)]
        served: Served,
        /// A job that waited so many times as long as it ran goes back to the first queue.
        #[serde(default)]
        promote: Promote,
    },
    /// Gittins index over attained service.
    #[serde(rename_all = "kebab-case")]
    Gittins {
        /// Service at which a job leaves each queue but the last.
        limits: Vec<GpuTime>,
        /// What counts as service.
        #[serde(default)]
        served: Served,
        /// How far ahead the index looks; as far as is best, if not given.
        #[serde(default)]
        horizon: Option<GpuTime>,
        /// Services of past jobs to start from.
        #[serde(default)]
        sample: Vec<GpuTime>,
    },
}

/// Predictors.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum PredictCard {
    /// The truth, which only a simulator knows.
    Oracle,
    /// What the owner declared.
    Declared,
    /// The truth times a log-normal error.
    Noisy {
        /// Standard deviation of the logarithm of the error.
        #[serde(deserialize_with = "sigma")]
        sigma: f64,
    },
}

/// Allocations.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum AllocateCard {
    /// What was asked for.
    #[default]
    AsAsked,
    /// What was asked for, or the largest size that fits.
    Moldable,
}

/// Resizing.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ResizeCard {
    /// Never.
    #[default]
    Never,
    /// Grow when nobody waits, shrink when somebody does.
    GrowShrink,
}

/// Placements.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum PlaceCard {
    /// Any free GPUs.
    Anywhere,
    /// The first node with room; large jobs on whole nodes.
    FirstFit,
    /// The fullest node with room; large jobs on whole nodes.
    BestFit,
    /// The emptiest node with room; large jobs on whole nodes.
    WorstFit,
    /// The fullest node with room; large jobs on whole nodes of one rack where possible.
    #[default]
    Consolidate,
    /// As consolidate, but spread rather than wait.
    ConsolidateOrSpread,
    /// Over as many nodes as possible.
    Spread,
    /// Keep skewed jobs together, spread others if need be.
    SkewAware,
    /// As best fit, with the remainder of large jobs on the emptiest node.
    BestFitRemainderEmptiest,
}

/// What happens behind a job that does not fit.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum FitCard {
    /// It blocks the queue.
    Strict,
    /// Others that fit may pass.
    #[default]
    Skip,
    /// Others may pass if they do not delay the first.
    Easy,
    /// Others may pass if they do not delay the first so many.
    Conservative {
        /// How many waiting jobs get a reservation.
        depth: u32,
    },
}

/// Whose GPUs a job may take.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum PreemptCard {
    /// Nobody's.
    #[default]
    Never,
    /// Those of jobs behind it.
    ByOrder,
    /// Those of jobs that the order itself puts behind it, not of those that only came later.
    StrictlyByOrder,
    /// Those of jobs of tenants beyond their quota.
    Reclaim,
}

/// When decisions are taken.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum CadenceCard {
    /// Whenever something happens.
    #[default]
    Event,
    /// At whole multiples of a time.
    Round(#[serde(deserialize_with = "period")] Length),
}

impl CadenceCard {
    pub(crate) fn build(self) -> Cadence {
        match self {
            CadenceCard::Event => Cadence::Event,
            CadenceCard::Round(every) => Cadence::Round(every.0),
        }
    }
}

impl PredictCard {
    pub(crate) fn build(&self) -> Box<dyn Predict> {
        match *self {
            PredictCard::Oracle => Box::new(predict::Oracle),
            PredictCard::Declared => Box::new(predict::Declared),
            PredictCard::Noisy { sigma } => Box::new(predict::Noisy { sigma }),
        }
    }

    pub(crate) fn knows_the_truth(&self) -> bool {
        !matches!(self, PredictCard::Declared)
    }
}

impl OrderCard {
    pub(crate) fn build(&self) -> Box<dyn Order> {
        let spans = |limits: &[GpuTime]| limits.iter().map(|limit| limit.0).collect();
        let shortest = |weigh, predict: &PredictCard| {
            Box::new(order::Shortest { weigh, predict: predict.build() })
        };
        match self {
            OrderCard::Fifo => Box::new(order::Fifo),
            OrderCard::Priority => Box::new(order::Priority),
            OrderCard::FewestGpus => Box::new(order::FewestGpus),
            OrderCard::TenantShare => Box::new(order::TenantShare),
            OrderCard::Sjf { predict } => shortest(Weigh::Whole, predict),
            OrderCard::Srtf { predict } => shortest(Weigh::Left, predict),
            OrderCard::Srsf { predict } => shortest(Weigh::LeftTimesGpus, predict),
            OrderCard::Las { served } => Box::new(order::Las { served: *served }),
            OrderCard::Mlfq { limits, served, promote } => {
                Box::new(order::Mlfq::new(spans(limits), *served, promote.0))
            }
            OrderCard::Gittins { limits, served, horizon, sample } => {
                let sample = sample.iter().map(|value| value.0.micros()).collect();
                let horizon = horizon.map(|horizon| horizon.0);
                Box::new(order::Gittins::new(spans(limits), *served, horizon, sample))
            }
        }
    }

    pub(crate) fn predictor(&self) -> Option<&PredictCard> {
        match self {
            OrderCard::Sjf { predict }
            | OrderCard::Srtf { predict }
            | OrderCard::Srsf { predict } => Some(predict),
            // Written out, so that whoever adds an order thinks of it.
            OrderCard::Fifo
            | OrderCard::Priority
            | OrderCard::FewestGpus
            | OrderCard::TenantShare
            | OrderCard::Las { .. }
            | OrderCard::Mlfq { .. }
            | OrderCard::Gittins { .. } => None,
        }
    }
}

impl PlaceCard {
    fn build(self) -> Box<dyn Place> {
        let fit = |pick, racks, relax, remainder| {
            Box::new(place::Fit { pick, remainder, relax, racks }) as Box<dyn Place>
        };
        match self {
            PlaceCard::Anywhere => Box::new(place::Anywhere),
            PlaceCard::FirstFit => fit(Pick::First, false, false, Remainder::AsPicked),
            PlaceCard::BestFit => fit(Pick::Tightest, false, false, Remainder::AsPicked),
            PlaceCard::WorstFit => fit(Pick::Loosest, false, false, Remainder::AsPicked),
            PlaceCard::Consolidate => fit(Pick::Tightest, true, false, Remainder::AsPicked),
            PlaceCard::ConsolidateOrSpread => fit(Pick::Tightest, true, true, Remainder::AsPicked),
            PlaceCard::BestFitRemainderEmptiest => {
                fit(Pick::Tightest, false, false, Remainder::Emptiest)
            }
            PlaceCard::Spread => Box::new(place::Spread),
            PlaceCard::SkewAware => Box::new(place::SkewAware),
        }
    }
}

impl PolicyCard {
    /// Who says how long jobs run, for reservations: without anybody there could be none.
    fn estimate(&self) -> Option<&PredictCard> {
        let reserves = matches!(self.fit, FitCard::Easy | FitCard::Conservative { .. });
        let assumed = || self.order.predictor().unwrap_or(&PredictCard::Declared);
        self.estimate.as_ref().or_else(|| reserves.then(assumed))
    }
}

impl Made for PolicyCard {
    fn build(&self) -> Box<dyn Policy> {
        let allocate: Box<dyn Allocate> = match self.allocate {
            AllocateCard::AsAsked => Box::new(allocate::AsAsked),
            AllocateCard::Moldable => Box::new(allocate::Moldable),
        };
        let resize: Option<Box<dyn Resize>> = match self.resize {
            ResizeCard::Never => None,
            ResizeCard::GrowShrink => Some(Box::new(resize::GrowShrink)),
        };
        let fit = match self.fit {
            FitCard::Strict => Fit::Strict,
            FitCard::Skip => Fit::Skip,
            FitCard::Easy => Fit::Backfill { depth: 1 },
            FitCard::Conservative { depth } => Fit::Backfill { depth },
        };
        let lease = self.lease.0;
        Box::new(Pipeline::new(Parts {
            order: self.order.build(),
            gate: self.gate.build(),
            allocate,
            place: self.place.build(),
            resize,
            predict: self.estimate().map(PredictCard::build),
            fit,
            preempt: match self.preempt {
                PreemptCard::Never => Preempt::Never,
                PreemptCard::ByOrder => Preempt::ByOrder { lease, strictly: false },
                PreemptCard::StrictlyByOrder => Preempt::ByOrder { lease, strictly: true },
                PreemptCard::Reclaim => Preempt::Reclaim { lease },
            },
            cadence: self.cadence.build(),
        }))
    }

    fn knows_the_truth(&self) -> bool {
        let predictors = [self.order.predictor(), self.estimate()];
        predictors.into_iter().flatten().any(PredictCard::knows_the_truth)
    }

    fn words(&self) -> Option<Value> {
        Value::try_from(self).ok()
    }
}
