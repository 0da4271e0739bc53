//! Finish-time fairness in its three published variants. Each compares a job's completion time with
//! what it would have been had every job had an equal part of the cluster; a value above one means
//! that sharing cost the job time.

use super::spread::Spread;
use crate::entitled::gini;
use crate::record::Record;
use heeler_model::Span;
use serde::{Deserialize, Serialize};

/// Above this a job counts as treated unfairly, as in Gavel's and Shockwave's evaluations.
const UNFAIR: f64 = 1.05;

/// One variant over all finished jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FinishTime {
    /// The values.
    pub ratio: Spread,
    /// Part of the jobs above 1.05.
    pub unfair: f64,
    /// How unequal they are (Gini).
    pub inequality: f64,
}

/// The three variants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fairness {
    /// Completion ÷ (time alone × jobs of the trace ÷ GPUs): Shockwave's "static" contention.
    pub static_contention: FinishTime,
    /// The same with the mean number of jobs during the job's life: Themis' contention.
    pub themis: FinishTime,
    /// Progress an equal share would have made during the job's life ÷ time alone: Gavel's
    /// comparison with isolated shares.
    pub isolated: FinishTime,
}

impl FinishTime {
    fn of(ratios: Vec<f64>) -> FinishTime {
        let unfair = ratios.iter().filter(|ratio| **ratio > UNFAIR).count();
        let (count, inequality) = (ratios.len().max(1), gini(&ratios));
        let unfair = unfair as f64 / count as f64;
        FinishTime { ratio: Spread::of(ratios), unfair, inequality }
    }
}

impl Fairness {
    /// Of finished jobs, on a cluster of so many GPUs, in a trace of so many jobs.
    pub fn of<'a>(
        finished: impl Iterator<Item = &'a Record> + Clone,
        gpus: f64,
        jobs: usize,
    ) -> Fairness {
        let timed = finished.filter(|record| !record.alone.is_zero());
        let completion = |record: &Record| record.completion().map_or(0.0, Span::secs_f64);
        let crowded = |record: &Record, jobs: f64| {
            completion(record) / (record.alone.secs_f64() * (jobs / gpus).max(1.0))
        };
        let themis = |record: &Record| {
            // Job-microseconds over microseconds of life: the mean number of jobs.
            let life = completion(record) * 1e6;
            crowded(record, if life > 0.0 { record.contention / life } else { 1.0 })
        };
        let isolated = |record: &Record| {
            let evenly = f64::from(record.evenly.unwrap_or(1.0));
            evenly * record.equal_share / record.alone.micros() as f64
        };
        let fixed = |record: &Record| crowded(record, jobs as f64);
        Fairness {
            static_contention: FinishTime::of(timed.clone().map(fixed).collect()),
            themis: FinishTime::of(timed.clone().map(themis).collect()),
            isolated: FinishTime::of(timed.map(isolated).collect()),
        }
    }
}
