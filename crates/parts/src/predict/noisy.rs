//! An oracle with a known error, to see how much a recipe depends on its predictions: the true
//! work times a log-normal factor, drawn once for each job.

use heeler_engine::{Job, Predict, View, stream};
use heeler_model::Time;
use rand::RngExt;

/// Knows the truth times exp(sigma × a standard normal number).
#[derive(Clone, Copy, Debug)]
pub struct Noisy {
    /// Standard deviation of the logarithm of the factor; 0 is the oracle.
    pub sigma: f64,
}

impl Noisy {
    /// The factor of a job: the same however often and whenever one asks.
    fn factor(&self, job: &Job, view: &View) -> f64 {
        let mut rng = stream(view.seed(), Time::ZERO, &format!("predict/noisy/{}", job.id));
        // Box and Muller: two uniform numbers make a normal one.
        let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
        let normal = radius * (std::f64::consts::TAU * rng.random::<f64>()).cos();
        (self.sigma * normal).exp()
    }
}

impl Predict for Noisy {
    fn work(&self, job: &Job, view: &View) -> Option<f64> {
        let truth = job.spec.truth_for_the_oracle()?;
        Some(truth.work * self.factor(job, view))
    }

    fn fork(&self) -> Box<dyn Predict> {
        Box::new(*self)
    }
}
