//! Buddy allocation: a free cell of the level wanted, or else a part of the smallest free cell
//! above, which is split. Where that meets bad nodes only, larger cells may be split as long as
//! everybody can still have all they own.

use super::cell::CellId;
use super::free::remove;
use super::map::{Found, Paths};
use super::{Cells, Suggested};

/// Free cells and how many are owned and not used, by level: a copy to try things out on.
struct Stock {
    free: Vec<Vec<CellId>>,
    unused: Vec<i32>,
}

impl Cells {
    /// Physical leaves for everything that has to be bound.
    pub(super) fn map_all(
        &self,
        chain: usize,
        paths: &Paths,
        suggested: Suggested,
        found: &mut Found,
    ) -> bool {
        let now = &self.now.chains[chain];
        let mut stock = Stock { free: now.free.clone(), unused: now.unused.clone() };
        for root in &paths.roots {
            let level = self.fixed(*root).level;
            let lowest = (level..stock.free.len()).find(|level| !stock.free[*level].is_empty());
            let by_rule =
                lowest.and_then(|from| self.buddy(*root, &mut stock, from, paths, suggested));
            let bound = by_rule.or_else(|| self.relaxed(*root, &mut stock, paths, suggested));
            let Some(more) = bound else { return false };
            stock.unused[level] -= 1;
            found.extend(more);
        }
        for (parent, cells) in &paths.inner {
            let physical = self.bound(*parent).expect("they are inside a bound cell");
            let candidates = &self.fixed(physical).children;
            let Some((_, more)) = self.map_cells(cells, candidates, paths, suggested) else {
                return false;
            };
            found.extend(more);
        }
        true
    }

    /// A cell at the level of the root, out of the free cells at a level no lower.
    fn buddy(
        &self,
        root: CellId,
        stock: &mut Stock,
        from: usize,
        paths: &Paths,
        suggested: Suggested,
    ) -> Option<Found> {
        if from == self.fixed(root).level {
            let (picked, found) = self.map_cells(&[root], &stock.free[from], paths, suggested)?;
            remove(&mut stock.free[from], picked[0]);
            return Some(found);
        }
        for id in self.bindable(&stock.free[from], 1, suggested)? {
            stock.free[from - 1].extend(&self.fixed(id).children);
            if let Some(found) = self.buddy(root, stock, from - 1, paths, suggested) {
                remove(&mut stock.free[from], id);
                return Some(found);
            }
            stock.free[from - 1].clear();
        }
        None
    }

    /// A cell at the level of the root, by splitting cells above that nobody will miss.
    fn relaxed(
        &self,
        root: CellId,
        stock: &mut Stock,
        paths: &Paths,
        suggested: Suggested,
    ) -> Option<Found> {
        let shape = &self.build.chains[self.fixed(root).chain];
        let (level, top) = (self.fixed(root).level, shape.top());
        let mut spare = vec![0; top + 2];
        for upper in (level + 1..=top).rev() {
            let from_above = match upper < top {
                true => spare[upper + 1] * shape.parts[upper + 1] as i32,
                false => 0,
            };
            spare[upper] = stock.free[upper].len() as i32 - stock.unused[upper] + from_above;
        }
        let mut free = stock.free.clone();
        // A cell split at one level is one less at each level on the way down.
        for upper in (level + 1..=top).take_while(|upper| spare[*upper] > 0) {
            let number = spare[upper].min(free[upper].len() as i32);
            if number == 0 {
                continue;
            }
            let mut split: Vec<CellId> = Vec::new();
            for _ in 0..number {
                split.push(free[upper].swap_remove(0));
            }
            for _ in level..upper {
                split = split.iter().flat_map(|id| &self.fixed(*id).children).copied().collect();
            }
            split.append(&mut free[level]);
            free[level] = split;
            let mapped = self.map_cells(&[root], &free[level], paths, suggested);
            if let Some((picked, found)) = mapped {
                self.carve(picked[0], &mut stock.free);
                return Some(found);
            }
        }
        None
    }

    /// Take a cell out of free cells, splitting no more than what it is part of.
    fn carve(&self, id: CellId, free: &mut [Vec<CellId>]) {
        let level = self.fixed(id).level;
        let whole = self.parent(id).filter(|_| !free[level].contains(&id));
        if let Some(parent) = whole {
            self.carve(parent, free);
            free[level].extend(&self.fixed(parent).children);
        }
        remove(&mut free[level], id);
    }
}
