//! Requests one at a time, first come, first served, through a pipeline of stages: the end of each
//! follows from the ends before it, so there are no events at all. After the simulator of AlpaServe
//! (OSDI 2023): t_k = max(t_{k-1}, clock_k) + l_k, and who would be late is turned away on arrival.

use crate::arrivals::{Arrivals, Request, Traffic};
use crate::card::{Mistake, Setting};
use crate::{Cell, Replicas, Summary, ms_to_ns};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::collections::VecDeque;

/// A model that answers one request at a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RecurrenceCard {
    /// An answer after more than this many milliseconds is late.
    pub target_ms: f64,
    /// Milliseconds that a request spends in each stage of the pipeline; one stage is no pipeline.
    pub stages_ms: Vec<f64>,
    /// Milliseconds that every answer takes besides, without keeping a stage busy.
    #[serde(default)]
    pub overhead_ms: f64,
    /// Turn requests away on arrival if they would be late.
    #[serde(default = "yes")]
    pub admit: bool,
}

fn yes() -> bool {
    true
}

impl RecurrenceCard {
    pub(crate) fn check(&self) -> Result<(), Mistake> {
        let finite = |ms: f64| ms.is_finite() && ms >= 0.0;
        let target = finite(self.target_ms) && self.target_ms > 0.0;
        Mistake::unless(target, "target-ms", "milliseconds above zero")?;
        let stages = !self.stages_ms.is_empty() && self.stages_ms.iter().all(|ms| finite(*ms));
        Mistake::unless(stages, "stages-ms", "one or more milliseconds, none negative")?;
        Mistake::unless(finite(self.overhead_ms), "overhead-ms", "milliseconds, not negative")
    }
}

/// A cell of such models.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Recurrence {
    target_ns: u64,
    stages_ns: SmallVec<[u64; 8]>,
    overhead_ns: u64,
    admit: bool,
    load_ns: u64,
    traffic: Traffic,
    now_ns: u64,
    replicas: Vec<Replica>,
    /// When each replica that was taken away has finished.
    draining: Vec<u64>,
    /// Came while there was no replica.
    waiting: VecDeque<Request>,
    summary: Summary,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Replica {
    ready_ns: u64,
    /// When each stage has finished what it has taken.
    clocks: SmallVec<[u64; 8]>,
}

impl Recurrence {
    /// A cell without replicas.
    pub fn new(card: &RecurrenceCard, traffic: Traffic, setting: Setting) -> Recurrence {
        let Setting { load_ns, from_ns, .. } = setting;
        Recurrence {
            target_ns: ms_to_ns(card.target_ms),
            stages_ns: card.stages_ms.iter().map(|ms| ms_to_ns(*ms)).collect(),
            overhead_ns: ms_to_ns(card.overhead_ms),
            admit: card.admit,
            load_ns,
            traffic,
            now_ns: from_ns,
            replicas: Vec::new(),
            draining: Vec::new(),
            waiting: VecDeque::new(),
            summary: Summary { from_ns, to_ns: from_ns, ..Summary::default() },
        }
    }
}

impl Cell for Recurrence {
    fn now_ns(&self) -> u64 {
        self.now_ns
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
