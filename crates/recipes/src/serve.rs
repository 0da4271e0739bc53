//! How a recipe serves models: the table `[serve]` of a card, laid over what a service declares.

use crate::quantity::{amount, one_or_more, part, positive, shown};
use heeler_serve::batch::{BatchCard, BatcherCard};
use heeler_serve::{ModelCard, ServiceCard};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// How models that answer in batches are served. What is not given is as the service declares it.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ServeCard {
    /// How large batches may be.
    #[serde(default)]
    pub batching: Option<BatchingCard>,
    /// Milliseconds that a batch which is not full waits for more requests.
    #[serde(default, deserialize_with = "delay")]
    pub delay_ms: Option<f64>,
    /// Answers that are kept for equal questions.
    #[serde(default)]
    pub cache: Option<u32>,
    /// Whether requests that are late already are dropped.
    #[serde(default)]
    pub expire: Option<bool>,
}

/// How large batches may be.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum BatchingCard {
    /// Up to so many requests.
    Fixed(#[serde(deserialize_with = "one_or_more")] u32),
    /// As many as the target allows, found by trying.
    #[serde(rename_all = "kebab-case")]
    Aimd {
        /// Part of the service's latency target that a batch may take; the rest is for waiting.
        #[serde(deserialize_with = "part")]
        part: f64,
        /// How many more requests after a full batch in time.
        #[serde(deserialize_with = "positive")]
        add: f64,
        /// By which part it is cut after a batch that took too long.
        #[serde(deserialize_with = "back_off")]
        back_off: f64,
    },
}

impl ServeCard {
    /// A service as this recipe serves it.
    #[must_use]
    pub fn serve(&self, service: &ServiceCard) -> ServiceCard {
        let mut service = service.clone();
        if let ModelCard::Batch(batch) = &mut service.model {
            self.set(batch);
        }
        service
    }

    fn set(&self, card: &mut BatchCard) {
        match self.batching {
            None => {}
            Some(BatchingCard::Fixed(most)) => card.batcher = BatcherCard::Fixed(most),
            Some(BatchingCard::Aimd { part, add, back_off }) => {
                let most = match card.batcher {
                    BatcherCard::Fixed(most) | BatcherCard::Aimd { most, .. } => most,
                };
                let batch_target_ms = card.target_ms * part;
                card.batcher = BatcherCard::Aimd { batch_target_ms, add, back_off, most };
            }
        }
        card.delay_ms = self.delay_ms.unwrap_or(card.delay_ms);
        card.cache = self.cache.unwrap_or(card.cache);
        card.expire = self.expire.unwrap_or(card.expire);
    }
}

fn delay<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    amount(from).map(Some)
}

fn back_off<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let number = f64::deserialize(from)?;
    let wrong =
        || Error::custom(format!("expected a part between 0 and 1, found {}", shown(number)));
    if number > 0.0 && number < 1.0 { Ok(number) } else { Err(wrong()) }
}
