//! What all cells have in common, and one type for whichever a service uses.

use crate::{Answer, Recurrence, Summary, batch::Batch, llm::Llm};
use serde::{Deserialize, Serialize};

/// How many replicas a cell has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replicas {
    /// Take requests.
    pub serving: u32,
    /// Were added and still load their model.
    pub loading: u32,
    /// Were taken away and finish what they have.
    pub draining: u32,
}

/// A service that is simulated on its own between the moments when somebody touches it.
pub trait Cell {
    /// How far it was advanced.
    fn now_ns(&self) -> u64;

    /// Let everything happen up to and including this moment. An earlier one changes nothing, and
    /// `u64::MAX` goes on until nothing is left to happen. Many small advances are the same as a
    /// large one.
    fn advance(&mut self, until_ns: u64);

    /// Have so many replicas from this moment on, which first is advanced to. New ones load their
    /// model before they serve. Those too many (loading ones first, then the newest) get no more
    /// requests and finish those that they have.
    fn set_replicas(&mut self, at_ns: u64, count: u32);

    /// Lose so many replicas at this moment, the newest first, as if their nodes had failed.
    /// Requests that they had begin anew on others; their waiting time goes on. A recurrence cannot
    /// take back what it has accepted and only stops accepting there.
    fn lose_replicas(&mut self, at_ns: u64, count: u32);

    /// How many replicas there are.
    fn replicas(&self) -> Replicas;

    /// What happened since the last look.
    fn look(&mut self) -> Summary;

    /// A moment before which nothing happens in here; none if nothing is to come.
    fn next_ns(&self) -> Option<u64>;

    /// Keep every answer from now on, which takes memory.
    fn keep_answers(&mut self);

    /// The answers that were kept.
    fn answers(&self) -> &[Answer];
}

/// A service, whatever its fidelity. It can be cloned to try something out, and stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Service {
    /// One request at a time, by recurrence.
    Recurrence(Box<Recurrence>),
    /// Requests in batches.
    Batch(Box<Batch>),
    /// A language model with continuous batching.
    Llm(Box<Llm>),
}

macro_rules! each {
    ($service:expr, $cell:ident => $what:expr) => {
        match $service {
            Service::Recurrence($cell) => $what,
            Service::Batch($cell) => $what,
            Service::Llm($cell) => $what,
        }
    };
}

impl Cell for Service {
    fn now_ns(&self) -> u64 {
        each!(self, cell => cell.now_ns())
    }

    fn advance(&mut self, until_ns: u64) {
        each!(self, cell => cell.advance(until_ns));
    }

    fn set_replicas(&mut self, at_ns: u64, count: u32) {
        each!(self, cell => cell.set_replicas(at_ns, count));
    }

    fn lose_replicas(&mut self, at_ns: u64, count: u32) {
        each!(self, cell => cell.lose_replicas(at_ns, count));
    }

    fn replicas(&self) -> Replicas {
        each!(self, cell => cell.replicas())
    }

    fn look(&mut self) -> Summary {
        each!(self, cell => cell.look())
    }

    fn next_ns(&self) -> Option<u64> {
        each!(self, cell => cell.next_ns())
    }

    fn keep_answers(&mut self) {
        each!(self, cell => cell.keep_answers());
    }

    fn answers(&self) -> &[Answer] {
        each!(self, cell => cell.answers())
    }
}
