//! Queues by attained service and the Gittins index inside them, as in Tiresias' 2D-Gittins (Gu et
//! al., NSDI 2019, §4.2): among jobs of one queue, first the one whose chance to finish soon is
//! largest for the service that takes. The distribution of service is learnt from jobs that have
//! finished, or given.

use super::gittins_index::GittinsIndex;
use super::mlfq::Served;
use heeler_engine::{Crossing, Index, Job, Key, Line, Note, Order, Service, View};
use heeler_model::{JobId, Span, Time};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// So many finished jobs are remembered.
const REMEMBERED: usize = 2000;
/// The index is computed anew after so many finished jobs.
const REFRESH: u32 = 1000;

/// Who goes first among jobs of a queue whose index is the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Equals {
    /// Who runs, so that nobody is stopped for an equal.
    #[default]
    RunningFirst,
    /// Who was submitted first, whether it runs or not.
    AsSubmitted,
}

/// Who goes first in the last queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LastQueue {
    /// All are equal.
    #[default]
    FirstCome,
    /// Who has the largest index, as in the others.
    ByIndex,
}

/// Queues by attained service, and the Gittins index inside them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Gittins {
    limits: Vec<Span>,
    served: Served,
    horizon: Option<Span>,
    #[serde(default)]
    equals: Equals,
    #[serde(default)]
    last: LastQueue,
    /// Whether the sample stays as it was given.
    #[serde(default)]
    given: bool,
    index: GittinsIndex,
    /// Services of finished jobs, microseconds; the oldest is overwritten first.
    history: Vec<u64>,
    finished: u32,
}

impl Gittins {
    /// Queues with these limits and an index that starts from a sample of services.
    pub fn new(
        limits: Vec<Span>,
        served: Served,
        horizon: Option<Span>,
        sample: Vec<u64>,
    ) -> Gittins {
        let index = GittinsIndex::new(&sample, horizon.map(Span::micros));
        let (equals, last) = Default::default();
        let (given, finished) = (false, 0);
        Gittins { limits, served, horizon, equals, last, given, index, history: sample, finished }
    }

    /// The same, in which these go first among equals and in the last queue.
    #[must_use]
    pub fn with(self, equals: Equals, last: LastQueue) -> Gittins {
        Gittins { equals, last, ..self }
    }

    /// The same, learning from jobs that finish or not.
    #[must_use]
    pub fn learning(self, learns: bool) -> Gittins {
        Gittins { given: !learns, ..self }
    }

    /// Service in microseconds, of one GPU where GPUs count.
    fn counted(&self, service: Service) -> u64 {
        service.counted(self.served.by_gpu()) / 1000
    }

    /// The index from all that is remembered, by the rules of the world.
    fn reckon(&mut self, view: &View) {
        let horizon = self.horizon.map(Span::micros);
        self.index = match (view.rules().index, horizon) {
            (Index::Whole, Some(ahead)) => {
                GittinsIndex::of_whole_services(&self.history, ahead, view.rules().tick_us)
            }
            _ => GittinsIndex::new(&self.history, horizon),
        };
    }

    /// Remember what a job took that has finished; whether the index is another now.
    fn learn(&mut self, service: u64, view: &View) -> bool {
        if self.given {
            return false;
        }
        if self.history.len() < REMEMBERED {
            self.history.push(service);
        } else {
            let slot = self.finished as usize % REMEMBERED;
            self.history[slot] = service;
        }
        self.finished += 1;
        let full = self.finished.is_multiple_of(REFRESH);
        if full {
            self.reckon(view);
        }
        full
    }
}

impl Order for Gittins {
    fn line(&self, job: &Job, view: &View) -> Line {
        let attained = self.counted(view.service(job));
        let queue = self.limits.iter().take_while(|limit| attained >= limit.micros()).count();
        let by_index = queue < self.limits.len() || self.last == LastQueue::ByIndex;
        let index = if by_index { self.index.rank(attained) } else { 0 };
        let waits = i64::from(!job.is_running());
        let minor = match self.equals {
            Equals::RunningFirst => waits,
            Equals::AsSubmitted => (job.submitted.micros() as i64) * 2 + waits,
        };
        Line { key: Key { major: ((queue as i64) << 56) - index, minor }, slope: 0 }
    }

    fn bends(&self, job: &Job, view: &View) -> Option<Time> {
        if !job.is_running() {
            return None;
        }
        let service = view.service(job);
        let attained = self.counted(service);
        let limit = self.limits.iter().map(|limit| limit.micros()).find(|l| *l > attained);
        let by_index = limit.is_some() || self.last == LastQueue::ByIndex;
        // Where only limits are forecast, the index is looked at when something happens.
        let looks = by_index && view.rules().crossing == Crossing::Exact;
        let step = if looks { self.index.next_change(attained) } else { None };
        let next = Span::from_micros([limit, step].into_iter().flatten().min()?);
        Some(view.when_served(job, service, next, self.served.by_gpu()))
    }

    fn observe(&mut self, note: &Note, view: &View) -> Vec<JobId> {
        match *note {
            // The first job that comes shows the rules of the world.
            Note::Joined(_) => {
                let whole = view.rules().index == Index::Whole && self.horizon.is_some();
                if self.index.is_of_whole_services() != whole {
                    self.reckon(view);
                }
                Vec::new()
            }
            Note::Left(id) => {
                let service = self.counted(view.service(view.job(id)));
                let changed = self.learn(service, view);
                let others = view.jobs().iter().map(|job| job.id).filter(|job| *job != id);
                if changed { others.collect() } else { Vec::new() }
            }
            _ => Vec::new(),
        }
    }

    fn save(&self) -> Value {
        serde_json::to_value(self).expect("plain data")
    }

    fn restore(&mut self, saved: &Value) -> Result<(), String> {
        *self = serde_json::from_value(saved.clone()).map_err(|error| error.to_string())?;
        Ok(())
    }

    fn fork(&self) -> Box<dyn Order> {
        Box::new(self.clone())
    }
}
