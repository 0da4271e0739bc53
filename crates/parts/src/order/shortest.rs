//! Shortest first, by what a predictor says: time or service, whole or remaining. While a job runs
//! its remaining time falls at a steady rate, so the order keeps itself.

use heeler_engine::{Job, Key, Line, Note, Order, Predict, View};
use heeler_model::JobId;
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
const LAST: i64 = i64::MAX / 8;

impl Order for Shortest {
    fn line(&self, job: &Job, view: &View) -> Line {
        let falls = job.is_running() && self.weigh != Weigh::Whole;
        let gpus = match self.weigh {
            Weigh::Whole | Weigh::Left => 1,
            Weigh::LeftTimesGpus => i64::from(job.gpus().max(1)),
        };
        let micros = match self.weigh {
            Weigh::Whole => self
                .predict
                .work(job, view)
                .map(|work| (work / job.spec.nominal_pace).ceil() as i64),
            Weigh::Left | Weigh::LeftTimesGpus => {
                self.predict.left(job, view).map(|left| left.micros() as i64)
            }
        };
        match micros {
            Some(micros) => {
                let major = micros.saturating_mul(gpus).min(LAST);
                Line { key: Key::of(major), slope: if falls { -gpus } else { 0 } }
            }
            None => Line { key: Key::of(LAST), slope: 0 },
        }
    }

    fn observe(&mut self, note: &Note, view: &View) -> Vec<JobId> {
        self.predict.observe(note, view);
        Vec::new()
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
