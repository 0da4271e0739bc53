//! On the fewest nodes over which a job can be dealt out evenly, those with most room first: where
//! every worker talks to every other, uneven parts wait for the largest (Optimus, EuroSys 2018).

use super::{MostRoom, kinds, place_small};
use heeler_engine::{Draft, Grip, Pick, Place, View, Want};
use heeler_model::{KindId, NodeId, Placement, Reach, Reason, Slice};
use smallvec::SmallVec;

/// Even parts on the fewest nodes; where there are none, the node with most room first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Even;

impl Place for Even {
    fn place(&self, want: &Want, free: &Draft, view: &View) -> Result<Placement, Reason> {
        if let Some(small) = place_small(want, free, Pick::Loosest) {
            return small;
        }
        let anywhere = want.demand.reach == Reach::Cluster;
        let dealt = kinds(want, free).filter(|_| anywhere).find_map(|kind| deal(want, free, kind));
        dealt.map_or_else(|| MostRoom.place(want, free, view), Ok)
    }

    fn fork(&self) -> Box<dyn Place> {
        Box::new(*self)
    }
}

fn deal(want: &Want, free: &Draft, kind: KindId) -> Option<Placement> {
    let grip = Grip::from(&want.demand);
    let rooms: Vec<(NodeId, u32)> = free
        .nodes_by_most_unused(kind)
        .map(|node| (node, free.room(node, grip)))
        .take(want.gpus as usize)
        .collect();
    // The first nodes have one GPU more, if the job is no multiple.
    let part = |count: u32, index: u32| want.gpus / count + u32::from(index < want.gpus % count);
    let fits = |count: &u32| {
        let nodes = rooms.iter().take(*count as usize).zip(0u32..);
        nodes.into_iter().all(|((_, room), index)| *room >= part(*count, index))
    };
    let count = (1..=rooms.len() as u32).find(fits)?;
    let slice = |((node, _), index): (&(NodeId, u32), u32)| Slice {
        node: *node,
        slots: free.slots_for(*node, part(count, index)),
    };
    let slices: SmallVec<[Slice; 1]> =
        rooms.iter().take(count as usize).zip(0u32..).map(slice).collect();
    Some(Placement::new(slices))
}
