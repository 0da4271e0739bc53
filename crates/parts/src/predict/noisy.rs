//! An oracle with a known error, to see how much a recipe depends on its predictions: the true
//! work times a factor that is drawn once for each job.

use heeler_engine::{Job, Predict, View, stream};
use heeler_model::Time;
use rand::RngExt;

/// How the factor is distributed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Error {
    /// exp(sigma × a standard normal number); with a sigma of 0 it is the oracle.
    LogNormal {
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// One plus or minus what Helios' authors saw of their own predictor (Hu et al., SC 2021) and
    /// draw from for traces without names: up to a tenth for a tenth of the jobs, up to a half for
    /// half of them, and up to a hundredfold for the last tenth. What would be less than nothing is
    /// nothing.
    Helios,
}

/// Knows the truth times a factor.
#[derive(Clone, Copy, Debug)]
pub struct Noisy {
    /// How the factor is distributed.
    pub error: Error,
}

/// Helios' mix: up to which part of the jobs, the least and the most error.
const HELIOS: [(f64, f64, f64); 5] =
    [(0.1, 0.0, 0.1), (0.5, 0.1, 0.5), (0.7, 0.5, 1.0), (0.9, 1.0, 10.0), (1.0, 10.0, 100.0)];

impl Noisy {
    /// The factor of a job: the same however often and whenever one asks.
    fn factor(&self, job: &Job, view: &View) -> f64 {
        let mut rng = stream(view.seed(), Time::ZERO, &format!("predict/noisy/{}", job.id));
        match self.error {
            Error::LogNormal { sigma } => {
                // Box and Muller: two uniform numbers make a normal one.
                let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
                let normal = radius * (std::f64::consts::TAU * rng.random::<f64>()).cos();
                (sigma * normal).exp()
            }
            Error::Helios => {
                let (level, at, up) = (rng.random::<f64>(), rng.random::<f64>(), rng.random());
                let class = HELIOS.iter().find(|(until, ..)| level <= *until);
                let (_, least, most) = *class.unwrap_or(&HELIOS[4]);
                let error = least + (most - least) * at;
                if up { 1.0 + error } else { (1.0 - error).max(0.0) }
            }
        }
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
