//! What is left to choose once everything plain is taken away: offers that are forced, that nobody
//! would take, or that another of the same row beats. Costs are whole numbers from here on.

use super::Choosing;
use std::collections::BTreeMap;

/// Costs are counted in billionths …
const COST_UNIT: f64 = 1e-9;
/// … each cut further, so that prices for one of many are fine enough.
pub(super) const FINE: i64 = 1024;
/// The largest sum of costs, in billionths, that is counted that finely.
const SUM_MAX: f64 = 1e15;

/// An offer that may be worth taking.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    pub kind: usize,
    pub amount: i64,
    /// What it costs more than taking none: less than nothing.
    pub cost: i64,
    /// Its index among the offers of its row.
    pub index: usize,
}

/// What is left to choose. Picks are positions in `offers`.
#[derive(Debug)]
pub(super) struct Core {
    pub capacities: Vec<i64>,
    offers: Vec<Kept>,
    /// Where the offers of each row end.
    ends: Vec<usize>,
    /// Which of the original rows each is.
    rows: Vec<usize>,
    /// What it costs if no row here takes anything.
    pub given: f64,
    unit: f64,
}

/// What each row of a core takes.
pub(super) type Picks = Vec<Option<Kept>>;

impl Core {
    pub(super) fn of(choosing: &Choosing) -> Core {
        let mut capacities: Vec<i64> = choosing.capacities.iter().map(|c| i64::from(*c)).collect();
        let mut given = 0.0;
        for row in &choosing.rows {
            if let Some(offer) = row.forced.and_then(|forced| row.offers.get(forced)) {
                capacities[offer.kind] = (capacities[offer.kind] - i64::from(offer.amount)).max(0);
                given += offer.cost;
            } else {
                given += row.without;
            }
        }
        let free = || choosing.rows.iter().enumerate().filter(|(_, row)| row.forced.is_none());
        let save = |row: &super::Chooser| {
            let saved = row.offers.iter().map(|offer| row.without - offer.cost);
            saved.filter(|saved| saved.is_finite()).fold(0.0, f64::max)
        };
        let sum: f64 = free().map(|(_, row)| save(row)).sum();
        let unit = COST_UNIT * (sum / COST_UNIT / SUM_MAX).max(1.0);
        let mut core = Core {
            capacities,
            offers: Vec::new(),
            ends: Vec::new(),
            rows: Vec::new(),
            given,
            unit,
        };
        let mut own: Vec<Kept> = Vec::new();
        for (number, row) in free() {
            own.clear();
            for (index, offer) in row.offers.iter().enumerate() {
                let (amount, more) = (i64::from(offer.amount), (offer.cost - row.without) / unit);
                let cost = if more.is_nan() { 0 } else { more.round() as i64 * FINE };
                if cost < 0 && amount <= core.capacities[offer.kind] {
                    own.push(Kept { kind: offer.kind, amount, cost, index });
                }
            }
            let beats = |a: &Kept, b: &Kept| {
                let no_worse = a.kind == b.kind && a.amount <= b.amount && a.cost <= b.cost;
                no_worse && (a.amount < b.amount || a.cost < b.cost || a.index < b.index)
            };
            let kept = own.iter().filter(|offer| !own.iter().any(|other| beats(other, offer)));
            core.offers.extend(kept);
            if core.offers.len() > core.ends.last().copied().unwrap_or(0) {
                core.ends.push(core.offers.len());
                core.rows.push(number);
            }
        }
        core
    }

    /// The offers of each row.
    pub(super) fn rows(&self) -> impl Iterator<Item = &[Kept]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, end)| &self.offers[begin..*end])
    }

    pub(super) fn row_count(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn offer_count(&self) -> u64 {
        self.offers.len() as u64
    }

    /// The largest number that all costs are multiples of.
    pub(super) fn grain(&self) -> i64 {
        let common = |mut a: i64, mut b: i64| {
            while b != 0 {
                (a, b) = (b, a % b);
            }
            a
        };
        self.offers.iter().fold(0, |grain, offer| common(grain, -offer.cost)).max(1)
    }

    /// What costs at least are, at some prices.
    pub(super) fn value(&self, prices: &[i64]) -> i64 {
        let paid: i64 = self.capacities.iter().zip(prices).map(|(c, price)| c * price).sum();
        self.rows().map(|row| least(row, prices)).sum::<i64>() - paid
    }

    pub(super) fn cost_of(&self, picks: &Picks) -> i64 {
        picks.iter().flatten().map(|pick| pick.cost).sum()
    }

    pub(super) fn in_cost(&self, cost: i64) -> f64 {
        cost as f64 / FINE as f64 * self.unit
    }

    /// What is left of each capacity.
    pub(super) fn left(&self, picks: &Picks) -> Vec<i64> {
        let mut left = self.capacities.clone();
        for pick in picks.iter().flatten() {
            left[pick.kind] -= pick.amount;
        }
        left
    }

    /// Among ways that cost the same, take one that can be foretold: rows move to an earlier offer
    /// where there is room, and of rows that are alike, earlier ones take earlier offers.
    pub(super) fn tidy(&self, choosing: &Choosing, picks: &mut Picks) {
        let mut left = self.left(picks);
        for (row, pick) in self.rows().zip(picks.iter_mut()) {
            let Some(own) = *pick else { continue };
            left[own.kind] += own.amount;
            let fits = |offer: &&Kept| offer.cost == own.cost && offer.amount <= left[offer.kind];
            let taken = *row.iter().find(fits).unwrap_or(&own);
            left[taken.kind] -= taken.amount;
            *pick = Some(taken);
        }
        let mut alike: BTreeMap<Vec<(usize, u32, i64)>, Vec<usize>> = BTreeMap::new();
        for (position, number) in self.rows.iter().enumerate() {
            let row = &choosing.rows[*number];
            let rounded = |cost: f64| ((cost - row.without) / self.unit).round() as i64;
            let offers = row.offers.iter();
            let key = offers.map(|offer| (offer.kind, offer.amount, rounded(offer.cost)));
            alike.entry(key.collect()).or_default().push(position);
        }
        for positions in alike.values().filter(|positions| positions.len() > 1) {
            let mut own: Vec<Option<Kept>> = positions.iter().map(|at| picks[*at]).collect();
            own.sort_by_key(|pick| pick.map_or(usize::MAX, |pick| pick.index));
            for (at, pick) in positions.iter().zip(own) {
                picks[*at] = pick;
            }
        }
    }

    /// What each of the original rows takes.
    pub(super) fn picks(&self, choosing: &Choosing, picks: &Picks) -> Vec<Option<usize>> {
        let mut all: Vec<Option<usize>> = choosing.rows.iter().map(|row| row.forced).collect();
        for (number, pick) in self.rows.iter().zip(picks) {
            all[*number] = pick.map(|pick| pick.index);
        }
        all
    }
}

/// What an offer costs at some prices.
pub(super) fn priced(offer: &Kept, prices: &[i64]) -> i64 {
    offer.cost + offer.amount * prices[offer.kind]
}

/// What a row costs at least, at some prices.
pub(super) fn least(row: &[Kept], prices: &[i64]) -> i64 {
    row.iter().map(|offer| priced(offer, prices)).fold(0, i64::min)
}
