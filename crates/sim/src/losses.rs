//! Jobs that say how much they still get wrong, as they run: a loss falls fast at first and ever
//! more slowly, and is reported so many times on the way.

use crate::queue::Happening;
use crate::simulation::Simulation;
use heeler_engine::stream;
use heeler_model::{Event, Generation, JobId, Report, Span, Time};
use rand::RngExt;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How a job's loss falls: after a part p of its work it is 1 ÷ (1 + bend·p), scaled so that it
/// begins at the first and ends at the last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossCurve {
    /// Before anything is done.
    pub first: f64,
    /// When all is done.
    pub last: f64,
    /// How much faster it falls at first than at last.
    pub bend: f64,
    /// How often it is reported on the way.
    pub reports: u32,
}

impl LossCurve {
    /// The loss after a part of all work.
    pub fn at(&self, part: f64) -> f64 {
        let fallen = |part: f64| 1.0 - 1.0 / (1.0 + self.bend * part);
        let whole = fallen(1.0).max(f64::MIN_POSITIVE);
        self.first + (self.last - self.first) * fallen(part.clamp(0.0, 1.0)) / whole
    }

    /// The part of all work by which so much of the loss is gone.
    pub fn part_by(&self, gone: f64) -> f64 {
        let whole = 1.0 - 1.0 / (1.0 + self.bend);
        (1.0 / (1.0 - gone * whole) - 1.0) / self.bend
    }
}

/// Jobs of which nothing else is said report losses, each after a curve of its own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LossReports {
    /// How often a job reports.
    pub reports: u32,
}

impl LossReports {
    /// The curve of a job: from 1 to 10, down to a twentieth to a half of that, the steepest at
    /// first.
    pub(crate) fn draw(&self, seed: u64, job: JobId) -> LossCurve {
        let mut random = stream(seed, Time::ZERO, &format!("world/loss/{job}"));
        let mut between = |low: f64, high: f64| low * (high / low).powf(random.random::<f64>());
        let first = between(1.0, 10.0);
        let last = first * between(0.05, 0.5);
        LossCurve { first, last, bend: between(3.0, 60.0), reports: self.reports.max(1) }
    }
}

/// Curves of jobs that are not done.
pub(crate) type Losing = BTreeMap<JobId, LossCurve>;

impl Simulation {
    /// Expect the next loss that a running job reports, if it does.
    pub(crate) fn expect_loss(&mut self, job: JobId) {
        let Some(curve) = self.losing.get(&job) else { return };
        let record = &self.records[job];
        let each = record.work / f64::from(curve.reports.max(1));
        let next = ((record.done / each + 1e-6).floor() + 1.0) * each;
        if record.pace <= 0.0 || each <= 0.0 || next >= record.work {
            return;
        }
        let left = ((next - record.done) / record.pace).ceil().max(0.0);
        let at = record.from + Span::from_micros(left as u64);
        self.queue.push(at, Happening::Loss(job, record.stamp));
    }

    /// A running job says what it still gets wrong.
    pub(crate) fn report_loss(&mut self, job: JobId) {
        let Some(curve) = self.losing.get(&job).copied() else { return };
        let now = self.now;
        let record = &mut self.records[job];
        record.useful_milli += record.useful_since_start(now);
        record.done = record.done_at(now);
        record.from = now;
        record.stamp += 1;
        let value = curve.at(record.done / record.work.max(f64::MIN_POSITIVE));
        let finish = record.finish() + self.world.notice_late();
        let (done, pace, stamp) = (record.done, record.pace, record.stamp);
        let generation = Generation(record.generation);
        self.queue.push(finish, Happening::Finish(job, stamp));
        self.engine.observe(now, Event::Progress { job, generation, done, from: now, pace });
        let report = Report::Loss { value };
        self.engine.observe(now, Event::Reported { job, generation, report });
        self.expect_change(job);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_fall_from_the_first_to_the_last() {
        let curve = LossCurve { first: 4.0, last: 1.0, bend: 9.0, reports: 10 };
        assert_eq!((curve.at(0.0), curve.at(1.0)), (4.0, 1.0));
        // After a ninth of the work half of 1 is gone of the nine tenths that go in all.
        assert!((curve.at(1.0 / 9.0) - (4.0 - 3.0 * 0.5 / 0.9)).abs() < 1e-12);
        assert!((curve.at(curve.part_by(0.9)) - 1.3).abs() < 1e-12);
    }
}
