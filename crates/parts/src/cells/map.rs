//! Finds physical cells for virtual ones such that what is together inside a virtual cell is
//! together in the physical one: a search over the parts that are free, healthy and suggested,
//! those with the fewest leaves in use without a guarantee first.

use super::cell::CellId;
use super::{Cells, Suggested};
use std::collections::BTreeMap;

/// Virtual leaves and the physical ones found for them.
pub(super) type Found = BTreeMap<CellId, CellId>;

/// Virtual cells to be bound, each with those of its parts that are to be.
#[derive(Debug, Default)]
pub(super) struct Paths {
    /// Parts to be bound of a cell to be bound.
    parts: BTreeMap<CellId, Vec<CellId>>,
    /// Owned cells that are not bound.
    pub roots: Vec<CellId>,
    /// Cells inside a bound one, by that one, in the order in which they came.
    pub inner: Vec<(CellId, Vec<CellId>)>,
}

impl Cells {
    pub(super) fn is_physical(&self, id: CellId) -> bool {
        id < self.build.first_virtual
    }

    /// What has to be bound for some virtual leaves; leaves that are bound already are found.
    pub(super) fn paths(&self, leaves: &[CellId], found: &mut Found) -> Paths {
        let mut paths = Paths::default();
        for leaf in leaves {
            if let Some(physical) = self.bound(*leaf) {
                found.insert(*leaf, physical);
                continue;
            }
            let mut id = *leaf;
            while let Some(parent) = self.parent(id) {
                if self.bound(parent).is_some() {
                    match paths.inner.iter_mut().find(|(above, _)| *above == parent) {
                        Some((_, cells)) => cells.push(id),
                        None => paths.inner.push((parent, vec![id])),
                    }
                    break;
                }
                let is_known = paths.parts.contains_key(&parent);
                paths.parts.entry(parent).or_default().push(id);
                if is_known {
                    break;
                }
                id = parent;
            }
            if self.parent(id).is_none() {
                paths.roots.push(id);
            }
        }
        paths
    }

    /// The cells that can be bound, if there are enough of them. A cell of many nodes some of which
    /// are bad can be: the search goes on below.
    pub(super) fn bindable(
        &self,
        cells: &[CellId],
        need: usize,
        suggested: Suggested,
    ) -> Option<Vec<CellId>> {
        let can_be = |id: &CellId| {
            let fixed = self.fixed(*id);
            let nodes = fixed.first_node..fixed.first_node + fixed.nodes;
            self.bound(*id).is_none()
                && (fixed.nodes > 1 || self.live(*id).healthy)
                && suggested.is_none_or(|set| set.range(nodes).next().is_some())
        };
        let mut usable: Vec<CellId> = cells.iter().copied().filter(can_be).collect();
        usable.sort_by_key(|id| self.used_opportunistically(*id));
        (usable.len() >= need).then_some(usable)
    }

    /// Physical cells among some candidates for virtual cells, and for all below. Who comes first
    /// gets the first candidate that leaves enough for the others.
    pub(super) fn map_cells(
        &self,
        own: &[CellId],
        candidates: &[CellId],
        paths: &Paths,
        suggested: Suggested,
    ) -> Option<(Vec<CellId>, Found)> {
        let usable = self.bindable(candidates, own.len(), suggested)?;
        let mut tried: BTreeMap<(usize, usize), Option<Found>> = BTreeMap::new();
        let mut fits = |who: usize, which: usize| {
            let result = tried.entry((who, which)).or_insert_with(|| {
                let candidate = usable[which];
                if self.fixed(candidate).level == 1 {
                    return Some(Found::from([(own[who], candidate)]));
                }
                let (below, parts) = (&self.fixed(candidate).children, &paths.parts[&own[who]]);
                self.map_cells(parts, below, paths, suggested).map(|(_, found)| found)
            });
            result.is_some()
        };
        let mut picked: Vec<usize> = Vec::with_capacity(own.len());
        for who in 0..own.len() {
            let is_open = |which: &usize| !picked.contains(which);
            let choice = (0..usable.len()).filter(is_open).collect::<Vec<_>>();
            let chosen = choice.into_iter().find(|which| {
                let left: Vec<usize> = (0..usable.len())
                    .filter(|other| other != which && !picked.contains(other))
                    .collect();
                fits(who, *which) && all_matched(who + 1..own.len(), &left, &mut fits)
            });
            picked.push(chosen?);
        }
        let mut found = Found::new();
        for (who, which) in picked.iter().enumerate() {
            found.extend(tried.remove(&(who, *which)).flatten().into_iter().flatten());
        }
        Some((picked.into_iter().map(|which| usable[which]).collect(), found))
    }
}

/// Whether everybody can have one of those left (augmenting paths).
fn all_matched(
    who: std::ops::Range<usize>,
    left: &[usize],
    fits: &mut impl FnMut(usize, usize) -> bool,
) -> bool {
    let mut holder: BTreeMap<usize, usize> = BTreeMap::new();
    who.into_iter().all(|one| {
        let mut seen = Vec::new();
        augment(one, left, fits, &mut holder, &mut seen)
    })
}

fn augment(
    who: usize,
    left: &[usize],
    fits: &mut impl FnMut(usize, usize) -> bool,
    holder: &mut BTreeMap<usize, usize>,
    seen: &mut Vec<usize>,
) -> bool {
    for which in left {
        if seen.contains(which) || !fits(who, *which) {
            continue;
        }
        seen.push(*which);
        let free = match holder.get(which).copied() {
            None => true,
            Some(other) => augment(other, left, fits, holder, seen),
        };
        if free {
            holder.insert(*which, who);
            return true;
        }
    }
    false
}
