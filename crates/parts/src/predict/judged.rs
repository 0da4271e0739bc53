//! A predictor beside which somebody keeps count of how well it does. Jobs that were taken back or
//! never ran say nothing of it; those that failed do, because GPUs were held all the same. Of a job
//! that reports on its way, it counts what was said when half of that was done: at its end
//! everybody knows.

use super::Tally;
use heeler_engine::{Calibration, Job, Note, Phase, Predict, View};
use heeler_model::{JobId, Span};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A predictor that is judged.
pub struct Judged {
    name: &'static str,
    predict: Box<dyn Predict>,
    tally: Tally,
    /// Work that was predicted of jobs that report, at half of it.
    halfway: BTreeMap<JobId, f64>,
}

impl Judged {
    /// A predictor by its word, with nothing seen yet.
    pub fn new(name: &'static str, predict: Box<dyn Predict>) -> Judged {
        Judged { name, predict, tally: Tally::default(), halfway: BTreeMap::new() }
    }

    fn hear(&mut self, id: JobId, view: &View) {
        let Some(job) = view.jobs().get(id).filter(|_| !self.halfway.contains_key(&id)) else {
            return;
        };
        let half_done = |work: &f64| job.progress.done_at(view.now()) >= work / 2.0;
        if let Some(work) = self.predict.work(job, view).filter(half_done) {
            self.halfway.insert(id, work);
        }
    }

    fn judge(&mut self, id: JobId, view: &View) {
        let (job, halfway) = (view.job(id), self.halfway.remove(&id));
        let Some(seconds) = seen_s(job) else { return };
        let said = halfway.or_else(|| self.predict.work(job, view));
        let said = said.map(|work| work / job.spec.nominal_pace / 1e6);
        self.tally.note(said, seconds);
    }
}

/// How long a job that is about to be forgotten ran, seconds at its nominal pace; nothing, if it
/// was not let run to its end: a job that is held, or joins anew, leaves, too.
pub(super) fn seen_s(job: &Job) -> Option<f64> {
    let stopped = job.phase == Phase::Stopping && job.held.is_none() && job.leaving.is_none();
    let ended = stopped && job.spec.replica().is_none();
    let seconds = job.progress.done / job.spec.nominal_pace / 1e6;
    (ended && seconds > 0.0 && seconds.is_finite()).then_some(seconds)
}

impl Predict for Judged {
    fn work(&self, job: &Job, view: &View) -> Option<f64> {
        self.predict.work(job, view)
    }

    fn left(&self, job: &Job, view: &View) -> Option<Span> {
        self.predict.left(job, view)
    }

    fn observe(&mut self, note: &Note, view: &View) {
        if let Note::Left(id) = note {
            self.judge(*id, view);
        }
        self.predict.observe(note, view);
        if let Note::Reported { job, .. } = note {
            self.hear(*job, view);
        }
    }

    fn calibration(&self) -> Option<Calibration> {
        let own = self.tally.calibration(self.name, "run time, seconds");
        // Whoever goes by curves knows how often these were as near as they said.
        let within_stated = self.predict.calibration().and_then(|known| known.within_stated);
        Some(Calibration { within_stated, ..own })
    }

    fn save(&self) -> Value {
        json!({
            "tally": self.tally,
            "halfway": self.halfway,
            "predict": self.predict.save(),
        })
    }

    fn restore(&mut self, saved: &Value) -> Result<(), String> {
        // Before predictors were judged, nothing but the predictor was saved.
        let Some(tally) = saved.get("tally") else { return self.predict.restore(saved) };
        let sound = |error: serde_json::Error| error.to_string();
        self.tally = serde_json::from_value(tally.clone()).map_err(sound)?;
        self.halfway = match saved.get("halfway") {
            Some(halfway) => serde_json::from_value(halfway.clone()).map_err(sound)?,
            None => BTreeMap::new(),
        };
        self.predict.restore(&saved["predict"])
    }

    fn fork(&self) -> Box<dyn Predict> {
        let (predict, tally) = (self.predict.fork(), self.tally.clone());
        Box::new(Judged { name: self.name, predict, tally, halfway: self.halfway.clone() })
    }
}
