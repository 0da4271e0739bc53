//! How a service is written down: its traffic, its target and the kind of model behind it. A
//! mistake names the field and what would have been right; whoever read the file adds the line.

use crate::arrivals::{Traffic, TrafficCard};
use crate::batch::{Batch, BatchCard};
use crate::llm::{Llm, LlmCard};
use crate::recurrence::{Recurrence, RecurrenceCard};
use crate::{Service, s_to_ns};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A value that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{field}: expected {expected}")]
pub struct Mistake {
    /// Where, as it is written: `model.batch.delay-ms`.
    pub field: String,
    /// What would have been right.
    pub expected: &'static str,
}

impl Mistake {
    /// Complain about a field unless this holds.
    pub(crate) fn unless(right: bool, field: &str, expected: &'static str) -> Result<(), Mistake> {
        if right { Ok(()) } else { Err(Mistake { field: field.to_owned(), expected }) }
    }

    /// The same mistake, seen from the table around it.
    pub(crate) fn inside(self, table: &str) -> Mistake {
        Mistake { field: format!("{table}.{}", self.field), ..self }
    }
}

/// A service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ServiceCard {
    /// Who asks, and how often.
    pub traffic: TrafficCard,
    /// What answers.
    pub model: ModelCard,
    /// Seconds from the start of a replica until it serves: loading the model.
    #[serde(default)]
    pub load_s: f64,
}

/// What answers requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelCard {
    /// One request at a time, in a pipeline of stages.
    Recurrence(RecurrenceCard),
    /// Requests in batches.
    Batch(BatchCard),
    /// A language model with continuous batching.
    Llm(LlmCard),
}

impl ServiceCard {
    /// Whether all values make sense.
    pub fn check(&self) -> Result<(), Mistake> {
        self.traffic.check().map_err(|mistake| mistake.inside("traffic"))?;
        let sensible = self.load_s.is_finite() && self.load_s >= 0.0;
        Mistake::unless(sensible, "load-s", "seconds, not negative")?;
        match &self.model {
            ModelCard::Recurrence(card) => {
                card.check().map_err(|mistake| mistake.inside("model.recurrence"))
            }
            ModelCard::Batch(card) => card.check().map_err(|m| m.inside("model.batch")),
            ModelCard::Llm(card) => card.check().map_err(|mistake| mistake.inside("model.llm")),
        }
    }

    /// The service with its own traffic: requests come from `from_ns` until before `until_ns`, and
    /// depend on nothing but the seed and the number of the stream. It has no replicas yet.
    pub fn start(
        &self,
        seed: u64,
        stream: u64,
        from_ns: u64,
        until_ns: u64,
    ) -> Result<Service, Mistake> {
        self.check()?;
        let traffic = Traffic::new(&self.traffic, seed, stream, from_ns, until_ns);
        self.start_with(traffic, seed, stream, from_ns)
    }

    /// The service with requests from elsewhere, such as a trace. It has no replicas yet.
    pub fn start_with(
        &self,
        traffic: Traffic,
        seed: u64,
        stream: u64,
        from_ns: u64,
    ) -> Result<Service, Mistake> {
        self.check()?;
        let setting = Setting { load_ns: s_to_ns(self.load_s), seed, stream, from_ns };
        Ok(match &self.model {
            ModelCard::Recurrence(card) => {
                Service::Recurrence(Box::new(Recurrence::new(card, traffic, setting)))
            }
            ModelCard::Batch(card) => Service::Batch(Box::new(Batch::new(card, traffic, setting))),
            ModelCard::Llm(card) => Service::Llm(Box::new(Llm::new(card, traffic, setting))),
        })
    }
}

/// What a cell has to know besides its model and its traffic.
#[derive(Clone, Copy, Debug, Default)]
pub struct Setting {
    /// From the start of a replica until it serves.
    pub load_ns: u64,
    /// For random numbers.
    pub seed: u64,
    /// The number of the service, which sets its random numbers apart from those of others.
    pub stream: u64,
    /// When it begins.
    pub from_ns: u64,
}
