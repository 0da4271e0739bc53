//! The oracle: the true work of a job. Only a simulator can offer it.

use heeler_engine::{Job, Predict, View};

/// Knows the truth.
#[derive(Clone, Copy, Debug, Default)]
pub struct Oracle;

impl Predict for Oracle {
    fn work(&self, job: &Job, _view: &View) -> Option<f64> {
        job.spec.truth_for_the_oracle().map(|truth| truth.work * job.tempo.work)
    }

    fn fork(&self) -> Box<dyn Predict> {
        Box::new(*self)
    }
}
