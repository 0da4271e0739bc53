//! On as few nodes as possible: one node if the job is no larger than a node, otherwise whole idle
//! nodes and the remainder on one more. Which node is what `pick` says: first fit takes the first
//! in the cluster file, best fit the fullest that has room, worst fit the emptiest. A placement
//! that is consolidated in this sense waits rather than spread.

use super::{joined, kinds, on_one_node, place_small, why_not};
use heeler_engine::{Draft, Fleet, Grip, Needs, Pick, Place, Spill, View, Want};
use heeler_model::{KindId, NodeId, Placement, RackId, Reach, Reason, Slice};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// Where the remainder of a job goes that is larger than a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Remainder {
    /// As the pick says.
    #[default]
    AsPicked,
    /// On the emptiest node that is left.
    Emptiest,
}

/// Whether the nodes of a job that has several are in one rack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Racks {
    /// They may be anywhere.
    #[default]
    Any,
    /// In one where possible: the one that is fullest afterwards.
    Fullest,
    /// In the first with room, unless none could ever hold the job; it waits rather than span two.
    First,
}

/// On as few nodes as possible.
#[derive(Clone, Copy, Debug)]
pub struct Fit {
    /// Which of the nodes that fit.
    pub pick: Pick,
    /// Where the remainder of a large job goes.
    pub remainder: Remainder,
    /// Whether a job that does not fit like this may be spread over the nodes with most room.
    pub relax: bool,
    /// Whether to keep jobs of several nodes within a rack.
    pub racks: Racks,
}

impl Place for Fit {
    fn place(&self, want: &Want, free: &Draft, view: &View) -> Result<Placement, Reason> {
        // Most who do not fit find too few anywhere, which is soon said.
        let count = free.free_of(want.demand.kinds);
        if want.demand.share.is_whole() && count < want.gpus {
            return Err(Reason::NotEnoughFree { need: want.gpus, free: count });
        }
        let want = &widened(&self.narrowed(want), free);
        if let Some(small) = place_small(want, free, self.pick) {
            return small;
        }
        let may_spread = self.relax && want.demand.reach != Reach::Node;
        let anywhere = self.relax && want.demand.reach == Reach::Cluster;
        let spills = anywhere && view.rules().spill == Spill::Fullest;
        let found = kinds(want, free).find_map(|kind| {
            on_one_node(want, free, kind, self.pick).or_else(|| match spills {
                true => filling_up(want, free, kind),
                false => self.on_whole_nodes(want, free, kind),
            })
        });
        let relaxed = || {
            let may = may_spread && !spills;
            kinds(want, free).filter(|_| may).find_map(|kind| scattered(want, free, kind))
        };
        let joined = || joined::anywhere(want, free).filter(|_| anywhere);
        found.or_else(relaxed).or_else(joined).ok_or_else(|| why_not(want, free))
    }

    fn needs(&self, want: &Want, fleet: &Fleet) -> Needs {
        // Parts of GPUs may be had where others are, too.
        if self.relax || !want.demand.share.is_whole() || want.gpus == 0 {
            return Needs::Count;
        }
        let kinds = want.demand.kinds.iter(fleet.cluster().kinds.len());
        let grip = Grip::from(&want.demand);
        let most = kinds.map(|kind| fleet.most_ever(kind, grip)).max().unwrap_or(0);
        if want.gpus <= most { Needs::OneNode } else { Needs::WholeNodes }
    }

    fn fork(&self) -> Box<dyn Place> {
        Box::new(*self)
    }
}

impl Fit {
    /// A want as near together as this placement would have it.
    fn narrowed(&self, want: &Want) -> Want {
        let mut want = *want;
        if self.racks == Racks::First {
            want.demand.reach = want.demand.reach.max(Reach::Rack);
        }
        want
    }

    fn on_whole_nodes(&self, want: &Want, free: &Draft, kind: KindId) -> Option<Placement> {
        let most = free.most_ever(kind, Grip::from(&want.demand));
        if want.gpus <= most || want.demand.reach == Reach::Node {
            return None;
        }
        if free.free_of(want.demand.kinds) < want.gpus {
            return None;
        }
        let racks = free.cluster().racks.len();
        if (self.racks != Racks::Any || want.demand.reach == Reach::Rack) && racks > 1 {
            let mut order: Vec<RackId> = (0..racks as u32).map(RackId).collect();
            if self.racks != Racks::First {
                // The rack that is fullest after this one has moved in; ties go to the first.
                order.sort_by_key(|rack| (free.idle_count(kind, *rack), *rack));
            }
            let one = order.iter().find_map(|rack| self.gather(want, free, kind, Some(*rack)));
            if one.is_some() || want.demand.reach == Reach::Rack {
                return one;
            }
        }
        self.gather(want, free, kind, None)
    }

