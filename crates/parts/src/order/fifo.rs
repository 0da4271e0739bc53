//! First come, first served; alone, or among jobs of equal priority.

use heeler_engine::{Job, Key, Line, Order, View};

/// In order of submission.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fifo;

impl Order for Fifo {
    fn line(&self, _job: &Job, _view: &View) -> Line {
        // The engine appends (submitted, number).
        Line::default()
    }

    fn fork(&self) -> Box<dyn Order> {
        Box::new(*self)
    }
}

/// Larger declared priority first, then in order of submission.
#[derive(Clone, Copy, Debug, Default)]
pub struct Priority;

impl Order for Priority {
    fn line(&self, job: &Job, _view: &View) -> Line {
        Line { key: Key::of(-i64::from(job.spec.priority)), slope: 0 }
    }

    fn fork(&self) -> Box<dyn Order> {
        Box::new(*self)
    }
}
