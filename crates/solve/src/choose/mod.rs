//! Choosing: each row takes one of its offers or none, each offer uses up some of one of a few
//! capacities, and the sum of costs shall be smallest: a knapsack with several sacks and multiple
//! choices, such as Sia's (Subramanya et al., SOSP 2023) in every round.

mod core;
mod greedy;
mod prices;
mod search;

use self::core::{Core, Picks};
use search::Search;

/// What a row may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offer {
    /// The capacity that it uses, an index.
    pub kind: usize,
    /// How much of it.
    pub amount: u32,
    /// What it costs. Costs are compared in billionths; one that is not a number is no offer.
    pub cost: f64,
}

/// Who takes one of several offers, or none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chooser {
    /// What there is to choose from.
    pub offers: Vec<Offer>,
    /// What it costs to take none.
    pub without: f64,
    /// The offer that it has to take, if any. It is taken even where capacity does not suffice;
    /// then the others have none of that.
    pub forced: Option<usize>,
}

/// Who chooses, and what there is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choosing {
    /// How much there is of each capacity.
    pub capacities: Vec<u32>,
    /// Who takes from them.
    pub rows: Vec<Chooser>,
}

/// Who takes what.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// The offer that each row takes.
    pub picks: Vec<Option<usize>>,
    /// What all that costs.
    pub cost: f64,
    /// No way to choose costs less than this.
    pub bound: f64,
    /// Whether nothing cheaper exists, counting in billionths.
    pub is_optimal: bool,
    /// Work done, in offers looked at.
    pub work: u64,
}

/// Enough to prove nearly all that was tried with up to three capacities; about a quarter of a
/// second of what is harder.
pub const WORK_MAX: u64 = 5_000_000;

/// Ways that go on after each row in a first, narrow search; then in a wider one.
const WIDTHS: [usize; 2] = [64, 1024];
/// The first budget is this part of what is between the bound and the best way known.
const FIRST_PART: i64 = 64;

impl Chosen {
    /// How far the cost may be from the smallest, as a part of it.
    pub fn gap(&self) -> f64 {
        (self.cost - self.bound).max(0.0) / self.cost.abs().max(1e-9)
    }
}

impl Choosing {
    /// The cheapest way to choose that is found by looking at so many offers, or a few more. The
    /// same input has the same answer. Among equals, none is preferred to an offer, a row's earlier
    /// offer to a later one, and of rows that are alike the earlier one takes the earlier offer.
    ///
    /// Prices for the capacities make the rows independent of each other, and bound the cost from
    /// below. Only choices whose loss at these prices fits between that bound and the best way
    /// known can be part of a better way: those are searched, from the tightest bound upwards.
    pub fn cheapest(&self, work_max: u64) -> Chosen {
        let core = Core::of(self);
        let (prices, work) = prices::best(&core);
        let mut hunt = Hunt::new(&core, &prices, work, work_max);
        hunt.look_around();
        hunt.prove();
        let Hunt { mut best, best_cost, least, work, .. } = hunt;
        core.tidy(self, &mut best);
        Chosen {
            cost: core.given + core.in_cost(best_cost),
            bound: core.given + core.in_cost(least.min(best_cost)),
            is_optimal: best_cost <= least,
            picks: core.picks(self, &best),
            work,
        }
    }
}

/// Where the least cost is hunted down: between what is known to be possible and impossible.
struct Hunt<'a> {
    core: &'a Core,
    prices: &'a [i64],
    /// The bound that follows from prices alone.
    floor: i64,
    /// All costs are multiples of this, and so is the least that is possible.
    grain: i64,
    /// Nothing costs less than this.
    least: i64,
    best: Picks,
    best_cost: i64,
    work: u64,
    work_max: u64,
}

impl<'a> Hunt<'a> {
    fn new(core: &'a Core, prices: &'a [i64], mut work: u64, work_max: u64) -> Hunt<'a> {
        let (floor, grain) = (core.value(prices), core.grain());
        let best = greedy::fill(core, prices, &mut work);
        let (best_cost, least) = (core.cost_of(&best), up_to_grain(floor, grain));
        Hunt { core, prices, floor, grain, least, best, best_cost, work, work_max }
    }

    /// The smallest budget worth trying, and the largest.
    fn budgets(&self) -> (i64, i64) {
        let gap = self.best_cost - self.floor;
        ((self.least - self.floor).max(gap / FIRST_PART), gap - self.grain)
    }

    /// Search within a budget; whether nothing in it was left out.
    fn search(&mut self, budget: i64, width: usize) -> bool {
        let search = Search { core: self.core, prices: self.prices, budget, width };
        let found = search.run(self.work_max, &mut self.work);
        let cost = found.picks.as_ref().map_or(0, |picks| self.core.cost_of(picks));
        if let Some(picks) = found.picks.filter(|_| cost < self.best_cost) {
            (self.best, self.best_cost) = (picks, cost);
        }
        if found.is_whole {
            let next = up_to_grain(self.floor + budget + 1, self.grain);
            self.least = self.least.max(next).min(self.best_cost);
        }
        found.is_whole
    }

    fn is_done(&self) -> bool {
        self.best_cost <= self.least || self.work >= self.work_max
    }

    /// Come near to the least cost by narrow searches.
    fn look_around(&mut self) {
        // Often the bound itself can be reached, and little has to be looked at for that.
        for width in WIDTHS {
            if !self.is_done() {
                self.search(self.budgets().0, width);
            }
        }
        for width in WIDTHS {
            let mut budget = 2 * self.budgets().0;
            while !self.is_done() && budget <= self.budgets().1 {
                let before = self.best_cost;
                self.search(budget, width);
                if self.best_cost < before {
                    break;
                }
                budget = (2 * budget).max(budget + self.grain);
            }
        }
    }

    /// Raise what is impossible up to what is possible by searches that leave nothing out.
    fn prove(&mut self) {
        let (mut budget, _) = self.budgets();
        while !self.is_done() && self.search(budget.min(self.budgets().1), usize::MAX) {
            budget = (2 * budget).max(self.least - self.floor);
        }
    }
}

/// The next multiple of a grain that is not below.
fn up_to_grain(value: i64, grain: i64) -> i64 {
    value.div_euclid(grain) * grain + if value.rem_euclid(grain) > 0 { grain } else { 0 }
}

#[cfg(test)]
mod tests;
