//! Fewest GPUs first: what Tiresias' program calls SJF.

use heeler_engine::{Job, Key, Line, Order, View};

/// Fewest GPUs first, then in order of submission.
#[derive(Clone, Copy, Debug, Default)]
pub struct FewestGpus;

impl Order for FewestGpus {
    fn line(&self, job: &Job, _view: &View) -> Line {
        Line { key: Key::of(i64::from(job.spec.demand.asked())), slope: 0 }
    }

    fn fork(&self) -> Box<dyn Order> {
        Box::new(*self)
    }
}
