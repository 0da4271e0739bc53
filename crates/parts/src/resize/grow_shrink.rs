//! Grow into idle GPUs when nobody waits; shrink to the smallest size when somebody does.

use heeler_engine::{Job, Resize, View};

/// Grow when nobody waits, shrink when somebody does.
#[derive(Clone, Copy, Debug, Default)]
pub struct GrowShrink;

impl Resize for GrowShrink {
    fn grow(&self, job: &Job, gpus: u32, free: u32, _view: &View) -> Option<u32> {
        let sizes = &job.spec.demand.sizes;
        sizes.largest_up_to(gpus.saturating_add(free)).filter(|size| *size > gpus)
    }

    fn shrink(&self, job: &Job, gpus: u32, _view: &View) -> Option<u32> {
        let smallest = job.spec.demand.sizes.min.max(1);
        (smallest < gpus).then_some(smallest)
    }

    fn fork(&self) -> Box<dyn Resize> {
        Box::new(*self)
    }
}
