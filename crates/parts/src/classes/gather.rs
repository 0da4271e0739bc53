//! GPUs for a job that is guaranteed them. One that fits on a node takes the first node with
//! enough; if there is none, it is kept what the node with most has, and what comes free there,
//! until it has enough. A larger one is kept whole nodes until it has enough of them.

use super::desk::{Desk, has_classes};
use crate::place::why_not;
use heeler_engine::{Grip, Job, Pick, Want};
use heeler_model::{KindId, NodeId, Placement, Reach, Reason, Slice, Slots};
use smallvec::SmallVec;
use std::cmp::Reverse;

/// What was found for a job.
pub(super) enum Found {
    /// All it needs.
    Enough(Placement),
    /// What it is kept, and waits for the rest.
    Some(Placement),
    /// Nothing.
    Nothing(Reason),
}

/// Find GPUs for a job that was kept some, or none.
pub(super) fn gather(job: &Job, had: Option<&Placement>, desk: &mut Desk) -> Found {
    let demand = &job.spec.demand;
    let (need, cluster) = (demand.asked(), desk.draft.cluster().kinds.len());
    let mut kinds: Vec<KindId> = demand.kinds.iter(cluster).collect();
    if let Some(had) = had.and_then(|had| had.slices().first()) {
        kinds = vec![desk.draft.kind_of(had.node)];
    }
    let fits = kinds.iter().any(|kind| desk.size(*kind) >= need);
    kinds.retain(|kind| match fits {
        true => desk.size(*kind) >= need,
        false => demand.reach == Reach::Cluster && desk.are_nodes(need, *kind),
    });
    let found = match (kinds.first(), had) {
        (Some(_), None) if has_classes(job) && fits => on_a_node(job, &kinds, desk),
        (Some(_), Some(had)) if fits => more_on_a_node(job, had, desk),
        (Some(kind), had) if has_classes(job) => on_nodes(job, *kind, had, desk),
        _ => {
            // On nodes of different sizes, or within reach of each other, they do not add up.
            had.into_iter().for_each(|had| desk.open(had));
            return desk.as_asked(job).map_or_else(Found::Nothing, Found::Enough);
        }
    };
    found.unwrap_or_else(|| Found::Nothing(why_not(&Want::as_asked(job), &desk.draft)))
}

fn on_a_node(job: &Job, kinds: &[KindId], desk: &Desk) -> Option<Found> {
    let (draft, need) = (&desk.draft, job.spec.demand.asked());
    let grip = Grip::from(&job.spec.demand);
    let nodes = kinds.iter().filter_map(|kind| draft.node_with(*kind, need, grip, Pick::First));
    if let Some(node) = nodes.min() {
        return Some(Found::Enough(Placement::on(node, draft.slots_for(node, need))));
    }
    let (node, room) = roomiest(need, kinds, grip, desk)?;
    Some(Found::Some(Placement::on(node, draft.unused(node).lowest(room))))
}

/// The first of the nodes that have most to give, of those that have enough GPUs, and how many.
fn roomiest(need: u32, kinds: &[KindId], grip: Grip, desk: &Desk) -> Option<(NodeId, u32)> {
    let draft = &desk.draft;
    let nodes = kinds.iter().flat_map(|kind| draft.nodes_with_any(*kind));
    let large = nodes.filter(|node| draft.cluster().nodes[node.index()].gpus >= need);
    let rooms = large.map(|node| (node, draft.room(node, grip)));
    rooms.filter(|(_, room)| *room > 0).min_by_key(|(node, room)| (Reverse(*room), *node))
}

fn more_on_a_node(job: &Job, had: &Placement, desk: &mut Desk) -> Option<Found> {
    let slice = *had.slices().first()?;
    let need = job.spec.demand.asked();
    desk.open(had);
    let more = desk.draft.unused(slice.node).without(slice.slots);
    let slots = slice.slots.or(more.lowest(need.saturating_sub(slice.slots.count())));
    let enough = slots.count() == need;
    let placement = Placement::on(slice.node, slots);
    let grip = Grip::from(&job.spec.demand);
    Some(match enough && desk.draft.has_room_for(&placement, grip) {
        true => Found::Enough(placement),
        false => Found::Some(placement),
    })
}

/// Whole nodes, and what is needed beyond them on another.
fn on_nodes(job: &Job, kind: KindId, had: Option<&Placement>, desk: &mut Desk) -> Option<Found> {
    let (need, size) = (job.spec.demand.asked(), desk.size(kind).max(1));
    let grip = Grip::from(&job.spec.demand);
    let mut slices: Vec<Slice> = had.map_or_else(Vec::new, |had| had.slices().to_vec());
    let whole = slices.iter().filter(|slice| slice.slots.count() == size).count();
    let missing = (need / size) as usize - whole.min((need / size) as usize);
    let idle = desk.draft.idle_nodes(kind, None);
    let idle = idle.filter(|node| desk.draft.room(*node, grip) >= size);
    let idle: Vec<NodeId> = idle.take(missing).collect();
    // The rest comes last, or it might be on a node that is needed as a whole.
    let rest = if idle.len() == missing { need % size } else { 0 };
    for node in idle {
        let slice = Slice { node, slots: Slots::first(size) };
        desk.fill(&Placement::on(node, slice.slots));
        slices.push(slice);
    }
    beyond(rest, size, &mut slices, (kind, grip), desk);
    let placement = Placement::new(slices.into_iter().collect::<SmallVec<[Slice; 1]>>());
    if placement.gpus() == 0 {
        return None;
    }
    desk.open(&placement);
    let enough = placement.gpus() == need && desk.draft.has_room_for(&placement, grip);
    Some(if enough { Found::Enough(placement) } else { Found::Some(placement) })
}

/// The last few GPUs of a job that needs more than whole nodes.
fn beyond(
    rest: u32,
    size: u32,
    slices: &mut Vec<Slice>,
    (kind, grip): (KindId, Grip),
    desk: &Desk,
) {
    if rest == 0 {
        return;
    }
    let draft = &desk.draft;
    if let Some(part) = slices.iter_mut().find(|slice| slice.slots.count() < size) {
        let more = draft.unused(part.node).lowest(rest.saturating_sub(part.slots.count()));
        part.slots = part.slots.or(more);
        return;
    }
    let first = draft.node_with(kind, rest, grip, Pick::First).map(|node| (node, rest));
    if let Some((node, count)) = first.or_else(|| roomiest(rest, &[kind], grip, desk)) {
        slices.push(Slice { node, slots: draft.unused(node).lowest(count.min(rest)) });
    }
}
