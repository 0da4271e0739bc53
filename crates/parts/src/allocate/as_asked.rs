//! What it asked for, or nothing.

use heeler_engine::{Allocate, Job, View, Want, Wants};
use smallvec::smallvec;

/// The size asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct AsAsked;

impl Allocate for AsAsked {
    fn wants(&self, job: &Job, _view: &View) -> Wants {
        smallvec![Want::as_asked(job)]
    }

    fn fork(&self) -> Box<dyn Allocate> {
        Box::new(*self)
    }
}
