//! Least attained service first, without queues: time on GPUs, or GPU time. Needs no durations.

use super::mlfq::Served;
use heeler_engine::{Job, Key, Line, Order, View};

/// Least attained service first.
#[derive(Clone, Copy, Debug)]
pub struct Las {
    /// What counts as service.
    pub served: Served,
}

impl Order for Las {
    fn line(&self, job: &Job, view: &View) -> Line {
        // In thousandths × microseconds, so that fractions of a GPU count as what they are.
        let counted = view.service(job).counted(self.served.by_gpu());
        let slope = match (job.is_running(), self.served) {
            (false, _) => 0,
            (true, Served::Time) => 1000,
            (true, Served::GpuTime) => job.milli() as i64,
        };
        // Five million GPU hours or more are all the same.
        Line { key: Key::of(counted.min(i64::MAX as u64 / 2) as i64), slope }
    }

    fn fork(&self) -> Box<dyn Order> {
        Box::new(*self)
    }
}
