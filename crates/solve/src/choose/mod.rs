//! Choosing: each row takes one of its offers or none, each offer uses up some of one of a few
//! capacities, and the sum of costs shall be smallest: a knapsack with several sacks and multiple
//! choices, such as Sia's (Subramanya et al., SOSP 2023) in every round.

mod core;
mod greedy;
mod prices;
mod search;

use self::core::Core;
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

/// Enough for all sizes tried; a limit only for what is made to be hard.
pub const WORK_MAX: u64 = 20_000_000;

/// Ways that are kept after each row in a first, narrow search; then in a wider one.
const WIDTHS: [usize; 3] = [64, 1024, usize::MAX];

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
    /// below. Only choices whose loss at these prices fits between that bound and the best way known
    /// can be part of a better way: those are searched, from the tightest bound upwards.
    pub fn cheapest(&self, work_max: u64) -> Chosen {
        let core = Core::of(self);
        let (prices, mut work) = prices::best(&core);
        let floor = core.value(&prices);
        let grain = core.grain();
        let mut best = greedy::fill(&core, &prices, &mut work);
        let mut best_cost = core.cost_of(&best);
        // Costs are multiples of a grain, and so is the least that is possible.
        let mut least = up_to_grain(floor, grain);
        let mut budget = least - floor;
        while least < best_cost {
            let mut is_whole = false;
            for width in WIDTHS {
                let search = Search { core: &core, prices: &prices, budget, width };
                let found = search.run(work_max, &mut work);
                is_whole = found.is_whole;
                let cost = found.picks.as_ref().map_or(0, |picks| core.cost_of(picks));
                if let Some(picks) = found.picks.filter(|_| cost < best_cost) {
                    (best, best_cost) = (picks, cost);
                }
                if is_whole || best_cost <= least {
                    break;
                }
            }
            if !is_whole {
                break;
            }
            // Nothing within the budget was left out.
            least = best_cost.min(up_to_grain(floor + budget + 1, grain));
            budget = (2 * budget).max(least - floor).min(best_cost - grain - floor);
        }
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

/// The next multiple of a grain that is not below.
fn up_to_grain(value: i64, grain: i64) -> i64 {
    value.div_euclid(grain) * grain + if value.rem_euclid(grain) > 0 { grain } else { 0 }
}

#[cfg(test)]
mod tests;
