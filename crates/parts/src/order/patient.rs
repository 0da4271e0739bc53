//! Any order, looked at again whenever a waiting job has come down a step of its ladder: what it is
//! content with has changed, though nothing has happened.

use crate::allocate::Ladder;
use heeler_engine::{Calibration, Job, Key, Line, Note, Order, Phase, View};
use heeler_model::{JobId, Time};
use serde_json::Value;

/// An order whose waiting jobs are looked at again at the steps of a ladder.
pub struct Patient {
    /// The order.
    pub order: Box<dyn Order>,
    /// What they are content with, and when.
    pub ladder: Ladder,
}

impl Order for Patient {
    fn line(&self, job: &Job, view: &View) -> Line {
        self.order.line(job, view)
    }

    fn bends(&self, job: &Job, view: &View) -> Option<Time> {
        let waits = job.phase == Phase::Waiting;
        let next = self.ladder.relaxes(job, view).filter(|_| waits);
        [next, self.order.bends(job, view)].into_iter().flatten().min()
    }

    fn bend(&mut self, job: &Job, view: &View) {
        self.order.bend(job, view);
    }

    fn observe(&mut self, note: &Note, view: &View) -> Vec<JobId> {
        let mut moved = self.order.observe(note, view);
        // Its patience may count from now on.
        if let Note::Scattered(job) = note {
            moved.push(*job);
        }
        moved
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
        self.order.save()
    }

    fn restore(&mut self, saved: &Value) -> Result<(), String> {
        self.order.restore(saved)
    }

    fn fork(&self) -> Box<dyn Order> {
        Box::new(Patient { order: self.order.fork(), ladder: self.ladder })
    }
}
