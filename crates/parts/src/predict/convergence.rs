//! Until its loss has settled: the work of a job is told by a curve through the losses that it
//! reported (Optimus, EuroSys 2018, §3.1). Before there are enough of them, and for jobs that
//! report none, what was declared counts.

use super::{Declared, Losses};
use heeler_engine::{Calibration, Job, Note, Predict, View};
use serde_json::Value;

/// Curves of losses that far from certain are not believed.
const UNCERTAIN: f64 = 0.25;

/// Until its loss has settled.
#[derive(Clone, Debug, Default)]
pub struct Convergence {
    losses: Losses,
    /// A loss has settled that falls by less than this part of all it will have fallen from one
    /// report to the next.
    settled: f64,
}

impl Convergence {
    /// A loss has settled that falls by less than such a part from one report to the next.
    pub fn new(settled: f64) -> Convergence {
        Convergence { losses: Losses::default(), settled }
    }
}

impl Predict for Convergence {
    fn work(&self, job: &Job, view: &View) -> Option<f64> {
        let sure = self.losses.uncertainty(job.id).is_some_and(|off| off < UNCERTAIN);
        let settles = self.losses.settles(job, self.settled, view).filter(|_| sure);
        settles.or_else(|| Declared.work(job, view))
    }

    fn observe(&mut self, note: &Note, view: &View) {
        self.losses.observe(note, view);
    }

    /// How well its curves did; of how long jobs run, whoever judges it keeps count.
    fn calibration(&self) -> Option<Calibration> {
        Some(self.losses.calibration())
    }

    fn save(&self) -> Value {
        serde_json::to_value(&self.losses).expect("plain data")
    }

    fn restore(&mut self, saved: &Value) -> Result<(), String> {
        self.losses = serde_json::from_value(saved.clone()).map_err(|error| error.to_string())?;
        self.losses.fit_again();
        Ok(())
    }

    fn fork(&self) -> Box<dyn Predict> {
        Box::new(self.clone())
    }
}
