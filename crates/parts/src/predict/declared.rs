//! What the owner said: the declared run time, or the time limit the job was given.

use heeler_engine::{Job, Predict, View};

/// Believes what was declared.
#[derive(Clone, Copy, Debug, Default)]
pub struct Declared;

impl Predict for Declared {
    fn work(&self, job: &Job, _view: &View) -> Option<f64> {
        job.spec.declared.map(|span| span.micros() as f64 * job.spec.nominal_pace)
    }

    fn fork(&self) -> Box<dyn Predict> {
        Box::new(*self)
    }
}
