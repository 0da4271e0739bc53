//! Least service for each epoch first (E-LAS, ICPP 2020): the GPU time that a job has had, divided
//! by the number of epochs that it has begun. Of two jobs that have had the same, the one with more
//! epochs behind it is first; a newcomer has had nothing and is seen at once. For a job that gets
//! on evenly it comes to what an epoch takes. Where nobody knows how many epochs there are, a job
//! is taken to be in its first.

use crate::predict::learn;
use heeler_engine::{Calibration, Job, Key, Line, Order, Predict, View};
use heeler_model::{Span, Time};

/// Least service for each epoch first.
pub struct Epochs {
    /// Who says how much work a job is in all.
    pub predict: Box<dyn Predict>,
    /// How many epochs a job has; after each its place is looked at again.
    pub epochs: u32,
}

impl Epochs {
    /// Work of an epoch, and how many of them are over.
    fn behind(&self, job: &Job, view: &View) -> Option<(f64, f64)> {
        let work = self.predict.work(job, view).filter(|work| *work > 0.0)?;
        let each = work / f64::from(self.epochs.max(1));
        // A moment after the end of an epoch it is over, however times were rounded.
        let over = (job.progress.done_at(view.now()) / each + 1e-6).floor();
        Some((each, over.min(f64::from(self.epochs))))
    }
}

impl Order for Epochs {
    fn line(&self, job: &Job, view: &View) -> Line {
        let begun = self.behind(job, view).map_or(1, |(_, over)| over as u64 + 1);
        let each = view.service(job).counted(true) / begun;
        let slope = if job.is_running() { job.milli() / begun } else { 0 };
        Line { key: Key::of(each as i64), slope: slope as i64 }
    }

    /// At the end of its present epoch.
    fn bends(&self, job: &Job, view: &View) -> Option<Time> {
        let (each, over) = self.behind(job, view).filter(|_| job.is_running())?;
        let progress = &job.progress;
        let last = over >= f64::from(self.epochs);
        if last || progress.pace <= 0.0 {
            return None;
        }
        let left = ((over + 1.0) * each - progress.done) / progress.pace;
        let at = progress.from + Span::from_micros(left.ceil().clamp(0.0, 1e18) as u64);
        Some(at.max(view.now() + Span::from_micros(1)))
    }

    fn observe(&mut self, note: &heeler_engine::Note, view: &View) -> Vec<heeler_model::JobId> {
        learn(&mut *self.predict, note, view).into_iter().collect()
    }

    fn calibration(&self) -> Option<Calibration> {
        self.predict.calibration()
    }

    fn save(&self) -> serde_json::Value {
        self.predict.save()
    }

    fn restore(&mut self, saved: &serde_json::Value) -> Result<(), String> {
        self.predict.restore(saved)
    }

    fn fork(&self) -> Box<dyn Order> {
        Box::new(Epochs { predict: self.predict.fork(), epochs: self.epochs })
    }
}