    /// Whole idle nodes, and one for the remainder, in a rack or anywhere.
    fn gather(
        &self,
        want: &Want,
        free: &Draft,
        kind: KindId,
        rack: Option<RackId>,
    ) -> Option<Placement> {
        let grip = Grip::from(&want.demand);
        let nodes = &free.cluster().nodes;
        let mut left = want.gpus;
        let mut slices: SmallVec<[Slice; 1]> = SmallVec::new();
        for node in free.idle_nodes(kind, rack) {
            // All its GPUs, or as many as its CPUs and memory can serve.
            let room = free.room(node, grip);
            if left == 0 || left < room {
                break;
            }
            if room > 0 {
                slices.push(Slice { node, slots: free.slots_for(node, room) });
                left -= room;
            }
        }
        if left > 0 {
            let taken = |node: NodeId| slices.iter().any(|slice| slice.node == node);
            let fits = |node: &NodeId| {
                let here = rack.is_none_or(|rack| nodes[node.index()].rack == rack);
                here && !taken(*node) && free.room(*node, grip) >= left
            };
            let node = self.for_remainder(free, kind, left, fits)?;
            slices.push(Slice { node, slots: free.slots_for(node, left) });
        }
        Some(Placement::new(slices))
    }

    fn for_remainder(
        &self,
        free: &Draft,
        kind: KindId,
        left: u32,
        fits: impl Fn(&NodeId) -> bool,
    ) -> Option<NodeId> {
        let emptiest = || free.nodes_by_most_unused(kind).find(&fits);
        match (self.remainder, self.pick) {
            (Remainder::Emptiest, _) | (_, Pick::Loosest) => emptiest(),
            (Remainder::AsPicked, Pick::First) => free.nodes_with_any(kind).find(&fits),
            (Remainder::AsPicked, Pick::Tightest) => {
                free.nodes_by_least_unused(kind, left).find(&fits)
            }
        }
    }
}

/// A want that could never be met as near together as a recipe would have it, as near as it could
/// be, but never further apart than the job insists on.
fn widened(want: &Want, free: &Draft) -> Want {
    let mut want = *want;
    while want.demand.reach > want.insists {
        let met = |kind: KindId| free.together_ever(kind, &want.demand) >= want.gpus;
        if kinds(&want, free).any(met) {
            break;
        }
        let wider = match want.demand.reach {
            Reach::Node => Reach::Rack,
            Reach::Rack | Reach::Cluster => Reach::Cluster,
        };
        want.demand.reach = wider.max(want.insists);
    }
    want
}

/// Over the nodes that have most room, so that they are as few as possible.
pub(super) fn scattered(want: &Want, free: &Draft, kind: KindId) -> Option<Placement> {
    if want.demand.reach == Reach::Rack {
        let racks = (0..free.cluster().racks.len() as u32).map(RackId);
        return racks.into_iter().find_map(|rack| scattered_in(want, free, kind, Some(rack)));
    }
    scattered_in(want, free, kind, None)
}

fn scattered_in(
    want: &Want,
    free: &Draft,
    kind: KindId,
    rack: Option<RackId>,
) -> Option<Placement> {
    let nodes = free.nodes_by_most_unused(kind);
    let rack_of = |node: NodeId| free.cluster().nodes[node.index()].rack;
    over(want, free, nodes.filter(|node| rack.is_none_or(|rack| rack_of(*node) == rack)))
}

/// Over the nodes with the fewest GPUs left.
fn filling_up(want: &Want, free: &Draft, kind: KindId) -> Option<Placement> {
    let nodes = free.nodes_by_least_unused(kind, 1);
    over(want, free, nodes)
}

/// Over nodes in this order, as much of each as it has.
fn over(want: &Want, free: &Draft, nodes: impl Iterator<Item = NodeId>) -> Option<Placement> {
    let grip = Grip::from(&want.demand);
    let mut left = want.gpus;
    let mut slices: SmallVec<[Slice; 1]> = SmallVec::new();
    for node in nodes {
        let take = left.min(free.room(node, grip));
        if take > 0 {
            slices.push(Slice { node, slots: free.slots_for(node, take) });
            left -= take;
        }
        if left == 0 {
            return Some(Placement::new(slices));
        }
    }
    None
}
