//! A language model with continuous batching (Orca, OSDI 2022; vLLM, SOSP 2023): a step either reads
//! prompts or writes one token for every request. Steps that differ only in how much was written
//! are taken together, since the sum of their costs has a closed form.

mod card;

pub use card::{DecodeCard, LargeCard, LlmCard, PrefillCard};

use crate::card::Setting;
use crate::{Cell, Replicas, Summary, Traffic};
use serde::{Deserialize, Serialize};

/// A cell of language models.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Llm {}

impl Llm {
    /// A cell without replicas.
    pub fn new(_card: &LlmCard, _traffic: Traffic, _setting: Setting) -> Llm {
        todo!()
    }
}

impl Cell for Llm {
    fn now_ns(&self) -> u64 {
        todo!()
    }

    fn advance(&mut self, _until_ns: u64) {
        todo!()
    }

    fn set_replicas(&mut self, _at_ns: u64, _count: u32) {
        todo!()
    }

    fn lose_replicas(&mut self, _at_ns: u64, _count: u32) {
        todo!()
    }

    fn replicas(&self) -> Replicas {
        todo!()
    }

    fn look(&mut self) -> Summary {
        todo!()
    }

    fn next_ns(&self) -> Option<u64> {
        todo!()
    }
}
