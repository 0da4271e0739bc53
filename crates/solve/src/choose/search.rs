//! The best among all ways whose loss, compared with the bound, stays within a budget. Rows are
//! gone through one by one; of ways that have used the same, the cheapest goes on (dynamic
//! programming), and where those are too many, the most promising ones.

use super::core::{Core, Kept, Picks, least, priced};

/// What to search.
pub(super) struct Search<'a> {
    pub core: &'a Core,
    pub prices: &'a [i64],
    /// The largest loss.
    pub budget: i64,
    /// Ways that go on after each row.
    pub width: usize,
}

/// What was found.
pub(super) struct Found {
    /// The best way within the budget.
    pub picks: Option<Picks>,
    /// Whether nothing was left out.
    pub is_whole: bool,
}

/// A choice that a row has, and what it loses by that.
#[derive(Clone, Copy)]
struct Choice {
    pick: Option<Kept>,
    loss: i64,
}

/// A row with more than one choice.
struct Branch {
    row: usize,
    choices: Vec<Choice>,
}

/// A way through the rows so far: what it used, packed; its loss; where it came from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Way {
    used: u128,
    loss: i64,
    before: u32,
    choice: u32,
}

/// What the rows that are still to come use.
#[derive(Clone)]
struct Coming {
    least: Vec<i64>,
    most: Vec<i64>,
    usual: Vec<i64>,
}

impl Search<'_> {
    pub(super) fn run(&self, work_max: u64, work: &mut u64) -> Found {
        *work += self.core.offer_count();
        let nothing = |is_whole: bool| Found { picks: None, is_whole };
        let mut room = self.core.capacities.clone();
        let mut picks: Picks = vec![None; self.core.row_count()];
        let branches = self.branches(&mut picks, &mut room);
        if room.iter().any(|room| *room < 0) {
            return nothing(true);
        }
        let bits: Vec<u32> = room.iter().map(|room| 64 - room.leading_zeros()).collect();
        if bits.iter().sum::<u32>() > 128 {
            return nothing(false);
        }
        let shifts: Vec<u32> = (0..bits.len()).map(|kind| bits[..kind].iter().sum()).collect();
        let space = Space { room: &room, shifts: &shifts, bits: &bits, prices: self.prices };
        let coming = self.coming(&branches);
        let mut layers: Vec<Vec<Way>> = vec![vec![Way { used: 0, loss: 0, before: 0, choice: 0 }]];
        let mut is_whole = true;
        for (at, branch) in branches.iter().enumerate() {
            let layer = &layers[at];
            *work += (layer.len() * branch.choices.len()) as u64;
            if *work > work_max {
                return nothing(false);
            }
            let mut next = self.grow(layer, branch, &space, &coming[at + 1]);
            next.sort_unstable();
            next.dedup_by_key(|way| way.used);
            if next.len() > self.width {
                is_whole = false;
                let hope = |way: &Way| (space.hope(way, &coming[at + 1]), *way);
                next.select_nth_unstable_by_key(self.width, hope);
                next.truncate(self.width);
            }
            layers.push(next);
        }
        let last = layers.last().expect("there is a first layer");
        let whole_loss = |way: &Way| way.loss + space.unused(way, &coming[branches.len()]);
        let best = last.iter().enumerate().min_by_key(|(_, way)| (whole_loss(way), **way));
        let Some((mut index, _)) = best else { return nothing(is_whole) };
        for (at, branch) in branches.iter().enumerate().rev() {
            let way = layers[at + 1][index];
            picks[branch.row] = branch.choices[way.choice as usize].pick;
            index = way.before as usize;
        }
        Found { picks: Some(picks), is_whole }
    }

    /// The rows that still have a choice, those that take most first: so the ways that differ stay
    /// few for long. What the others take is fixed.
    fn branches(&self, picks: &mut Picks, room: &mut [i64]) -> Vec<Branch> {
        let mut branches = Vec::new();
        for (row, offers) in self.core.rows().enumerate() {
            let best = least(offers, self.prices);
            let none = Choice { pick: None, loss: -best };
            let all = offers.iter().map(|offer| {
                let loss = priced(offer, self.prices) - best;
                Choice { pick: Some(*offer), loss }
            });
            let within = all.chain([none]).filter(|choice| choice.loss <= self.budget);
            let choices: Vec<Choice> = within.collect();
            if let [only] = choices[..] {
                picks[row] = only.pick;
                if let Some(pick) = only.pick {
                    room[pick.kind] -= pick.amount;
                }
            } else {
                branches.push(Branch { row, choices });
            }
        }
        let most = |branch: &Branch| {
            let picks = branch.choices.iter().filter_map(|choice| choice.pick);
            picks.map(|pick| pick.amount).max().unwrap_or(0)
        };
        branches.sort_by_key(|branch| (-most(branch), branch.row));
        branches
    }

    /// For each branch, what it and all after it use.
    fn coming(&self, branches: &[Branch]) -> Vec<Coming> {
        let kinds = self.prices.len();
        let mut coming =
            vec![Coming { least: vec![0; kinds], most: vec![0; kinds], usual: vec![0; kinds] }];
        for branch in branches.iter().rev() {
            let mut next = coming.last().expect("never empty").clone();
            for kind in 0..kinds {
                let amount = |choice: &Choice| {
                    choice.pick.map_or(0, |pick| if pick.kind == kind { pick.amount } else { 0 })
                };
                let amounts = || branch.choices.iter().map(amount);
                next.least[kind] += amounts().min().unwrap_or(0);
                next.most[kind] += amounts().max().unwrap_or(0);
                let best = branch.choices.iter().min_by_key(|choice| choice.loss);
                next.usual[kind] += best.map_or(0, amount);
            }
            coming.push(next);
        }
        coming.reverse();
        coming
    }

    /// All ways that one more row makes out of those so far, within capacities and budget.
    fn grow(&self, layer: &[Way], branch: &Branch, space: &Space, coming: &Coming) -> Vec<Way> {
        let mut next = Vec::with_capacity(layer.len() * 2);
        for (before, way) in layer.iter().enumerate() {
            for (index, choice) in branch.choices.iter().enumerate() {
                let loss = way.loss + choice.loss;
                if loss > self.budget {
                    continue;
                }
                let mut used = way.used;
                if let Some(pick) = choice.pick {
                    if space.used(way, pick.kind) + pick.amount > space.room[pick.kind] {
                        continue;
                    }
                    used += (pick.amount as u128) << space.shifts[pick.kind];
                }
                let grown = Way { used, loss, before: before as u32, choice: index as u32 };
                let fits = space.fits(&grown, coming);
                if fits && loss + space.unused(&grown, coming) <= self.budget {
                    next.push(grown);
                }
            }
        }
        next
    }
}

