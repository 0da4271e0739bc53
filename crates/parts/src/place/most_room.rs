//! The node with most room first, and then the next: on few nodes without looking for one that is
//! just large enough. Never waits for GPUs to be together.

use super::fit::scattered;
use super::{joined, kinds, on_one_node, place_small, why_not};
use heeler_engine::{Draft, Pick, Place, View, Want};
use heeler_model::{Placement, Reach, Reason};

/// The node with most room first.
#[derive(Clone, Copy, Debug, Default)]
pub struct MostRoom;

impl Place for MostRoom {
    fn place(&self, want: &Want, free: &Draft, _view: &View) -> Result<Placement, Reason> {
        if let Some(small) = place_small(want, free, Pick::Loosest) {
            return small;
        }
        let found = kinds(want, free).find_map(|kind| match want.demand.reach {
            Reach::Node => on_one_node(want, free, kind, Pick::Loosest),
            Reach::Rack | Reach::Cluster => scattered(want, free, kind),
        });
        found.or_else(|| joined::anywhere(want, free)).ok_or_else(|| why_not(want, free))
    }

    fn fork(&self) -> Box<dyn Place> {
        Box::new(*self)
    }
}
