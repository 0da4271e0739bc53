//! Requests one at a time, first come, first served, through a pipeline of stages: the end of each
//! follows from the ends before it, so there are no events at all. After the simulator of AlpaServe
//! (OSDI 2023): t_k = max(t_{k-1}, clock_k) + l_k, and who would be late is turned away on arrival.

use crate::arrivals::{Arrivals, Request, Traffic};
use crate::card::{Mistake, Setting};
use crate::tally::Tally;
use crate::{Answer, Cell, Replicas, Summary, ms_to_ns};
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
    mean_stage_ns: u64,
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
    tally: Tally,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Replica {
    ready_ns: u64,
    /// When each stage has finished what it has taken.
    clocks: SmallVec<[u64; 8]>,
}

impl Replica {
    /// When it has finished everything that it has taken.
    #[inline]
    fn end_ns(&self) -> u64 {
        self.clocks[self.clocks.len() - 1]
    }
}

impl Recurrence {
    /// A cell without replicas.
    pub fn new(card: &RecurrenceCard, traffic: Traffic, setting: Setting) -> Recurrence {
        let Setting { load_ns, from_ns, .. } = setting;
        let stages_ns: SmallVec<[u64; 8]> = card.stages_ms.iter().map(|ms| ms_to_ns(*ms)).collect();
        Recurrence {
            target_ns: ms_to_ns(card.target_ms),
            mean_stage_ns: stages_ns.iter().sum::<u64>() / stages_ns.len() as u64,
            stages_ns,
            overhead_ns: ms_to_ns(card.overhead_ms),
            admit: card.admit,
            load_ns,
            traffic,
            now_ns: from_ns,
            replicas: Vec::new(),
            draining: Vec::new(),
            waiting: VecDeque::new(),
            tally: Tally::new(from_ns),
        }
    }

    /// The replica that would be free first: of those that serve or, if none does, of those that
    /// load.
    #[inline]
    fn route(&self, now_ns: u64) -> Option<usize> {
        let key = |replica: &Replica| (replica.ready_ns > now_ns, replica.end_ns());
        let best = self.replicas.iter().enumerate().min_by_key(|(_, replica)| key(replica));
        best.map(|(index, _)| index)
    }

    /// Accept a request or turn it away.
    #[inline]
    fn decide(&mut self, request: Request, now_ns: u64) {
        let Some(index) = self.route(now_ns) else {
            self.waiting.push_back(request);
            return;
        };
        let clocks = &mut self.replicas[index].clocks;
        let mut time = now_ns;
        for (clock, stage) in clocks.iter().zip(&self.stages_ns) {
            time = time.max(*clock) + stage;
        }
        let end = time + self.overhead_ns;
        if self.admit && end - request.at_ns > self.target_ns {
            self.tally.summary.rejected += 1;
            return;
        }
        let mut time = now_ns;
        for (clock, stage) in clocks.iter_mut().zip(&self.stages_ns) {
            time = time.max(*clock) + stage;
            *clock = time;
        }
        self.tally.summary.busy_ns += self.mean_stage_ns;
        self.tally.answer(request.at_ns, end, self.target_ns);
    }

    /// Forget drained replicas.
    fn retire(&mut self) {
        let now_ns = self.now_ns;
        self.draining.sort_unstable();
        let done = self.draining.partition_point(|end| *end <= now_ns);
        for end in self.draining.drain(..done) {
            self.tally.present(end, -1);
        }
    }
}

impl Cell for Recurrence {
    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn advance(&mut self, until_ns: u64) {
        while self.traffic.next_ns() <= until_ns {
            let Some(request) = self.traffic.next() else { break };
            self.tally.summary.arrived += 1;
            self.now_ns = self.now_ns.max(request.at_ns);
            self.decide(request, request.at_ns);
        }
        let ends = || self.replicas.iter().map(Replica::end_ns).chain(self.draining.clone());
        let last = if until_ns == u64::MAX { ends().max().unwrap_or(0) } else { until_ns };
        self.now_ns = self.now_ns.max(last);
        self.retire();
    }

    fn set_replicas(&mut self, at_ns: u64, count: u32) {
        self.advance(at_ns);
        let now_ns = self.now_ns;
        while self.replicas.len() > count as usize {
            if let Some(replica) = self.replicas.pop() {
                let unused = replica.end_ns() == replica.ready_ns;
                self.draining.push(if unused { now_ns } else { replica.end_ns().max(now_ns) });
            }
        }
        self.retire();
        while self.replicas.len() < count as usize {
            let ready_ns = now_ns + self.load_ns;
            let clocks = SmallVec::from_elem(ready_ns, self.stages_ns.len());
            self.replicas.push(Replica { ready_ns, clocks });
            self.tally.present(now_ns, 1);
        }
        if !self.replicas.is_empty() {
            for request in std::mem::take(&mut self.waiting) {
                self.decide(request, now_ns);
            }
        }
    }

    fn lose_replicas(&mut self, at_ns: u64, count: u32) {
        self.advance(at_ns);
        let left = self.replicas.len().saturating_sub(count as usize);
        let lost = self.replicas.len() - left;
        self.replicas.truncate(left);
        self.tally.present(self.now_ns, -(lost as i64));
    }

    fn replicas(&self) -> Replicas {
        let loading = self.replicas.iter().filter(|r| r.ready_ns > self.now_ns).count() as u32;
        let serving = self.replicas.len() as u32 - loading;
        Replicas { serving, loading, draining: self.draining.len() as u32 }
    }

    fn look(&mut self) -> Summary {
        // Only the clocks are known, so the requests behind them are counted by the slowest stage.
        let slowest = self.stages_ns.iter().copied().max().unwrap_or(0).max(1);
        let ends = self.replicas.iter().filter(|r| r.ready_ns <= self.now_ns).map(Replica::end_ns);
        let ends = ends.chain(self.draining.iter().copied());
        let behind: Vec<u64> =
            ends.map(|end| end.saturating_sub(self.now_ns).div_ceil(slowest)).collect();
        let running = behind.iter().filter(|count| **count > 0).count() as u64;
        let waiting = behind.iter().sum::<u64>() - running + self.waiting.len() as u64;
        self.tally.look(self.now_ns, waiting, running)
    }

    fn next_ns(&self) -> Option<u64> {
        Some(self.traffic.next_ns()).filter(|next| *next < u64::MAX)
    }

    fn keep_answers(&mut self) {
        self.tally.keep_answers();
    }

    fn answers(&self) -> &[Answer] {
        self.tally.answers()
    }
}
