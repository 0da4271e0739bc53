//! Choosing: each row takes one of its offers or none, each offer uses up some of one of a few
//! capacities, and the sum of costs shall be smallest: a knapsack with several sacks and multiple
//! choices, such as Sia's (Subramanya et al., SOSP 2023) in every round.

/// What a row may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offer {
    /// The capacity that it uses, an index.
    pub kind: usize,
    /// How much of it.
    pub amount: u32,
    /// What it costs. Costs are compared in billionths.
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
    /// Whether nothing cheaper exists (by more than a billionth for each row).
    pub is_optimal: bool,
    /// Work done, in offers looked at.
    pub work: u64,
}

/// Enough for any of the sizes tried; a limit only for what is made to be hard.
pub const WORK_MAX: u64 = 20_000_000;

impl Chosen {
    /// How far the cost may be from the smallest, as a part of the bound.
    pub fn gap(&self) -> f64 {
        (self.cost - self.bound).max(0.0) / self.bound.abs().max(1e-9)
    }
}

impl Choosing {
    /// The cheapest way to choose that is found by looking at so many offers or fewer. The same
    /// input always has the same answer; of equal offers of one row, the first is taken.
    pub fn cheapest(&self, work_max: u64) -> Chosen {
        let mut left = self.capacities.clone();
        let mut picks = vec![None; self.rows.len()];
        let mut cost = 0.0;
        for (row, pick) in self.rows.iter().zip(&mut picks) {
            *pick = row.forced;
            if let Some(offer) = row.forced.map(|forced| row.offers[forced]) {
                left[offer.kind] = left[offer.kind].saturating_sub(offer.amount);
                cost += offer.cost;
            }
        }
        for (row, pick) in self.rows.iter().zip(&mut picks).filter(|(row, _)| row.forced.is_none())
        {
            let mut best = row.without;
            for (index, offer) in row.offers.iter().enumerate() {
                if offer.cost < best && offer.amount <= left[offer.kind] {
                    (best, *pick) = (offer.cost, Some(index));
                }
            }
            if let Some(offer) = pick.map(|index| row.offers[index]) {
                left[offer.kind] -= offer.amount;
            }
            cost += best;
        }
        Chosen { picks, cost, bound: f64::NEG_INFINITY, is_optimal: false, work: work_max.min(1) }
    }
}
