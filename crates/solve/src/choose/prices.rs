//! Prices at which the rows, each for itself, come near to what fits: the best bound from below.
//! They are found by generating columns (Dantzig and Wolfe 1960): a small programme mixes ways to
//! choose that were seen, its prices suggest the next way, halfway from the best prices so far.

use super::core::{Core, priced};

/// Ways seen, at most; the instances tried took thirty.
const WAYS_MAX: usize = 200;
/// Exchanges in the small programme after each new way, at most.
const PIVOTS_MAX: usize = 100;
/// It ends when what can still be gained is this part of the bound.
const GAIN_MIN: f64 = 1e-7;
/// Less than this is nothing.
const NOTHING: f64 = 1e-9;

/// A way to choose: what it costs, and uses of each capacity.
struct Way {
    cost: f64,
    used: Vec<f64>,
}

/// The prices with the best bound that was found, and the work that took.
pub(super) fn best(core: &Core) -> (Vec<i64>, u64) {
    let kinds = core.capacities.len();
    let mut prices = vec![0; kinds];
    let (mut bound, mut work) = (i64::MIN, 0);
    let mut mixture = Mixture::new(core);
    let mut at = prices.clone();
    for _ in 0..WAYS_MAX {
        work += core.offer_count();
        let (way, value) = seen_at(core, &at);
        if value > bound {
            (bound, prices) = (value, at);
        }
        mixture.add(way);
        let (suggested, value) = mixture.solve();
        if value - bound as f64 <= GAIN_MIN * (bound as f64).abs() {
            break;
        }
        let halfway = |(best, next): (&i64, &f64)| ((*best as f64 + next) / 2.0).round() as i64;
        let next: Vec<i64> = prices.iter().zip(&suggested).map(halfway).collect();
        let whole = || suggested.iter().map(|price| price.round() as i64).collect();
        at = if next == prices { whole() } else { next };
        if at == prices {
            break;
        }
    }
    (prices, work)
}

/// What the rows take at these prices, and the bound that follows.
fn seen_at(core: &Core, prices: &[i64]) -> (Way, i64) {
    let (mut cost, mut value, mut used) = (0, 0, vec![0; prices.len()]);
    for row in core.rows() {
        let cheapest = row.iter().min_by_key(|offer| priced(offer, prices));
        let Some(offer) = cheapest.filter(|offer| priced(offer, prices) < 0) else { continue };
        cost += offer.cost;
        value += priced(offer, prices);
        used[offer.kind] += offer.amount;
    }
    let paid: i64 = core.capacities.iter().zip(prices).map(|(c, price)| c * price).sum();
    let used = used.iter().map(|amount| *amount as f64).collect();
    (Way { cost: cost as f64, used }, value - paid)
}

/// The cheapest mixture of ways that fits, by the revised simplex method: one row for each
/// capacity, and one that says that parts sum to one.
struct Mixture {
    ways: Vec<Way>,
    /// For each row what is in the basis: a way, or none, which stands for what is left over.
    basis: Vec<Option<usize>>,
    /// How much of it.
    parts: Vec<f64>,
    inverse: Vec<Vec<f64>>,
}

impl Mixture {
    fn new(core: &Core) -> Mixture {
        let kinds = core.capacities.len();
        let nothing = Way { cost: 0.0, used: vec![0.0; kinds] };
        let unit = |row: usize| (0..=kinds).map(|at| f64::from(u8::from(at == row))).collect();
        let mut basis = vec![None; kinds];
        basis.push(Some(0));
        let mut parts: Vec<f64> = core.capacities.iter().map(|c| *c as f64).collect();
        parts.push(1.0);
        Mixture { ways: vec![nothing], basis, parts, inverse: (0..=kinds).map(unit).collect() }
    }

    fn add(&mut self, way: Way) {
        self.ways.push(way);
    }

    /// The prices of the best mixture, and what it costs.
    fn solve(&mut self) -> (Vec<f64>, f64) {
        let kinds = self.basis.len() - 1;
        let mut duals = self.duals();
        for _ in 0..PIVOTS_MAX {
            let size = |value: f64| NOTHING * (1.0 + value.abs());
            let worth = |way: &Way| {
                let paid: f64 = way.used.iter().zip(&duals).map(|(used, dual)| used * dual).sum();
                way.cost - paid - duals[kinds]
            };
            let ways = (0..self.ways.len()).map(|way| (worth(&self.ways[way]), Some(way), 0));
            let rests = (0..kinds).map(|kind| (-duals[kind], None, kind));
            let entering = ways.chain(rests).min_by(|a, b| a.0.total_cmp(&b.0));
            let Some((worth, way, kind)) = entering else { break };
            if worth >= -size(duals[kinds]) {
                break;
            }
            let column = self.column(way, kind);
            if !self.pivot(way, &column) {
                break;
            }
            duals = self.duals();
        }
        let cost = |(row, part): (usize, &f64)| self.basis_cost(row) * part;
        let value = self.parts.iter().enumerate().map(cost).sum();
        (duals[..kinds].iter().map(|dual| (-dual).max(0.0)).collect(), value)
    }

    fn basis_cost(&self, row: usize) -> f64 {
        self.basis[row].map_or(0.0, |way| self.ways[way].cost)
    }

    fn duals(&self) -> Vec<f64> {
        let size = self.basis.len();
        let part = |row: usize, at: usize| self.basis_cost(row) * self.inverse[row][at];
        (0..size).map(|at| (0..size).map(|row| part(row, at)).sum()).collect()
    }

    fn column(&self, way: Option<usize>, kind: usize) -> Vec<f64> {
        let size = self.basis.len();
        let entry = |at: usize| match way {
            Some(way) => self.ways[way].used.get(at).copied().unwrap_or(1.0),
            None => f64::from(u8::from(at == kind)),
        };
        let product = |row: &Vec<f64>| (0..size).map(|at| row[at] * entry(at)).sum();
        self.inverse.iter().map(product).collect()
    }

    /// Let something enter the basis; false if nothing can leave it.
    fn pivot(&mut self, way: Option<usize>, column: &[f64]) -> bool {
        let ratio = |row: usize| self.parts[row].max(0.0) / column[row];
        let leaving = (0..column.len())
            .filter(|row| column[*row] > NOTHING)
            .min_by(|a, b| ratio(*a).total_cmp(&ratio(*b)));
        let Some(leaving) = leaving else { return false };
        let by = column[leaving];
        self.parts[leaving] /= by;
        let pivot_row: Vec<f64> = self.inverse[leaving].iter().map(|value| value / by).collect();
        self.inverse[leaving].clone_from(&pivot_row);
        let part = self.parts[leaving];
        for row in (0..column.len()).filter(|row| *row != leaving) {
            self.parts[row] -= column[row] * part;
            for (value, pivot) in self.inverse[row].iter_mut().zip(&pivot_row) {
                *value -= column[row] * pivot;
            }
        }
        self.basis[leaving] = way;
        true
    }
}
