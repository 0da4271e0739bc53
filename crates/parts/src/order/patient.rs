//! Any order, looked at again whenever a waiting job has waited for so long: what it is content
//! with may have changed, though nothing has happened.

use heeler_engine::{Calibration, Job, Key, Line, Note, Order, Phase, View};
use heeler_model::{JobId, Span, Time};
use serde_json::Value;

/// An order whose waiting jobs are looked at again after these times.
pub struct Patient {
    /// The order.
    pub order: Box<dyn Order>,
    /// After how long.
    pub after: Vec<Span>,
}

impl Order for Patient {
    fn line(&self, job: &Job, view: &View) -> Line {
        self.order.line(job, view)
    }

    fn bends(&self, job: &Job, view: &View) -> Option<Time> {
        let waits = job.phase == Phase::Waiting;
        let times = self.after.iter().filter(|_| waits).map(|after| job.since + *after);
        let next = times.filter(|at| *at > view.now()).min();
        [next, self.order.bends(job, view)].into_iter().flatten().min()
    }

    fn bend(&mut self, job: &Job, view: &View) {
        self.order.bend(job, view);
    }

    fn observe(&mut self, note: &Note, view: &View) -> Vec<JobId> {
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
        self.order.save()
    }

    fn restore(&mut self, saved: &Value) -> Result<(), String> {
        self.order.restore(saved)
    }

    fn fork(&self) -> Box<dyn Order> {
        Box::new(Patient { order: self.order.fork(), after: self.after.clone() })
    }
}
