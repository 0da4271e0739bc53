//! What only the world knows of a trial: the study it belongs to by name, and the scores it will
//! report. The engine hears of a score when the iteration is over.

use heeler_engine::stream;
use heeler_model::Time;
use rand::RngExt;
use std::sync::Arc;

/// A trial of a study, as a trace has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// What the study is called.
    pub study: Arc<str>,
    /// The scores it reports.
    pub curve: Curve,
}

/// Scores, iteration by iteration; larger is better.
#[derive(Clone, Debug, PartialEq)]
pub enum Curve {
    /// Scores that were measured, from the first iteration on; after the last it stays.
    Listed(Arc<[f64]>),
    /// A curve that rises to a limit.
    Rising(Rising),
}

/// After e iterations `limit`·(1 − exp(−e/`tau`)), and an error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rising {
    /// What it comes to in the end.
    pub limit: f64,
    /// After so many iterations it has come to 63 % of that.
    pub tau: f64,
    /// Standard deviation of the error of each score, which is normally distributed.
    pub noise: f64,
    /// Where the errors begin.
    pub seed: u32,
}

impl Curve {
    /// The score after so many iterations, counted from one.
    pub fn score(&self, iterations: u32) -> f64 {
        match self {
            Curve::Listed(scores) => {
                let last = scores.len().saturating_sub(1);
                let index = (iterations.max(1) as usize - 1).min(last);
                scores.get(index).copied().unwrap_or(0.0)
            }
            Curve::Rising(rising) => {
                let risen = rising.limit * (1.0 - (-f64::from(iterations) / rising.tau).exp());
                risen + rising.noise * normal(rising.seed, iterations)
            }
        }
    }

    /// What it comes to in the end, as far as that is known.
    pub fn limit(&self) -> f64 {
        match self {
            Curve::Listed(scores) => scores.last().copied().unwrap_or(0.0),
            Curve::Rising(rising) => rising.limit,
        }
    }
}

/// A number of the normal distribution, always the same for a curve and an iteration (Box and
/// Muller's transform).
fn normal(seed: u32, iteration: u32) -> f64 {
    let mut random = stream(seed.into(), Time::from_micros(iteration.into()), "world/score");
    let (radius, angle): (f64, f64) = (random.random(), random.random());
    (-2.0 * (1.0 - radius).ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_rise_to_their_limit() {
        let rising = Rising { limit: 0.9, tau: 10.0, noise: 0.0, seed: 1 };
        let curve = Curve::Rising(rising);
        assert!((curve.score(10) - 0.9 * (1.0 - (-1.0f64).exp())).abs() < 1e-12);
        assert!((curve.score(1000) - 0.9).abs() < 1e-9);
        let noisy = Curve::Rising(Rising { noise: 0.01, ..rising });
        assert_eq!(noisy.score(7), noisy.score(7));
        let errors: Vec<f64> = (1..=4000).map(|e| noisy.score(e) - curve.score(e)).collect();
        let mean = errors.iter().sum::<f64>() / 4000.0;
        let spread = (errors.iter().map(|e| e * e).sum::<f64>() / 4000.0).sqrt();
        assert!(mean.abs() < 5e-4 && (spread - 0.01).abs() < 5e-4, "{mean} {spread}");
    }

    #[test]
    fn listed_scores_stay_at_the_last() {
        let curve = Curve::Listed([0.1, 0.4].into());
        assert_eq!([1, 2, 3].map(|e| curve.score(e)), [0.1, 0.4, 0.4]);
    }
}
