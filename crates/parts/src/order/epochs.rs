//! Least service first, weighed by progress (E-LAS, ICPP 2020): the GPU time that a job has had
//! times the part of its epochs that is still ahead of it. Of two that have had the same, the one
//! with more epochs behind it is first; past its middle a job falls back no more. A newcomer has
//! had nothing and is seen at once. Whoever outlives its epochs is taken to have twice as many, and
//! where nobody knows how many they are, GPU time alone counts.

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
    /// Work of an epoch, and how many of them are over: never all of them.
    fn behind(&self, job: &Job, view: &View) -> Option<(f64, u64)> {
        let mut work = self.predict.work(job, view).filter(|work| *work > 0.0)?;
        let done = job.progress.done_at(view.now());
        // Times are rounded: a moment after the end of an epoch it is over.
        let begun = |work: f64| done / work * f64::from(self.epochs) + 1e-6;
        while begun(work) >= f64::from(self.epochs) {
            work *= 2.0;
        }
        Some((work / f64::from(self.epochs), begun(work) as u64))
    }
}

impl Order for Epochs {
    /// Within an epoch a job stands where it stood when the one before was over.
    fn line(&self, job: &Job, view: &View) -> Line {
        let over = self.behind(job, view).map_or(0, |(_, over)| over);
        let all = u64::from(self.epochs);
        let served = u128::from(view.service(job).counted(true).min(i64::MAX as u64 / 2));
        let weighed = served * u128::from(all - over) / u128::from(all);
        let rises = job.is_running() && over == 0;
        Line { key: Key::of(weighed as i64), slope: if rises { job.milli() as i64 } else { 0 } }
    }

    /// At the end of its present epoch.
    fn bends(&self, job: &Job, view: &View) -> Option<Time> {
        let (each, over) = self.behind(job, view).filter(|_| job.is_running())?;
        let progress = &job.progress;
        if progress.pace <= 0.0 {
            return None;
        }
        let left = ((over + 1) as f64 * each - progress.done) / progress.pace;
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
