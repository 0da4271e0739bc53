//! As many nodes as possible: one GPU after the other on the node with most room. Leaves every
//! node some CPUs, memory and network to spare, and no node whole.

use super::{joined, kinds, place_small, why_not};
use heeler_engine::{Draft, Grip, Pick, Place, View, Want};
use heeler_model::{KindId, NodeId, Placement, Reach, Reason, Slice};
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// One GPU after the other on the emptiest node.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spread;

impl Place for Spread {
    fn place(&self, want: &Want, free: &Draft, view: &View) -> Result<Placement, Reason> {
        if let Some(small) = place_small(want, free, Pick::Loosest) {
            return small;
        }
        if want.demand.reach != Reach::Cluster {
            let remainder = super::Remainder::Emptiest;
            let fit = super::Fit {
                pick: Pick::Loosest,
                remainder,
                relax: true,
                racks: super::Racks::Fullest,
            };
            return fit.place(want, free, view);
        }
        let found = kinds(want, free).find_map(|kind| deal(want, free, kind));
        found.or_else(|| joined::anywhere(want, free)).ok_or_else(|| why_not(want, free))
    }

    fn fork(&self) -> Box<dyn Place> {
        Box::new(*self)
    }
}

fn deal(want: &Want, free: &Draft, kind: KindId) -> Option<Placement> {
    let grip = Grip::from(&want.demand);
    // Only the nodes with most room can be dealt to, and each at least once.
    let most = free.nodes_by_most_unused(kind).take(want.gpus as usize);
    let mut hands: BinaryHeap<(u32, Reverse<NodeId>, u32)> =
        most.map(|node| (free.room(node, grip), Reverse(node), 0)).collect();
    for _ in 0..want.gpus {
        let (room, node, dealt) = hands.pop().filter(|(room, _, _)| *room > 0)?;
        hands.push((room - 1, node, dealt + 1));
    }
    let dealt = hands.into_iter().filter(|(_, _, dealt)| *dealt > 0);
    let slices: SmallVec<[Slice; 1]> = dealt
        .map(|(_, Reverse(node), dealt)| Slice { node, slots: free.unused(node).lowest(dealt) })
        .collect();
    Some(Placement::new(slices))
}
