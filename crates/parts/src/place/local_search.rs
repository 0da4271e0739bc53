//! Placement of a batch of jobs at once: as few nodes as possible for each, with the summed reward
//! of all placements as large as a search over the order of placing finds it (Chronus: Gao et al.,
//! SoCC 2021, §5). Gangs that need whole nodes are consolidated first.

use super::fit::{Fit, Racks, Remainder};
use heeler_engine::{Draft, Grip, Pick, Place, View, Want};
use heeler_model::{Placement, Reason};

/// Placement by local search.
#[derive(Clone, Copy, Debug)]
pub struct LocalSearch {
    /// Orders of placing that are tried for a batch.
    pub tries: u32,
}

/// One job: the fullest node with room, whole nodes for a large gang, spread if need be.
const ONE: Fit = Fit {
    pick: Pick::Tightest,
    remainder: Remainder::AsPicked,
    relax: true,
    racks: Racks::Fullest,
};

impl Place for LocalSearch {
    fn place(&self, want: &Want, free: &Draft, view: &View) -> Result<Placement, Reason> {
        ONE.place(want, free, view)
    }

    fn fork(&self) -> Box<dyn Place> {
        Box::new(*self)
    }
}

impl LocalSearch {
    /// Placements for all wants out of what is free, in the order asked; none if some order is not
    /// found in which all of them fit. The draft is as it was afterwards.
    pub fn place_all(
        &self,
        wants: &[Want],
        free: &mut Draft,
        view: &View,
    ) -> Option<Vec<Placement>> {
        let mut order: Vec<usize> = (0..wants.len()).collect();
        order.sort_by_key(|at| std::cmp::Reverse(wants[*at].gpus));
        let best: u64 = wants.iter().map(|want| reward(want, 1)).sum();
        let mut found = in_order(wants, &order, free, view);
        let mut tries = self.tries;
        // Any two are exchanged, from the front, as long as that helps.
        let mut pair = (0, 1);
        while tries > 0 && pair.1 < order.len() && worth(wants, found.as_ref()) < best {
            tries -= 1;
            order.swap(pair.0, pair.1);
            let other = in_order(wants, &order, free, view);
            if worth(wants, other.as_ref()) > worth(wants, found.as_ref()) {
                (found, pair) = (other, (0, 1));
                continue;
            }
            order.swap(pair.0, pair.1);
            pair = if pair.0 + 1 < pair.1 { (pair.0 + 1, pair.1) } else { (0, pair.1 + 1) };
        }
        found
    }
}

/// What a placement on so many nodes is worth: each GPU less, the more nodes there are; twice as
/// much is at stake for a job that suffers when it is spread.
fn reward(want: &Want, nodes: usize) -> u64 {
    let stake = if want.skewed { 2 } else { 1 };
    u64::from(want.gpus) * 1000 * stake / nodes.max(1) as u64
}

fn worth(wants: &[Want], placements: Option<&Vec<Placement>>) -> u64 {
    let each = placements.into_iter().flatten().zip(wants);
    each.map(|(placement, want)| reward(want, placement.nodes())).sum()
}

/// Place one after the other.
fn in_order(
    wants: &[Want],
    order: &[usize],
    free: &mut Draft,
    view: &View,
) -> Option<Vec<Placement>> {
    let start = free.savepoint();
    let mut placements = vec![Placement::default(); wants.len()];
    let mut all = true;
    for at in order {
        let want = &wants[*at];
        let Ok(placement) = ONE.place(want, free, view) else {
            all = false;
            break;
        };
        free.claim(&placement, Grip::from(&want.demand));
        placements[*at] = placement;
    }
    free.back_to(start);
    all.then_some(placements)
}
