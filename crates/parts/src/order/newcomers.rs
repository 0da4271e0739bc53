//! Any order, but that jobs which come at one moment to an empty queue stand in it by their GPUs,
//! fewest first, for a second: the published program of quasi-shortest service first asks for
//! predictions only once somebody has waited.

use heeler_engine::{Calibration, Job, Key, Line, Note, Order, Phase, View};
use heeler_model::{JobId, Span, Time};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// An order by which nobody goes who has just come to an empty queue.
pub struct Newcomers {
    order: Box<dyn Order>,
    /// Who waits, and since when.
    waiting: BTreeSet<(Time, JobId)>,
}

/// How often that program looks at the queue.
const LOOK: Span = Span::from_secs(1);

impl Newcomers {
    /// An order by which others go.
    pub fn new(order: Box<dyn Order>) -> Newcomers {
        Newcomers { order, waiting: BTreeSet::new() }
    }

    /// Whether a job has just come, and so has everybody who waits.
    fn is_new(&self, job: &Job, view: &View) -> bool {
        let waits = job.phase == Phase::Waiting && job.since == view.now();
        waits && self.waiting.first().is_none_or(|(since, _)| *since == view.now())
    }
}

impl Order for Newcomers {
    fn line(&self, job: &Job, view: &View) -> Line {
        let gpus = i64::from(job.spec.demand.asked());
        if self.is_new(job, view) {
            return Line { key: Key::of(gpus), slope: 0 };
        }
        let line = self.order.line(job, view);
        // That program sorts by GPUs before it sorts by anything else.
        Line { key: Key { minor: gpus, ..line.key }, ..line }
    }

    fn bends(&self, job: &Job, view: &View) -> Option<Time> {
        let look = self.is_new(job, view).then(|| view.now() + LOOK);
        [look, self.order.bends(job, view)].into_iter().flatten().min()
    }

    fn bend(&mut self, job: &Job, view: &View) {
        self.order.bend(job, view);
    }

    fn observe(&mut self, note: &Note, view: &View) -> Vec<JobId> {
        match note {
            Note::Joined(id) => {
                self.waiting.insert((view.now(), *id));
            }
            Note::Placed(id) | Note::Paused(id) | Note::Left(id) => {
                self.waiting.retain(|(_, other)| other != id);
            }
            _ => {}
        }
        self.order.observe(note, view)
    }

    fn tenant_rank(&self, job: &Job, extra_milli: i64, view: &View) -> i64 {
        self.order.tenant_rank(job, extra_milli, view)
    }

    fn by_tenant(&self) -> bool {
        self.order.by_tenant()
    }

    fn protects(&self, running: &Job, from: &Job, ranks_behind: bool, view: &View) -> bool {
        self.order.protects(running, from, ranks_behind, view)
    }

    fn is_worth_a_stop(&self, waiting: (&Job, Key), running: (&Job, Key)) -> bool {
        self.order.is_worth_a_stop(waiting, running)
    }

    fn protects_by_tenant(&self, view: &View) -> bool {
        self.order.protects_by_tenant(view)
    }

    fn calibration(&self) -> Option<Calibration> {
        self.order.calibration()
    }

    fn save(&self) -> Value {
        json!({ "order": self.order.save(), "waiting": self.waiting })
    }

    fn restore(&mut self, saved: &Value) -> Result<(), String> {
        let waiting = serde_json::from_value(saved["waiting"].clone());
        self.waiting = waiting.map_err(|error| error.to_string())?;
        self.order.restore(&saved["order"])
    }

    fn fork(&self) -> Box<dyn Order> {
        Box::new(Newcomers { order: self.order.fork(), waiting: self.waiting.clone() })
    }
}
