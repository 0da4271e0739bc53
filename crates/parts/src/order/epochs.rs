//! Least service for each epoch first (E-LAS, ICPP 2020): the GPU time that a job has had, divided
//! by the part of its epochs that it has behind it. For a job that gets on evenly that is what it
//! takes in all, learnt without anybody's estimate of time. Before its first epoch is over, and
//! where nobody knows how many there are, the GPU time itself counts, so that newcomers are seen.

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
        let service = view.service(job).counted(true) as f64;
        let over = self.behind(job, view).map(|(_, over)| over).filter(|over| *over >= 1.0);
        let Some(over) = over else {
            let slope = if job.is_running() { job.milli() as i64 } else { 0 };
            return Line { key: Key::of(service as i64), slope };
        };
        let whole = service * f64::from(self.epochs) / over;
        Line { key: Key::of(whole.min(i64::MAX as f64 / 4.0) as i64), slope: 0 }
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
