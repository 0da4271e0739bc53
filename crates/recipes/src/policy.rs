//! From the words of a card to parts. Every word is a variant of an enum here, so a card with a
//! word that does not exist is refused with the list of those that do.

use crate::card::Made;
use crate::expected::ExpectedCard;
use crate::gates::GateCard;
use crate::gittins::GittinsCard;
use crate::places::PlaceCard;
use crate::predictors::{PredictCard, Told};
use crate::quantity::{GpuTime, Length, Promote, one_or_more, part, period};
use heeler_engine::{
    Allocate, Cadence, Fit, Order, Pack, Parts, Pipeline, Policy, Preempt, Resize,
};
use heeler_parts::{allocate, order, resize};
use order::{Served, Weigh};
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
    /// The part of their pace that jobs must keep, as was measured, to share GPUs; never, if it
    /// says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pack: Option<f64>,
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
        /// Where jobs stand that come to an empty queue.
        #[serde(default, skip_serializing_if = "NewcomersCard::are_as_others")]
        newcomers: NewcomersCard,
    },
    /// Smallest remaining service first, in doubt and without needless stops.
    #[serde(rename_all = "kebab-case")]
    Expected(ExpectedCard),
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
        /// Who stands first within a queue.
        #[serde(default)]
        within: WithinCard,
    },
    /// Least service for each epoch first.
    Epochs {
        /// Who says how much work jobs are.
        predict: PredictCard,
        /// How many epochs a job has.
        #[serde(deserialize_with = "one_or_more")]
        epochs: u32,
    },
    /// On whom the heaviest chain of jobs hangs first.
    Chains {
        /// Who says how much work jobs are.
        predict: PredictCard,
    },
    /// Whose loss falls most in the next interval.
    Gain {
        /// How long an interval is.
        #[serde(deserialize_with = "period")]
        interval: Length,
    },
    /// Gittins index over attained service.
    Gittins(GittinsCard),
}

/// Where jobs stand that come at one moment to an empty queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum NewcomersCard {
    /// As all others.
    #[default]
    AsOthers,
    /// Fewest GPUs first, until the next second.
    FewestGpus,
}

impl NewcomersCard {
    fn are_as_others(&self) -> bool {
        *self == NewcomersCard::AsOthers
    }
}

/// Who stands first within a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum WithinCard {
    /// Who runs, so that nobody is stopped for an equal.
    #[default]
    RunningFirst,
    /// Who came into it first, whether it runs or not.
    AsEntered,
    /// Who was submitted first, whether it runs or not.
    AsSubmitted,
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
    /// What was asked for: all on one node at first, then in one rack, then anywhere.
    Ladder {
        /// For how long a job insists on one node.
        node: Length,
        /// For how long it insists on one rack after that.
        rack: Length,
        /// From when on both count.
        #[serde(default)]
        since: SinceCard,
    },
}

/// From when on a job's patience counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SinceCard {
    /// Since it has been in the queue.
    #[default]
    Queued,
    /// Since it was first refused only because what is free is not near enough together.
    Scattered,
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
    /// The same, only while such a part of all GPUs is in use.
    ReclaimWhenUsed(#[serde(deserialize_with = "part")] f64),
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
            OrderCard::Srsf { predict, newcomers } => {
                let order = shortest(Weigh::LeftTimesGpus, predict);
                match newcomers {
                    NewcomersCard::AsOthers => order,
                    NewcomersCard::FewestGpus => Box::new(order::Newcomers::new(order)),
                }
            }
            OrderCard::Expected(card) => Box::new(card.build()),
            OrderCard::Las { served } => Box::new(order::Las { served: *served }),
            OrderCard::Mlfq { limits, served, promote, within } => {
                let mlfq = order::Mlfq::new(spans(limits), *served, promote.0);
                Box::new(match within {
                    WithinCard::RunningFirst => mlfq,
                    WithinCard::AsEntered => mlfq.as_entered(true),
                    WithinCard::AsSubmitted => mlfq.as_submitted(),
                })
            }
            OrderCard::Epochs { predict, epochs } => {
                Box::new(order::Epochs { predict: predict.build(), epochs: *epochs })
            }
            OrderCard::Chains { predict } => Box::new(order::Chains::new(predict.build())),
            OrderCard::Gain { interval } => {
                Box::new(order::Gain { interval: interval.0, ..order::Gain::default() })
            }
            OrderCard::Gittins(card) => Box::new(card.build()),
        }
    }

    /// What it is told of how long jobs run.
    pub(crate) fn told(&self) -> Told {
        Told::by(self.predictor())
    }

    pub(crate) fn predictor(&self) -> Option<&PredictCard> {
        match self {
            OrderCard::Sjf { predict }
            | OrderCard::Srtf { predict }
            | OrderCard::Srsf { predict, .. }
            | OrderCard::Expected(ExpectedCard { predict, .. })
            | OrderCard::Epochs { predict, .. }
            | OrderCard::Chains { predict } => Some(predict),
            // Written out, so that whoever adds an order thinks of it.
            OrderCard::Fifo
            | OrderCard::Priority
            | OrderCard::FewestGpus
            | OrderCard::TenantShare
            | OrderCard::Las { .. }
            | OrderCard::Mlfq { .. }
            | OrderCard::Gain { .. }
            | OrderCard::Gittins(_) => None,
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
        let order = self.order.build();
        let (allocate, order): (Box<dyn Allocate>, Box<dyn Order>) = match self.allocate {
            AllocateCard::AsAsked => (Box::new(allocate::AsAsked), order),
            AllocateCard::Moldable => (Box::new(allocate::Moldable), order),
            AllocateCard::Ladder { node, rack, since } => {
                let since = match since {
                    SinceCard::Queued => allocate::Since::Queued,
                    SinceCard::Scattered => allocate::Since::Scattered,
                };
                let ladder = allocate::Ladder { node: node.0, rack: rack.0, since };
                // What a job is content with changes while it waits.
                (Box::new(ladder), Box::new(order::Patient { order, ladder }))
            }
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
            order,
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
                PreemptCard::Reclaim => Preempt::Reclaim { lease, from_used: 0 },
                PreemptCard::ReclaimWhenUsed(part) => {
                    Preempt::Reclaim { lease, from_used: (part * 1000.0).round() as u32 }
                }
            },
            pack: self.pack.map(|harmless| Pack { harmless }),
            cadence: self.cadence.build(),
        }))
    }

    fn told(&self) -> Told {
        Told::by([self.order.predictor(), self.estimate()].into_iter().flatten())
    }

    fn words(&self) -> Option<Value> {
        Value::try_from(self).ok()
    }
}
