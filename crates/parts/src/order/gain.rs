//! Who gains most next: jobs by how far their score is taken to rise, or their loss to fall, in the
//! next interval (JPAS, JNCA 2020). Who has not been seen enough is first, so that
//! everybody is seen; among those, who came first.

use crate::predict::Losses;
use heeler_engine::{Job, Key, Line, Note, Order, View};
use heeler_model::{JobId, Span};
use serde_json::Value;

/// Gains are compared in parts of so many.
const PARTS: f64 = 1e9;

/// Who gains most next.
#[derive(Clone, Debug, Default)]
pub struct Gain {
    /// How long an interval is.
    pub interval: Span,
    /// What was reported.
    pub losses: Losses,
}

impl Order for Gain {
    fn line(&self, job: &Job, _view: &View) -> Line {
        // What it gains after what it had done when it was last heard of: while it waits, and
        // between two reports, that does not change.
        let more = job.spec.nominal_pace * self.interval.micros() as f64;
        let gain = self.losses.gain_from_last(job.id, more);
        let major = gain.map_or(i64::MIN / 2, |gain| -((gain * PARTS).min(1e18) as i64));
        Line { key: Key::of(major), slope: 0 }
    }

    fn observe(&mut self, note: &Note, view: &View) -> Vec<JobId> {
        self.losses.observe(note, view).into_iter().collect()
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
