//! Requests in batches: a queue and a batcher for each replica, a router before them, and a cache
//! before that, as in Clipper (NSDI 2017). Only the ends of batches are events.

mod card;

pub use card::{BatchCard, BatcherCard, LatencyCard, RouterCard};

use crate::card::Setting;
use crate::{Cell, Replicas, Summary, Traffic};
use serde::{Deserialize, Serialize};

/// A cell of models that answer in batches.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Batch {}

impl Batch {
    /// A cell without replicas.
    pub fn new(_card: &BatchCard, _traffic: Traffic, _setting: Setting) -> Batch {
        todo!()
    }

    /// How large a batch each replica would take now.
    pub fn caps(&self) -> impl Iterator<Item = f64> {
        [].into_iter()
    }
}

impl Cell for Batch {
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
