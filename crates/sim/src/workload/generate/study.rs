//! Trials of one study, all submitted at the start. Their curves rise to limits between 0.55 and
//! 0.95, most of them in the middle, fast or slowly; an iteration takes twenty seconds on one GPU.

use super::super::{Curve, Rising, TraceJob, Trial};
use heeler_engine::stream;
use heeler_model::{Demand, JobSpec, StudyId, TenantId, Time, Truth};
use rand::RngExt;
use std::sync::Arc;

const NAME: &str = "study";
const ITERATIONS: f64 = 200.0;
const ITERATIONS_PER_S: f64 = 0.05;
/// The lowest and the highest limit.
const LIMITS: (f64, f64) = (0.55, 0.95);
/// The steepest and the flattest curve, iterations.
const TAUS: (f64, f64) = (8.0, 60.0);
const NOISE: f64 = 0.004;

/// A trial, by its number.
pub(super) fn trial(number: usize, tenant: TenantId, seed: u64) -> TraceJob {
    let mut random = stream(seed, Time::from_micros(number as u64), "generate/study");
    // The one in the middle of three is distributed as Beta(2, 2).
    let mut three: [f64; 3] = std::array::from_fn(|_| random.random());
    three.sort_by(f64::total_cmp);
    let curve = Curve::Rising(Rising {
        limit: LIMITS.0 + (LIMITS.1 - LIMITS.0) * three[1],
        tau: TAUS.0 + (TAUS.1 - TAUS.0) * random.random::<f64>(),
        noise: NOISE,
        seed: random.random(),
    });
    let mut spec = JobSpec::new(Demand::gpus(1)).with_truth(Truth { work: ITERATIONS });
    spec.nominal_pace = ITERATIONS_PER_S / 1e6;
    spec.tenant = tenant;
    spec.extras_mut().study = Some(StudyId(0));
    let mut job = TraceJob::new(Time::ZERO, spec);
    job.spec.declared = Some(job.duration());
    job.name = Some(format!("trial-{number}").into());
    job.trial = Some(Box::new(Trial { study: Arc::from(NAME), curve }));
    job
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_mostly_in_the_middle() {
        let limits: Vec<f64> = (0..2000)
            .map(|number| trial(number, TenantId(0), 3).trial.expect("a trial").curve.limit())
            .collect();
        let mean = limits.iter().sum::<f64>() / 2000.0;
        let variance = limits.iter().map(|limit| (limit - mean).powi(2)).sum::<f64>() / 2000.0;
        // A Beta(2, 2) has the variance 1/20.
        let expected = 0.4f64.powi(2) / 20.0;
        assert!((mean - 0.75).abs() < 0.01 && (variance / expected - 1.0).abs() < 0.1, "{mean}");
        assert!(limits.iter().all(|limit| (0.55..0.95).contains(limit)));
    }
}
