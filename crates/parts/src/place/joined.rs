//! Gangs that take a part of each of their GPUs: where others have the rest of these, as long as
//! that does not spread them over more nodes than they would need of their own.

use super::kinds;
use heeler_engine::{Draft, Grip, Want};
use heeler_model::{KindId, NodeId, Placement, RackId, Reach, Slice, Slots};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What a node has for such a gang.
#[derive(Clone, Copy, Debug)]
struct Seat {
    node: NodeId,
    rack: RackId,
    /// GPUs that others use in part and that have room.
    joinable: Slots,
    /// How many GPUs it could have here, those that nobody uses counted in.
    room: u32,
}

impl Seat {
    /// The node and as many of its GPUs, first those that are used already.
    fn slice(&self, count: u32, free: &Draft) -> Slice {
        let joined = self.joinable.lowest(count.min(self.joinable.count()));
        let more = count - joined.count();
        let slots = if more > 0 { joined.or(free.slots_for(self.node, more)) } else { joined };
        Slice { node: self.node, slots }
    }
}

/// On as few nodes as the gang can be on, if some of its GPUs are used already: where most are.
pub(super) fn together(want: &Want, free: &Draft) -> Option<Placement> {
    let grip = Grip::from(&want.demand);
    kinds(want, free).find_map(|kind| {
        let most = free.most_ever(kind, grip);
        let nodes = want.gpus.div_ceil(most.max(1)) as usize;
        if nodes > 1 && want.demand.reach == Reach::Node {
            return None;
        }
        let mut seats = joinable(free, kind, grip);
        seats.sort_by_key(|seat| (Reverse(seat.joinable.count()), seat.room, seat.node));
        if nodes == 1 {
            let one = seats.iter().find(|seat| seat.room >= want.gpus)?;
            return Some(Placement::on(one.node, one.slice(want.gpus, free).slots));
        }
        let mut racks: BTreeMap<RackId, Vec<Seat>> = BTreeMap::new();
        for seat in seats {
            racks.entry(seat.rack).or_default().push(seat);
        }
        racks.into_values().find_map(|mut seats| {
            seats.sort_by_key(|seat| (Reverse(seat.room), seat.node));
            seats.truncate(nodes);
            over(want.gpus, &seats, free)
        })
    })
}

/// On any nodes, those with most room first.
pub(super) fn anywhere(want: &Want, free: &Draft) -> Option<Placement> {
    if want.demand.share.is_whole() || want.demand.reach != Reach::Cluster {
        return None;
    }
    let grip = Grip::from(&want.demand);
    kinds(want, free).find_map(|kind| {
        let mut seats = joinable(free, kind, grip);
        if seats.is_empty() {
            return None;
        }
        let others = free.nodes_with_any(kind).filter(|n| seats.iter().all(|seat| seat.node != *n));
        let unused: Vec<Seat> =
            others.map(|node| seat(node, Slots::default(), grip, free)).collect();
        seats.extend(unused);
        seats.sort_by_key(|seat| (Reverse(seat.room), seat.node));
        over(want.gpus, &seats, free)
    })
}

/// The most that one node could serve where others are, too.
pub(super) fn most_together(want: &Want, grip: Grip, free: &Draft) -> Option<u32> {
    if grip.share.is_whole() {
        return None;
    }
    let seats = kinds(want, free).flat_map(|kind| joinable(free, kind, grip));
    seats.map(|seat| seat.room).max()
}

/// Nodes of a kind with GPUs that others use in part and that have room for this.
fn joinable(free: &Draft, kind: KindId, grip: Grip) -> Vec<Seat> {
    let found = free.joinable(kind, grip).into_iter();
    found.map(|(node, slots)| seat(node, slots, grip, free)).collect()
}

fn seat(node: NodeId, joinable: Slots, grip: Grip, free: &Draft) -> Seat {
    let bare = Grip { cpu_milli: 0, memory_mb: 0, ..grip };
    let room = (joinable.count() + free.room(node, bare)).min(free.beside(node, grip));
    Seat { node, rack: free.cluster().nodes[node.index()].rack, joinable, room }
}

/// As many GPUs of these nodes, in order.
fn over(gpus: u32, seats: &[Seat], free: &Draft) -> Option<Placement> {
    let mut left = gpus;
    let mut slices = Vec::new();
    for seat in seats {
        let take = left.min(seat.room);
        if take > 0 {
            slices.push(seat.slice(take, free));
            left -= take;
        }
    }
    (left == 0).then(|| Placement::new(slices.into()))
}
