//! SLAQ (Zhang et al., SoCC 2017): GPUs go where they make models better soonest. A curve is fitted
//! to the losses of each job; in every round the next step goes to whose loss will fall most by the
//! end of it, relative to the most it ever fell from one report to the next, so that losses of
//! different kinds compare. Everybody has the least it can use, as far as there is room.

use super::growth::{Growth, sizes};
use super::rounds::{Allot, Candidate};
use super::shapes::{Shape, Shapes};
use super::speed::speed;
use crate::predict::{Declared, Losses};
use heeler_engine::{Calibration, Note, Predict, View};
use heeler_model::{KindId, Span};
use serde_json::Value;

/// Where losses fall most.
#[derive(Clone, Debug)]
pub struct Slaq {
    /// How long a round is.
    pub round: Span,
    /// What was reported.
    pub losses: Losses,
}

impl Slaq {
    /// By how much a job's loss falls until the end of a round in a shape. A job of which too
    /// little was seen is taken to fall by its steepest over all that was declared, and ever
    /// slower.
    fn falls(&self, candidate: &Candidate, shape: Shape, shapes: &Shapes, view: &View) -> f64 {
        let job = candidate.job;
        let done = job.progress.done_at(view.now());
        let more = speed(candidate, shape, shapes, view) * self.round.secs_f64();
        self.losses.falls(job.id, done, done + more).unwrap_or_else(|| {
            let whole = Declared.work(job, view).unwrap_or(0.0).max(done);
            if more > 0.0 { more / (whole + more) } else { 0.0 }
        })
    }

    /// What the least that a job can use is worth for each GPU, on the kind where it is most.
    fn first(&self, candidate: &Candidate, shapes: &Shapes, view: &View) -> f64 {
        let kinds = (0..shapes.up().len() as u8).map(KindId);
        let least = kinds.filter_map(|kind| sizes(candidate, kind, shapes, view).first().copied());
        let worth = least
            .map(|shape| self.falls(candidate, shape, shapes, view) / f64::from(shape.gpus.max(1)));
        worth.fold(0.0, f64::max)
    }
}

impl Allot for Slaq {
    fn allot(&self, jobs: &[Candidate], view: &View) -> Vec<Option<Shape>> {
        let mut growth = Growth::new(jobs, view);
        let worth: Vec<f64> =
            jobs.iter().map(|job| self.first(job, &growth.shapes, view)).collect();
        let mut order: Vec<usize> = (0..jobs.len()).collect();
        order.sort_by(|a, b| worth[*b].total_cmp(&worth[*a]).then(a.cmp(b)));
        growth.start(&order, view);
        growth.grow(|index, from, to, shapes| {
            let falls = |shape: Shape| self.falls(&jobs[index], shape, shapes, view);
            falls(to) - falls(from)
        })
    }

    fn observe(&mut self, note: &Note, view: &View) {
        self.losses.observe(note, view);
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

    fn fork(&self) -> Box<dyn Allot> {
        Box::new(self.clone())
    }
}
