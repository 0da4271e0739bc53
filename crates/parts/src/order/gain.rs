//! Who gains most next: jobs by how far their score is taken to rise, or their loss to fall, in the
//! next interval (JPAS, JNCA 2020). Who has not been seen enough is first, so that everybody is
//! seen; among those, who came first. That is so for some intervals only: who has run for longer
//! and says nothing is taken to gain nothing, and nobody waits for it to speak.

use crate::predict::Losses;
use heeler_engine::{Calibration, Job, Key, Line, Note, Order, View};
use heeler_model::{JobId, Span, Time};
use serde_json::Value;

/// Gains are compared in parts of so many.
const PARTS: f64 = 1e9;

/// Before all whose gain is known.
const UNSEEN: i64 = i64::MIN / 2;

/// For how many intervals of its own running a job is waited for to be seen.
const INTERVALS_UNSEEN: u64 = 4;

/// Who gains most next.
#[derive(Clone, Debug, Default)]
pub struct Gain {
    /// How long an interval is.
    pub interval: Span,
    /// What was reported.
    pub losses: Losses,
}

impl Gain {
    /// What a job gains after what it had done when it was last heard of: while it waits, and
    /// between two reports, that does not change.
    fn gain(&self, job: &Job) -> Option<f64> {
        let more = job.spec.nominal_pace * self.interval.micros() as f64;
        self.losses.gain_from_last(job.id, more)
    }

    /// How long a job may run without being seen enough, and still be first.
    fn patience(&self) -> Span {
        Span::from_micros(self.interval.micros().saturating_mul(INTERVALS_UNSEEN))
    }
}

impl Order for Gain {
    fn line(&self, job: &Job, view: &View) -> Line {
        let silent = || job.attained_at(view.now()) >= self.patience();
        let major = match self.gain(job) {
            Some(gain) => -((gain * PARTS).min(1e18) as i64),
            None if silent() => 0,
            None => UNSEEN,
        };
        Line { key: Key::of(major), slope: 0 }
    }

    /// When it has run for so long without being seen enough.
    fn bends(&self, job: &Job, view: &View) -> Option<Time> {
        let unseen = job.is_running() && self.gain(job).is_none();
        let at = job.since + self.patience().saturating_sub(job.attained);
        (unseen && at > view.now()).then_some(at)
    }

    fn observe(&mut self, note: &Note, view: &View) -> Vec<JobId> {
        self.losses.observe(note, view).into_iter().collect()
    }

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

    fn fork(&self) -> Box<dyn Order> {
        Box::new(self.clone())
    }
}
