//! Plans: what a job is worth, by when it would end and what that takes is reckoned ahead, slot by
//! slot, before or while it runs. All of them give shapes in rounds.

mod ahead;
mod andreas;
mod cloud_price;
mod gadget;
mod genie;
mod programme;
mod smd;
mod spin;
mod utility;

pub use ahead::Ahead;
pub use andreas::Andreas;
pub use cloud_price::CloudPrice;
pub use gadget::Gadget;
pub use genie::{Genie, Urgent};
pub use programme::{Best, Choice, Slot, best_plan};
pub use smd::Smd;
pub use spin::Spin;
pub use utility::Utility;

use crate::goodput::{Candidate, Shape, Shapes, left, speed};
use heeler_engine::{Job, Predict, View};
use heeler_model::{Span, Time};

/// What is needed to reckon when a job would end.
pub struct Reckoning {
    /// By how much estimates are raised.
    pub margin: f64,
    /// What starting again costs a job that does not say.
    pub restart: Span,
    /// Who says how long jobs are.
    pub predict: Box<dyn Predict>,
}

impl Reckoning {
    /// Seconds that a job needs in a shape from now on, a start included unless it has that shape;
    /// none if nobody can tell.
    pub fn needs_s(
        &self,
        candidate: &Candidate,
        shape: Shape,
        shapes: &Shapes,
        view: &View,
    ) -> Option<f64> {
        let work = left(&*self.predict, candidate.job, self.margin, view)?;
        let speed = speed(candidate, shape, shapes, view);
        (speed > 0.0).then(|| self.start_s(candidate, shape) + work / speed)
    }

    /// Seconds until a job gets on in a shape.
    pub fn start_s(&self, candidate: &Candidate, shape: Shape) -> f64 {
        let stays = candidate.current.is_some_and(|current| current.is_like(shape));
        if stays { 0.0 } else { self.restart_s(candidate.job) }
    }

    /// Seconds that starting again takes a job.
    pub fn restart_s(&self, job: &Job) -> f64 {
        job.spec.restart_s().unwrap_or(self.restart.secs_f64())
    }

    /// When a job would end in a shape.
    pub fn end(
        &self,
        candidate: &Candidate,
        shape: Shape,
        shapes: &Shapes,
        view: &View,
    ) -> Option<Time> {
        let needs_s = self.needs_s(candidate, shape, shapes, view)?;
        Some(view.now() + Span::from_secs_f64(needs_s))
    }

    /// Seconds that all of a job's work takes as it asked to run, on its best kind.
    pub fn length_s(&self, candidate: &Candidate, shapes: &Shapes, view: &View) -> Option<f64> {
        let work = self.predict.work(candidate.job, view)?;
        let asked = candidate.job.spec.demand.asked();
        let sizes = shapes.for_job(candidate.job, u32::MAX, view).into_iter();
        let speeds = sizes.map(|shape| {
            speed(candidate, shape, shapes, view) * f64::from(asked) / f64::from(shape.gpus)
        });
        let best = speeds.fold(0.0, f64::max);
        (best > 0.0).then(|| work / best)
    }

    /// A copy.
    pub fn fork(&self) -> Reckoning {
        Reckoning { predict: self.predict.fork(), ..*self }
    }
}
