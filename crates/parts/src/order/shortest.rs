//! Shortest first, by what a predictor says: time or service, whole or remaining. While a job runs
//! its remaining time falls at a steady rate, so the order keeps itself.

use crate::predict::learn;
use heeler_engine::{Calibration, Job, Key, Line, Note, Order, Predict, View};
use heeler_model::{JobId, Time};
use serde_json::Value;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weigh {
    /// Run time of the whole job (SJF).
    Whole,
    /// Run time that is left (SRTF).
    Left,
    /// Run time that is left × GPUs (SRSF).
    LeftTimesGpus,
}

/// Shortest first.
pub struct Shortest {
    /// What is compared.
    pub weigh: Weigh,
    /// Who says how long jobs are.
    pub predict: Box<dyn Predict>,
}

/// Where jobs go of which nothing is known: behind all others, in order of submission.
const LAST: i64 = i64::MAX / 2;

/// Keys count thousandths of a microsecond, because slow GPUs take some off in a microsecond.
const PARTS: f64 = 1000.0;

impl Shortest {
    /// What a job weighs, in microseconds at its nominal pace. On slow GPUs it has longer to go
    /// than that; but if it were weighed by the GPUs it is on, it would weigh more as soon as it
    /// runs on slow ones, give way to one that waits, weigh less, and so on without end.
    fn weight(&self, job: &Job, view: &View) -> Option<f64> {
        let work = self.predict.work(job, view)?;
        let done = match self.weigh {
            Weigh::Whole => 0.0,
            Weigh::Left | Weigh::LeftTimesGpus => job.progress.done_at(view.now()),
        };
        Some(((work - done) / job.spec.nominal_pace).ceil().max(0.0))
    }
}

impl Order for Shortest {
    fn line(&self, job: &Job, view: &View) -> Line {
        let gpus = match self.weigh {
            Weigh::Whole | Weigh::Left => 1.0,
            Weigh::LeftTimesGpus => f64::from(job.spec.demand.asked().max(1)),
        };
        let Some(micros) = self.weight(job, view) else {
            return Line { key: Key::of(LAST), slope: 0 };
        };
        let works = job.is_running() && job.progress.from <= view.now();
        let falls = works && self.weigh != Weigh::Whole;
        let pace = if falls { job.progress.pace / job.spec.nominal_pace } else { 0.0 };
        let major = ((micros * gpus * PARTS) as i64).min(LAST);
        Line { key: Key::of(major), slope: -(pace * gpus * PARTS).round() as i64 }
    }

    /// While it starts, a job has as much to go as before.
    fn bends(&self, job: &Job, view: &View) -> Option<Time> {
        let starts = job.is_running() && job.progress.from > view.now();
        (starts && self.weigh != Weigh::Whole).then_some(job.progress.from)
    }

    fn observe(&mut self, note: &Note, view: &View) -> Vec<JobId> {
        learn(&mut *self.predict, note, view).into_iter().collect()
    }

    fn calibration(&self) -> Option<Calibration> {
        self.predict.calibration()
    }

    fn save(&self) -> Value {
        self.predict.save()
    }

    fn restore(&mut self, saved: &Value) -> Result<(), String> {
        self.predict.restore(saved)
    }

    fn fork(&self) -> Box<dyn Order> {
        Box::new(Shortest { weigh: self.weigh, predict: self.predict.fork() })
    }
}
