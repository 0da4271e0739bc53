//! Which GPUs. Every placement here compares whole numbers (GPUs left on a node, thousandths left
//! on a GPU) and breaks ties by the order of nodes in the cluster file, because both change
//! results: the quantum and the tie order are part of what a placement is.

mod anywhere;
mod even;
mod fit;
mod joined;
mod local_search;
mod most_room;
mod skew;
mod spare_best;
mod spread;

pub use anywhere::Anywhere;
pub use even::Even;
pub use fit::{Fit, Racks, Remainder};
pub use local_search::LocalSearch;
pub use most_room::MostRoom;
pub use skew::SkewAware;
pub use spare_best::SpareBest;
pub use spread::Spread;

use heeler_engine::{Draft, Grip, Pick, Want};
use heeler_model::{KindId, Placement, Reason, Slots};

/// The kinds a want may use, in the order of the cluster file.
fn kinds<'a>(want: &'a Want, free: &'a Draft) -> impl Iterator<Item = KindId> + 'a {
    want.demand.kinds.iter(free.cluster().kinds.len())
}

/// Wants that are less than one GPU, or none at all, and gangs of parts that can join others: the
/// same in every placement but for the pick.
fn place_small(want: &Want, free: &Draft, pick: Pick) -> Option<Result<Placement, Reason>> {
    let grip = Grip::from(&want.demand);
    if want.gpus == 0 {
        let mut nodes = kinds(want, free).filter_map(|kind| free.node_beside(kind, grip, pick));
        let found = nodes.next().map(|node| Placement::on(node, Slots::default()));
        return Some(found.ok_or_else(|| why_not(want, free)));
    }
    if grip.share.is_whole() {
        return None;
    }
    if want.gpus > 1 {
        return joined::together(want, free).map(Ok);
    }
    let shared = kinds(want, free).find_map(|kind| free.shared_with(kind, grip, pick));
    let found = match shared {
        Some((node, slot)) => Some(Placement::on(node, Slots::one(slot))),
        None => kinds(want, free).find_map(|kind| on_one_node(want, free, kind, pick)),
    };
    Some(found.ok_or_else(|| why_not(want, free)))
}

/// All of a want on one node of a kind.
fn on_one_node(want: &Want, free: &Draft, kind: KindId, pick: Pick) -> Option<Placement> {
    let node = free.node_with(kind, want.gpus, Grip::from(&want.demand), pick)?;
    Some(Placement::on(node, free.slots_for(node, want.gpus)))
}

/// Why a want cannot be placed now.
pub(crate) fn why_not(want: &Want, free: &Draft) -> Reason {
    let grip = Grip::from(&want.demand);
    let need = want.gpus;
    let count = free.could_serve(want.demand.kinds, grip);
    if count < need {
        return Reason::NotEnoughFree { need, free: count };
    }
    let (cpu_milli, memory_mb) = (grip.cpu_milli, grip.memory_mb);
    if need == 0 {
        return Reason::ShortBeside { need, cpu_milli, memory_mb, largest: 0 };
    }
    let most = |grip| {
        let unused = kinds(want, free).map(|kind| free.most_together(kind, grip)).max();
        unused.max(joined::most_together(want, grip, free))
    };
    let largest = most(grip).unwrap_or(0);
    // Were it for GPUs alone, it would fit.
    let bare = Grip { cpu_milli: 0, memory_mb: 0, ..grip };
    if largest < need && bare != grip && most(bare).unwrap_or(0) >= need {
        return Reason::ShortBeside { need, cpu_milli, memory_mb, largest };
    }
    Reason::Fragmented { need, free: count, largest }
}
