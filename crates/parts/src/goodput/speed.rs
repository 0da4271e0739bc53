//! How fast a job would get on in a shape, in its own units of work: from what it reported, put in
//! proportion to the pace it has; from rates that were measured; or by its kind and size.

use super::learned::described;
use super::rounds::Candidate;
use super::shapes::{Shape, Shapes};
use crate::shares::rate;
use heeler_engine::{Job, Predict, View};

/// Units of work per second in a shape; zero where it cannot run.
pub fn speed(candidate: &Candidate, shape: Shape, shapes: &Shapes, view: &View) -> f64 {
    let (job, learned) = (candidate.job, candidate.learned);
    let asked = f64::from(job.spec.demand.asked().max(1));
    let expected = rate(job, shape.kind, view) * f64::from(shape.gpus) / asked;
    let pace = job.progress.pace * 1e6;
    let fitted = || {
        let batch = described(&job.spec)?;
        let here = learned.goodput(batch, candidate.current?, shapes)?;
        let there = learned.goodput(batch, shape, shapes)?;
        (here > 0.0 && pace > 0.0).then_some(pace * there / here)
    };
    if expected > 0.0 { fitted().unwrap_or(expected) } else { 0.0 }
}

/// Units of work that are left of a job, if somebody can tell, with estimates raised by a part.
pub fn left(predict: &dyn Predict, job: &Job, margin: f64, view: &View) -> Option<f64> {
    let work = predict.work(job, view)? - job.progress.done_at(view.now());
    Some((work * (1.0 + margin)).max(0.0))
}
