//! Any free GPUs, node by node in the order of the cluster file: placement by count alone.

use super::{joined, kinds, place_small, why_not};
use heeler_engine::{Draft, Grip, Pick, Place, View, Want};
use heeler_model::{KindId, Placement, Reach, Reason, Slice};
use smallvec::SmallVec;

/// Any free GPUs of one kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Anywhere;

impl Place for Anywhere {
    fn place(&self, want: &Want, free: &Draft, view: &View) -> Result<Placement, Reason> {
        if let Some(small) = place_small(want, free, Pick::First) {
            return small;
        }
        if want.demand.reach != Reach::Cluster {
            let remainder = super::Remainder::AsPicked;
            let fit = super::Fit {
                pick: Pick::First,
                remainder,
                relax: false,
                racks: super::Racks::Fullest,
            };
            return fit.place(want, free, view);
        }
        let enough = |kind: &KindId| free.free_of(heeler_model::KindSet::only(*kind)) >= want.gpus;
        let found = kinds(want, free).filter(enough).find_map(|kind| gather(want, free, kind));
        found.or_else(|| joined::anywhere(want, free)).ok_or_else(|| why_not(want, free))
    }

    fn fork(&self) -> Box<dyn Place> {
        Box::new(*self)
    }
}

fn gather(want: &Want, free: &Draft, kind: KindId) -> Option<Placement> {
    let grip = Grip::from(&want.demand);
    let mut left = want.gpus;
    let mut slices: SmallVec<[Slice; 1]> = SmallVec::new();
    for node in free.nodes_with_any(kind) {
        let take = left.min(free.room(node, grip));
        if take > 0 {
            slices.push(Slice { node, slots: free.unused(node).lowest(take) });
            left -= take;
        }
        if left == 0 {
            return Some(Placement::new(slices));
        }
    }
    None
}
