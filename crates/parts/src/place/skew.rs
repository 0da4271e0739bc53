//! Skew-aware placement, as in Tiresias (Gu et al., NSDI 2019, §4.3): a model of which one tensor
//! dominates must be kept together, because its traffic is uneven; all others take what is free,
//! so that they do not wait for it to be together.

use super::{Anywhere, Fit, Racks, Remainder};
use heeler_engine::{Draft, Fleet, Needs, Pick, Place, View, Want};
use heeler_model::{Placement, Reason};

/// Consolidate skewed jobs; spread the others only if they do not fit together.
#[derive(Clone, Copy, Debug, Default)]
pub struct SkewAware;

const TOGETHER: Fit = Fit {
    pick: Pick::Tightest,
    remainder: Remainder::AsPicked,
    relax: false,
    racks: Racks::Fullest,
};

impl Place for SkewAware {
    fn place(&self, want: &Want, free: &Draft, view: &View) -> Result<Placement, Reason> {
        match TOGETHER.place(want, free, view) {
            Err(_) if !want.skewed => Anywhere.place(want, free, view),
            answer => answer,
        }
    }

    fn needs(&self, want: &Want, fleet: &Fleet) -> Needs {
        if want.skewed { TOGETHER.needs(want, fleet) } else { Needs::Count }
    }

    fn fork(&self) -> Box<dyn Place> {
        Box::new(*self)
    }
}
