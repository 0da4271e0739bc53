//! How services fared: requests, latencies and replicas.

use super::GPU_HOUR;
use crate::record::Record;
use crate::services::Serving;
use crate::simulation::Simulation;
use heeler_serve::Histogram;
use serde::{Deserialize, Serialize};

/// Latencies, milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Mean.
    pub mean: f64,
    /// Half of them took at most this.
    pub p50: f64,
    /// 95 of a hundred took at most this.
    pub p95: f64,
    /// 99 of a hundred took at most this.
    pub p99: f64,
}

/// One service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServiceFigures {
    /// Which.
    pub name: String,
    /// Requests that came.
    pub requests: u64,
    /// Part of them that was answered in time.
    pub attainment: f64,
    /// Requests that were answered.
    pub answered: u64,
    /// Requests that nobody has answered or turned away.
    pub unanswered: u64,
    /// Requests answered too late.
    pub late: u64,
    /// Requests turned away or dropped because they would have been late.
    pub refused: u64,
    /// Requests answered from the cache or together with an equal one.
    pub cached: u64,
    /// From arrival to answer.
    pub latency_ms: Latency,
    /// From arrival to the first token; zero for models without tokens.
    pub first_token_ms: Latency,
    /// Requests answered together, in the mean.
    pub batch: f64,
    /// Replicas that held GPUs, in the mean.
    pub replicas: f64,
    /// GPU time they held, hours.
    pub gpu_hours: f64,
}

/// All services of a simulation.
pub(super) fn of(simulation: &Simulation) -> Vec<ServiceFigures> {
    let figures = |serving: &Serving| {
        let now = simulation.now();
        let (spec, seen) = (&serving.spec, &serving.seen_by(now));
        let jobs = serving.jobs().iter().map(|job| simulation.records()[*job].held_milli_at(now));
        let held: f64 = jobs.sum();
        let lasted = now.min(spec.until).since(spec.from).micros() as f64;
        let ran = |record: &Record| {
            let until = record.ended.unwrap_or(now).since(record.submitted);
            until.saturating_sub(record.waited_by(now)).micros() as f64
        };
        let ran: f64 = serving.jobs().iter().map(|job| ran(&simulation.records()[*job])).sum();
        ServiceFigures {
            name: spec.name.clone(),
            requests: seen.arrived,
            attainment: seen.in_time(),
            answered: seen.answered,
            unanswered: seen.arrived - seen.decided().min(seen.arrived),
            late: seen.late,
            refused: seen.rejected + seen.expired,
            // Who asked together with somebody who waits has no answer yet.
            cached: (seen.cache_hits + seen.merged).min(seen.answered),
            latency_ms: latency(&seen.latency),
            first_token_ms: latency(&seen.first_token),
            batch: seen.batch_sizes.mean(),
            replicas: ran / lasted.max(1.0),
            gpu_hours: held / GPU_HOUR,
        }
    };
    simulation.services().iter().map(figures).collect()
}

fn latency(of: &Histogram) -> Latency {
    let ms = |part: f64| of.quantile(part).unwrap_or(0) as f64 / 1e6;
    Latency { mean: of.mean() / 1e6, p50: ms(0.5), p95: ms(0.95), p99: ms(0.99) }
}
