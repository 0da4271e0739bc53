//! Grow into idle GPUs when nobody waits; shrink to the smallest size when somebody does.

use heeler_engine::{Job, Resize, View};

/// Grow when nobody waits, shrink when somebody does.
#[derive(Clone, Copy, Debug, Default)]
pub struct GrowShrink;

impl Resize for GrowShrink {
    fn grow(&self, job: &Job, free: u32, _view: &View) -> Option<u32> {
        let sizes = &job.spec.demand.sizes;
        sizes.largest_up_to(job.gpus().saturating_add(free)).filter(|size| *size > job.gpus())
    }

    fn shrink(&self, job: &Job, _view: &View) -> Option<u32> {
        let sizes = &job.spec.demand.sizes;
        (sizes.min < job.gpus()).then(|| sizes.min.max(1))
    }

    fn fork(&self) -> Box<dyn Resize> {
        Box::new(*self)
    }
}
