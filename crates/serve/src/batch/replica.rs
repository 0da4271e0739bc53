//! One replica: its queue, the batch at its head that it works on, and how large a batch may be.

use super::card::BatcherCard;
use crate::fleet::Work;
use crate::ms_to_ns;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A request in a queue.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Waiting {
    pub(super) at_ns: u64,
    pub(super) key: u32,
}

/// What a replica has to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Queue {
    /// All that it has; the first `running` are being answered.
    pub(super) queue: VecDeque<Waiting>,
    pub(super) running: u32,
    /// When the batch being answered began.
    pub(super) since_ns: u64,
    /// When the last batch has ended or will end.
    pub(super) end_ns: u64,
    /// When it would have answered all that it has, by what is known.
    free_ns: u64,
    pub(super) limit: Limit,
    /// Batches begun.
    pub(super) batches: u64,
}

impl Work for Queue {
    #[inline]
    fn load(&self) -> u64 {
        self.free_ns
    }

    #[inline]
    fn requests(&self) -> u64 {
        self.queue.len() as u64
    }
}

impl Queue {
    pub(super) fn new(ready_ns: u64, limit: Limit) -> Queue {
        Queue {
            queue: VecDeque::new(),
            running: 0,
            since_ns: 0,
            end_ns: ready_ns,
            free_ns: ready_ns,
            limit,
            batches: 0,
        }
    }

    /// Requests that wait here.
    #[inline]
    pub(super) fn waiting(&self) -> u32 {
        self.queue.len() as u32 - self.running
    }

    /// Say anew when it would be free.
    #[inline]
    pub(super) fn estimate(&mut self, latencies: &mut Latencies) {
        let (cap, waiting) = (self.limit.cap(), self.waiting());
        self.free_ns = self.end_ns;
        if waiting > 0 {
            let full = waiting / cap;
            let rest = waiting % cap;
            self.free_ns += u64::from(full) * latencies.of(if full > 0 { cap } else { 0 });
            self.free_ns += latencies.of(rest);
        }
    }
}

/// How large a batch may be.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Limit {
    /// The limit before it is made whole.
    #[serde(with = "crate::exact")]
    pub(super) size: f64,
    rule: BatcherCard,
}

impl Limit {
    pub(super) fn new(rule: BatcherCard) -> Limit {
        let size = match rule {
            BatcherCard::Fixed(cap) => f64::from(cap),
            BatcherCard::Aimd { .. } => 1.0,
        };
        Limit { size, rule }
    }

    #[inline]
    pub(super) fn cap(&self) -> u32 {
        self.size as u32
    }

    /// Learn from a batch.
    #[inline]
    pub(super) fn learn(&mut self, size: u32, took_ns: u64) {
        let BatcherCard::Aimd { batch_target_ms, add, back_off, most } = self.rule else { return };
        if took_ns > ms_to_ns(batch_target_ms) {
            self.size = (self.size * (1.0 - back_off)).max(1.0);
        } else if size >= self.cap() {
            // A batch that was not full says nothing about a larger one.
            self.size = (self.size + add).min(f64::from(most));
        }
    }
}

/// How long batches of each size take, worked out once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Latencies {
    card: super::LatencyCard,
    known: Vec<u64>,
}

impl Latencies {
    pub(super) fn new(card: super::LatencyCard) -> Latencies {
        Latencies { card, known: vec![0] }
    }

    #[inline]
    pub(super) fn of(&mut self, size: u32) -> u64 {
        while self.known.len() <= size as usize {
            self.known.push(self.card.of(self.known.len() as u32));
        }
        self.known[size as usize]
    }
}
