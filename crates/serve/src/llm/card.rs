//! How a language model is written down: what its steps cost, and how much its memory holds.

use crate::batch::RouterCard;
use crate::card::Mistake;
use serde::{Deserialize, Serialize};

/// A language model with continuous batching.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LlmCard {
    /// A first token after more than this many milliseconds is late.
    pub first_token_target_ms: f64,
    /// A request whose tokens are on average further apart than this is late.
    pub per_token_target_ms: f64,
    /// What a step costs that reads prompts.
    pub prefill: PrefillCard,
    /// What a step costs that writes a token for every request.
    pub decode: DecodeCard,
    /// The same for large batches, where that differs.
    #[serde(default)]
    pub decode_large: Option<LargeCard>,
    /// Tokens, read or written, that the memory of a replica holds.
    pub kv_tokens: u64,
    /// Requests at a time.
    #[serde(default = "batch_cap")]
    pub batch_cap: u32,
    /// Prompt tokens that one step reads at most; a longer prompt is read alone.
    #[serde(default = "prefill_tokens")]
    pub prefill_tokens: u32,
    /// Read prompts in chunks beside the tokens that are written, so many tokens a step in all
    /// (Sarathi-Serve, OSDI 2024). Without it a step either reads or writes.
    #[serde(default)]
    pub chunk_tokens: Option<u32>,
    /// Which replica a request goes to.
    #[serde(default = "shortest")]
    pub router: RouterCard,
    /// How much steps vary: the coefficient of variation of a log-normal factor of mean one, drawn
    /// anew whenever the batch changes.
    #[serde(default)]
    pub noise_cv: f64,
}

/// What a step costs that reads prompts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PrefillCard {
    /// Milliseconds for any step.
    pub fixed_ms: f64,
    /// Milliseconds for each token.
    pub per_token_ms: f64,
    /// Milliseconds for the square of the tokens of each prompt.
    #[serde(default)]
    pub per_square_ms: f64,
}

/// What a step costs that writes a token for every request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DecodeCard {
    /// Milliseconds for any step.
    pub fixed_ms: f64,
    /// Milliseconds for each token read or written before, of all requests.
    pub per_context_token_ms: f64,
    /// Milliseconds for each request.
    pub per_request_ms: f64,
}

/// What such a step costs with a large batch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LargeCard {
    /// From how many requests on.
    pub from: u32,
    /// What it costs.
    pub decode: DecodeCard,
}

fn batch_cap() -> u32 {
    256
}

fn prefill_tokens() -> u32 {
    4_096
}

fn shortest() -> RouterCard {
    RouterCard::ShortestQueue
}

impl DecodeCard {
    fn check(&self) -> Result<(), Mistake> {
        let finite = |value: f64| value.is_finite() && value >= 0.0;
        Mistake::unless(finite(self.fixed_ms), "fixed-ms", "milliseconds, not negative")?;
        let context = finite(self.per_context_token_ms);
        Mistake::unless(context, "per-context-token-ms", "milliseconds, not negative")?;
        Mistake::unless(finite(self.per_request_ms), "per-request-ms", "milliseconds, not negative")
    }
}

impl LlmCard {
    pub(crate) fn check(&self) -> Result<(), Mistake> {
        let above = |value: f64| value.is_finite() && value > 0.0;
        let first = above(self.first_token_target_ms);
        Mistake::unless(first, "first-token-target-ms", "milliseconds above zero")?;
        let each = above(self.per_token_target_ms);
        Mistake::unless(each, "per-token-target-ms", "milliseconds above zero")?;
        let prefill = self.prefill;
        let parts = [prefill.fixed_ms, prefill.per_token_ms, prefill.per_square_ms];
        // Fitted squares may be slightly negative; a step never takes less than nothing.
        let right = parts.iter().all(|ms| ms.is_finite()) && parts[0] >= 0.0 && parts[1] >= 0.0;
        Mistake::unless(right, "prefill", "milliseconds, not negative")?;
        self.decode.check().map_err(|mistake| mistake.inside("decode"))?;
        if let Some(large) = &self.decode_large {
            large.decode.check().map_err(|mistake| mistake.inside("decode-large.decode"))?;
        }
        Mistake::unless(self.kv_tokens >= 2, "kv-tokens", "two tokens or more")?;
        Mistake::unless(self.batch_cap > 0, "batch-cap", "one request or more")?;
        Mistake::unless(self.prefill_tokens > 0, "prefill-tokens", "one token or more")?;
        let chunk = self.chunk_tokens.is_none_or(|tokens| tokens > 0);
        Mistake::unless(chunk, "chunk-tokens", "one token or more")?;
        let noise = (0.0..=10.0).contains(&self.noise_cv);
        Mistake::unless(noise, "noise-cv", "a number from 0 to 10")
    }
}
