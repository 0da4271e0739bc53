//! Trying a plan on a trace: the recurrence of AlpaServe's own simulator. A request goes to the
//! group whose last stage would be free first and is turned away at once if it would be late.

use super::{Call, Plan, Setup};
use crate::ms_to_ns;
use smallvec::SmallVec;
use std::ops::Range;

/// What came of a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Requests to each model.
    pub asked: Vec<u32>,
    /// Requests to each model that were answered in time.
    pub good: Vec<u32>,
    /// Requests sent to each group, accepted or not.
    pub sent: Vec<u32>,
    /// Nanoseconds from arrival to answer, of all answers together.
    pub latency_ns: u64,
}

impl Outcome {
    /// The part of requests that was answered in time; one if there were none.
    pub fn goodput(&self) -> f64 {
        let asked: u32 = self.asked.iter().sum();
        let good: u32 = self.good.iter().sum();
        if asked == 0 { 1.0 } else { f64::from(good) / f64::from(asked) }
    }

    /// How good a plan is: by answers in time, then by their speed, then by replicas to spare.
    pub fn score(&self, plan: &Plan) -> f64 {
        let asked: u32 = self.asked.iter().sum();
        let mean_s = self.latency_ns as f64 / 1e9 / f64::from(asked.max(1));
        self.goodput() - mean_s / 1e4 + plan.replicas() as f64 / 1e6
    }
}

type Stages = SmallVec<[u64; 8]>;

/// Simulate a plan on a trace. Only calls in the range given count, such as those after a start-up;
/// the others are served all the same.
pub fn simulate(setup: &Setup, plan: &Plan, calls: &[Call], counted: Range<usize>) -> Outcome {
    let models = setup.models.len();
    // Groups of each model, and what its stages take there.
    let mut homes: Vec<SmallVec<[(usize, Stages); 4]>> = vec![SmallVec::new(); models];
    for (number, group) in plan.groups.iter().enumerate() {
        let slower = 1.0 + setup.slower_per_stage * f64::from(group.gpus);
        for model in &group.models {
            if let Some(cut) = setup.models[*model as usize].cut(group.gpus) {
                let stages = cut.stages_ms.iter().map(|ms| ms_to_ns(ms * slower)).collect();
                homes[*model as usize].push((number, stages));
            }
        }
    }
    let clocks = |group: &super::Group| -> Stages { SmallVec::from_elem(0, group.gpus as usize) };
    let mut clocks: Vec<Stages> = plan.groups.iter().map(clocks).collect();
    let targets: Vec<u64> = setup.models.iter().map(|model| ms_to_ns(model.target_ms)).collect();
    let overhead_ns = ms_to_ns(setup.overhead_ms);
    let mut outcome = Outcome {
        asked: vec![0; models],
        good: vec![0; models],
        sent: vec![0; plan.groups.len()],
        latency_ns: 0,
    };
    for (index, call) in calls.iter().enumerate() {
        let model = call.model as usize;
        let count = u32::from(counted.contains(&index));
        outcome.asked[model] += count;
        let last = |(group, _): &&(usize, Stages)| clocks[*group].last().copied();
        let Some((group, stages)) = homes[model].iter().min_by_key(last) else { continue };
        outcome.sent[*group] += count;
        let clocks = &mut clocks[*group];
        let mut time = call.at_ns;
        for (clock, stage) in clocks.iter().zip(stages) {
            time = time.max(*clock) + stage;
        }
        let latency_ns = time + overhead_ns - call.at_ns;
        if latency_ns > targets[model] {
            continue;
        }
        let mut time = call.at_ns;
        for (clock, stage) in clocks.iter_mut().zip(stages) {
            time = time.max(*clock) + stage;
            *clock = time;
        }
        outcome.good[model] += count;
        outcome.latency_ns += u64::from(count) * latency_ns;
    }
    outcome
}