/// How to read what ways have used.
struct Space<'a> {
    room: &'a [i64],
    shifts: &'a [u32],
    bits: &'a [u32],
    prices: &'a [i64],
}

impl Space<'_> {
    fn used(&self, way: &Way, kind: usize) -> i64 {
        let mask = (1u128 << self.bits[kind]) - 1;
        if self.bits[kind] == 0 { 0 } else { ((way.used >> self.shifts[kind]) & mask) as i64 }
    }

    fn left(&self, way: &Way, kind: usize) -> i64 {
        self.room[kind] - self.used(way, kind)
    }

    fn fits(&self, way: &Way, coming: &Coming) -> bool {
        (0..self.room.len()).all(|kind| coming.least[kind] <= self.left(way, kind))
    }

    /// What is lost at least because room stays empty.
    fn unused(&self, way: &Way, coming: &Coming) -> i64 {
        let empty = |kind: usize| (self.left(way, kind) - coming.most[kind]).max(0);
        (0..self.room.len()).map(|kind| empty(kind) * self.prices[kind]).sum()
    }

    /// What will probably be lost.
    fn hope(&self, way: &Way, coming: &Coming) -> i64 {
        let off = |kind: usize| (self.left(way, kind) - coming.usual[kind]).abs();
        way.loss + (0..self.room.len()).map(|kind| off(kind) * self.prices[kind]).sum::<i64>()
    }
}
