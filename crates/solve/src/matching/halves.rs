//! The heaviest matching, begun from halves: where a member may be with two others by half each, it
//! is an assignment of members to members, which is found in a fraction of the time. Its even rings
//! are twos and its odd ones twos and one more, so that only a few are left to grow trees from; its
//! prices are where the search begins. What is found weighs as much as what is found from nothing,
//! though of several that are equally heavy it may be another.

use super::{Matching, NONE, Search};
use std::collections::VecDeque;

/// The heaviest weight is so much in whole numbers, so that all sums are exact.
const WHOLE: f64 = (1u64 << 38) as f64;
/// Changes of prices for each member after which a matching is taken as it is.
const CHANGES_EACH: usize = 1000;
/// So many auctions come before the ways, each with a smaller step than the one before: the nearer
/// prices are, the shorter are the ways.
const AUCTIONS: usize = 6;
const STEP_FIRST: f64 = WHOLE / 16.0;
const STEP_FALLS: f64 = 5.0;
/// Bids of each in an auction, after which it ends as it is.
const BIDS_EACH: usize = 20;
/// Columns that are looked at together.
const LANES: usize = 8;

/// Match members so that the weights together are largest, as [`super::heaviest_matching`] does.
/// Weights are told apart to some eleven digits of the largest.
pub fn heaviest_from_halves(weights: &[Vec<f64>]) -> Matching {
    let size = weights.len();
    let largest = weights.iter().flatten().copied().fold(0.0, f64::max);
    if largest <= 0.0 {
        return Matching { with: vec![None; size], weight: 0.0, optimal: true };
    }
    // Whoever is left over is with somebody for nothing: with one more member where they are odd.
    // One more for each two changes nothing. Nobody is with itself at a price that any two undo.
    let even = size + size % 2;
    let mut whole = vec![vec![1.0; even]; even];
    for one in 0..even {
        whole[one][one] = -4.0 * WHOLE;
        for other in one + 1..size {
            let weight = 1.0 + (weights[one][other].max(0.0) / largest * WHOLE).round();
            (whole[one][other], whole[other][one]) = (weight, weight);
        }
    }
    let halves = Halves::of(&whole);
    let mut search = Search::new(&whole, 0.0, CHANGES_EACH * even);
    search.all = true;
    for (one, other) in halves.twos() {
        (search.with[one + 1], search.with[other + 1]) = (other + 1, one + 1);
    }
    search.price[1..=even].copy_from_slice(&halves.prices());
    while search.grow() {}
    let heavy = |one: usize, other: usize| other < size && weights[one][other] > 0.0;
    let with = (0..size).map(|one| search.with[one + 1].checked_sub(1).filter(|o| heavy(one, *o)));
    let with: Vec<Option<usize>> = with.collect();
    let twos = with.iter().enumerate().filter_map(|(one, other)| Some((one, (*other)?)));
    let weight = twos.filter(|(one, other)| one < other).map(|(a, b)| weights[a][b]).sum();
    let optimal = search.with[1..=even].iter().all(|other| *other != NONE);
    Matching { with, weight, optimal }
}

/// An assignment of members to others with the largest sum of weights (Jonker and Volgenant,
/// Computing 38, 1987). A row's price and a column's are together no less than their weight, and as
/// much where the row has the column.
struct Halves<'a> {
    weights: &'a [Vec<f64>],
    row_price: Vec<f64>,
    column_price: Vec<f64>,
    column_of: Vec<usize>,
    row_of: Vec<usize>,
}

/// No row, or no column.
const FREE: usize = usize::MAX;

