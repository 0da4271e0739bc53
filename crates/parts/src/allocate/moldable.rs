//! What it asked for if that fits, otherwise the largest size that does.

use heeler_engine::{Allocate, Job, View, Want, Wants};

/// The size asked for, or the largest admissible one that fits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moldable;

impl Allocate for Moldable {
    fn wants(&self, job: &Job, _view: &View) -> Wants {
        let asked = Want::as_asked(job);
        let sizes = &job.spec.demand.sizes;
        let smaller = |size: &u32| sizes.largest_up_to(size.checked_sub(1)?);
        let all = std::iter::successors(Some(asked.gpus), smaller);
        all.map(|gpus| Want { gpus, ..asked }).collect()
    }

    fn fork(&self) -> Box<dyn Allocate> {
        Box::new(*self)
    }
}