impl<'a> Halves<'a> {
    fn of(weights: &'a [Vec<f64>]) -> Halves<'a> {
        let size = weights.len();
        let (row_price, column_price) = (vec![0.0; size], vec![0.0; size]);
        let (column_of, row_of) = (vec![FREE; size], vec![FREE; size]);
        let mut halves = Halves { weights, row_price, column_price, column_of, row_of };
        let mut step = STEP_FIRST;
        for _ in 0..AUCTIONS {
            halves.auction(step);
            step = (step / STEP_FALLS).round();
        }
        halves.settle();
        let mut way = Way::new(size);
        for row in 0..size {
            if halves.column_of[row] == FREE {
                halves.augment(row, &mut way);
            }
        }
        halves
    }

    /// Sell columns to rows anew, from the prices there are: who has nothing bids for its best
    /// column what leaves it as well off as its second best, and a step more. Nobody is worse off
    /// by more than a step.
    fn auction(&mut self, step: f64) {
        self.give_back();
        let mut without: VecDeque<usize> = (0..self.weights.len()).collect();
        for _ in 0..BIDS_EACH * self.weights.len() {
            let Some(row) = without.pop_front() else { break };
            let (column, best, second) = self.best_two(row);
            self.column_price[column] += best - second + step;
            self.column_of[row] = column;
            let before = std::mem::replace(&mut self.row_of[column], row);
            if before != FREE {
                self.column_of[before] = FREE;
                without.push_back(before);
            }
        }
    }

    /// Rows are worth what they gain by their best column at the prices there are, and have it if
    /// it is free.
    fn settle(&mut self) {
        self.give_back();
        for row in 0..self.weights.len() {
            let (column, best, _) = self.best_two(row);
            self.row_price[row] = best;
            if self.row_of[column] == FREE {
                (self.column_of[row], self.row_of[column]) = (column, row);
            }
        }
    }

    fn give_back(&mut self) {
        self.column_of.fill(FREE);
        self.row_of.fill(FREE);
    }

    /// A row's best column, what it gains by it, and what by the second best.
    fn best_two(&self, row: usize) -> (usize, f64, f64) {
        let gains = || self.weights[row].iter().zip(&self.column_price).map(|(w, price)| w - price);
        let larger = |one: f64, other: f64| if one > other { one } else { other };
        // Several at a time, of which each sees a part.
        let (mut best, mut second) = ([f64::NEG_INFINITY; LANES], [f64::NEG_INFINITY; LANES]);
        let weights = self.weights[row].chunks_exact(LANES);
        let prices = self.column_price.chunks_exact(LANES);
        let rest = weights.remainder().iter().zip(prices.remainder());
        let mut meet = |lane: usize, gain: f64| {
            let lower = if gain > best[lane] { best[lane] } else { gain };
            second[lane] = larger(second[lane], lower);
            best[lane] = larger(best[lane], gain);
        };
        for (weights, prices) in weights.zip(prices) {
            (0..LANES).for_each(|lane| meet(lane, weights[lane] - prices[lane]));
        }
        rest.for_each(|(weight, price)| meet(0, weight - price));
        let (mut most, mut next) = (best[0], second[0]);
        for lane in 1..LANES {
            let lower = if best[lane] > most { most } else { best[lane] };
            next = larger(next, larger(second[lane], lower));
            most = larger(most, best[lane]);
        }
        let column = gains().position(|gain| gain == most).expect("it was among them");
        (column, most, next)
    }

    /// The shortest way from a row that has nothing to a free column, over pairs that are taken:
    /// along it everybody moves on by one.
    fn augment(&mut self, start: usize, way: &mut Way) {
        way.begin();
        let (mut row, mut so_far) = (start, 0.0);
        let end = loop {
            let base = so_far + self.row_price[row];
            let nearest = way.look(row, base, &self.weights[row], &self.column_price);
            let at_nearest = |column: &usize| way.near[*column] + way.behind[*column] == nearest;
            let mut as_near = (0..self.row_of.len()).filter(at_nearest);
            let first = as_near.next().expect("there are as many columns as rows");
            so_far = nearest;
            if let Some(free) =
                std::iter::once(first).chain(as_near).find(|column| self.row_of[*column] == FREE)
            {
                break free;
            }
            way.behind[first] = f64::INFINITY;
            way.reached.push(first);
            row = self.row_of[first];
        };
        self.row_price[start] -= so_far;
        for column in &way.reached {
            let gain = so_far - way.near[*column];
            self.column_price[*column] += gain;
            self.row_price[self.row_of[*column]] -= gain;
        }
        let mut column = end;
        loop {
            let row = way.from[column] as usize;
            self.row_of[column] = row;
            let before = std::mem::replace(&mut self.column_of[row], column);
            if row == start {
                return;
            }
            column = before;
        }
    }

    /// Rings of the assignment as twos; one of each odd ring is left over.
    fn twos(&self) -> Vec<(usize, usize)> {
        let (mut twos, mut seen) = (Vec::new(), vec![false; self.column_of.len()]);
        for start in 0..seen.len() {
            let (mut ring, mut at) = (Vec::new(), start);
            while !std::mem::replace(&mut seen[at], true) {
                ring.push(at);
                at = self.column_of[at];
            }
            twos.extend(ring.chunks_exact(2).map(|two| (two[0], two[1])));
        }
        twos
    }

    /// Of each member, twice: as a row and as a column. Two that one has from the other are worth
    /// as much as their prices, for the other way round would be as good.
    fn prices(&self) -> Vec<f64> {
        self.row_price.iter().zip(&self.column_price).map(|(row, column)| row + column).collect()
    }
}

/// On the way to a free column.
struct Way {
    /// How near each column is, and from which row.
    near: Vec<f64>,
    from: Vec<u64>,
    /// Nothing, and for ever for those that were reached.
    behind: Vec<f64>,
    reached: Vec<usize>,
}

impl Way {
    fn new(size: usize) -> Way {
        let (near, from, behind) = (vec![0.0; size], vec![0; size], vec![0.0; size]);
        Way { near, from, behind, reached: Vec::new() }
    }

    fn begin(&mut self) {
        self.near.fill(f64::INFINITY);
        self.behind.fill(0.0);
        self.reached.clear();
    }

    /// Look at the columns from a row; says how near the nearest is that was not reached. Those
    /// that were do not come nearer.
    fn look(&mut self, row: usize, base: f64, weights: &[f64], prices: &[f64]) -> f64 {
        let mut nearest = f64::INFINITY;
        let columns = weights.iter().zip(prices).zip(&self.behind);
        let own = self.near.iter_mut().zip(&mut self.from);
        for (((weight, price), behind), (near, from)) in columns.zip(own) {
            let there = base + price - weight;
            let nearer = there < *near;
            *near = if nearer { there } else { *near };
            *from = if nearer { row as u64 } else { *from };
            let ahead = *near + behind;
            nearest = if ahead < nearest { ahead } else { nearest };
        }
        nearest
    }
}
