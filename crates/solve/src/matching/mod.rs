//! Who should be with whom: a set of twos, nobody in more than one of them, of which the weights
//! together are as large as can be (Edmonds' blossoms with prices, in the dense form that takes
//! time in the cube of the members). Weights are parts of one, so they are numbers with a point;
//! all sums are made in one order, so that the same weights always give the same twos. Members are
//! looked at in their order, and of several answers that are equally good the first found stands.

mod alike;
mod halves;
mod rings;
#[cfg(test)]
mod tests;

pub use alike::{Twos, heaviest_twos};
pub use halves::heaviest_from_halves;
use std::collections::VecDeque;

/// Stands for "nobody". Members and blossoms are counted from one.
const NONE: usize = 0;
/// A price that is within this part of what it falls by has fallen to nothing.
const NEAR: f64 = 1e-5;

/// What a member or a blossom is to the trees that grow from the single ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    /// In no tree.
    Out,
    /// At an even distance from the root: it may be joined to others.
    Even,
    /// At an odd distance.
    Odd,
}

/// A member inside one top, and one inside another, that stand for the tops' edge.
#[derive(Clone, Copy, Debug, Default)]
struct Edge {
    from: u32,
    to: u32,
    there: bool,
}

/// A maximum-weight matching, and what is proved of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Matching {
    /// With whom each member is, if with anybody.
    pub with: Vec<Option<usize>>,
    /// The weights of the twos together.
    pub weight: f64,
    /// Whether the search ended by itself, so that no matching weighs more.
    pub optimal: bool,
}

/// Match members so that the weights together are largest. `weights[a][b]` is what two weigh
/// together, and nothing or less where they may not be together; the two ways to ask for the same
/// two should differ by no more than rounding. The search ends after so many changes of prices.
pub fn heaviest_matching(weights: &[Vec<f64>], changes_max: usize) -> Matching {
    let size = weights.len();
    let largest = weights.iter().flatten().copied().fold(0.0, f64::max);
    if largest <= 0.0 {
        return Matching { with: vec![None; size], weight: 0.0, optimal: true };
    }
    let mut search = Search::new(weights, largest, changes_max);
    while search.grow() {}
    // Rounding can leave somebody with one who is with another: then the one is with nobody.
    let mutual = |one: usize| search.with[search.with[one]] == one;
    let with = (1..=size).map(|one| search.with[one].checked_sub(1).filter(|_| mutual(one)));
    let with: Vec<Option<usize>> = with.collect();
    let clean = (1..=size).all(|one| search.with[one] == NONE || mutual(one));
    let twos = with.iter().enumerate().filter_map(|(one, other)| Some((one, (*other)?)));
    let weight = twos.filter(|(one, other)| one < other).map(|(a, b)| weights[a][b]).sum();
    Matching { with, weight, optimal: clean && search.changes_left > 0 }
}

/// The state of the search. A *top* is a member or a blossom that is in no other.
struct Search<'a> {
    weights: &'a [Vec<f64>],
    members: usize,
    /// Members and blossoms in use: numbers up to this.
    used: usize,
    /// Edges of blossoms with everybody, a row for each; those of members speak for themselves.
    edges: Vec<Edge>,
    /// Twice the price of members, and of blossoms.
    price: Vec<f64>,
    /// The member that each is with, as seen from outside.
    with: Vec<usize>,
    /// The top that each is in; nobody for a blossom that is taken apart.
    top: Vec<usize>,
    parent: Vec<usize>,
    sign: Vec<Sign>,
    /// The member in an even top that is nearest to a top.
    nearest: Vec<usize>,
    /// How near it is, and after how many changes of prices that was worked out.
    near: Vec<(f64, usize)>,
    seen: Vec<u64>,
    looks: u64,
    /// The parts of each blossom in a circle, from the one that is not matched inside.
    ring: Vec<Vec<usize>>,
    /// The part of a blossom that each member is in, a row for each.
    part: Vec<usize>,
    queue: VecDeque<usize>,
    changes_left: usize,
    /// Whether nobody may be left over: prices may then be below nothing, and trees grow from one
    /// single member at a time.
    all: bool,
}

/// Numbers for nobody, members and blossoms: every blossom has three parts at least, so there are
/// never more than half as many.
fn width_for(members: usize) -> usize {
    members + members / 2 + 2
}

impl<'a> Search<'a> {
    fn new(weights: &'a [Vec<f64>], largest: f64, changes_max: usize) -> Search<'a> {
        let members = weights.len();
        let width = width_for(members);
        let mut price = vec![0.0; width];
        price[..=members].fill(largest);
        Search {
            weights,
            members,
            used: members,
            edges: Vec::new(),
            price,
            with: vec![NONE; width],
            top: (0..width).map(|at| if at <= members { at } else { NONE }).collect(),
            parent: vec![NONE; width],
            sign: vec![Sign::Out; width],
            nearest: vec![NONE; width],
            near: vec![(0.0, usize::MAX); width],
            seen: vec![0; width],
            looks: 0,
            ring: vec![Vec::new(); width],
            part: Vec::new(),
            queue: VecDeque::new(),
            changes_left: changes_max,
            all: false,
        }
    }

    fn edge(&self, from: usize, to: usize) -> Edge {
        let width = width_for(self.members);
        if from > self.members {
            return self.edges[(from - self.members - 1) * width + to];
        }
        if to > self.members {
            let Edge { from, to, there } = self.edges[(to - self.members - 1) * width + from];
            return Edge { from: to, to: from, there };
        }
        let known = from != NONE && to != NONE && from != to;
        let there = known && self.weights[from - 1][to - 1] > 0.0;
        Edge { from: from as u32, to: to as u32, there }
    }

    /// How far an edge is from being tight. An edge of nobody is as far as any.
    fn gap(&self, edge: Edge) -> f64 {
        let (from, to) = (edge.from as usize, edge.to as usize);
        let weight = match from == NONE || to == NONE {
            true => 0.0,
            false => self.weights[from - 1][to - 1],
        };
        self.price[from] + self.price[to] - weight * 2.0
    }

    /// The part of a top that a member is in; a member is its own.
    fn part_of(&self, top: usize, member: usize) -> usize {
        match top.checked_sub(self.members + 1) {
            Some(blossom) => self.part[blossom * (self.members + 1) + member],
            None if top == member => member,
            None => NONE,
        }
    }

    /// Note a member of an even top, so far away, as nearest to a top, if it is.
    fn offer(&mut self, member: usize, to: usize, gap: f64) {
        if self.nearest[to] == NONE || gap < self.nearest_gap(to) {
            self.nearest[to] = member;
            self.near[to] = (gap, self.changes_left);
        }
    }

    /// How far the nearest to a top is from it. Between two changes of prices that stays the same,
    /// and it is asked for all the time.
    fn nearest_gap(&mut self, to: usize) -> f64 {
        let (gap, at) = self.near[to];
        if at == self.changes_left {
            return gap;
        }
        let gap = self.gap(self.edge(self.nearest[to], to));
        self.near[to] = (gap, self.changes_left);
        gap
    }

    /// Find the member of an even top that is nearest to a top.
    fn find_nearest(&mut self, to: usize) {
        self.nearest[to] = NONE;
        for member in 1..=self.members {
            let outside = self.top[member] != to && self.sign[self.top[member]] == Sign::Even;
            let edge = self.edge(member, to);
            if outside && edge.there {
                self.offer(member, to, self.gap(edge));
            }
        }
    }

    /// Members of something, those of outer rings first, are to be looked at.
    fn enqueue(&mut self, what: usize) {
        let mut waiting = VecDeque::from([what]);
        while let Some(next) = waiting.pop_front() {
            match next <= self.members {
                true => self.queue.push_back(next),
                false => waiting.extend(self.ring[next].iter().copied()),
            }
        }
    }

    /// A tight edge from an even top: says whether one more two was made.
    fn follow(&mut self, edge: Edge) -> bool {
        let (one, other) = (self.top[edge.from as usize], self.top[edge.to as usize]);
        match self.sign[other] {
            Sign::Out if self.with[other] == NONE => {
                self.swap_up(one, other);
                self.swap_up(other, one);
                true
            }
            Sign::Out => {
                let even = self.top[self.with[other]];
                self.parent[other] = edge.from as usize;
                (self.sign[other], self.sign[even]) = (Sign::Odd, Sign::Even);
                (self.nearest[other], self.nearest[even]) = (NONE, NONE);
                self.enqueue(even);
                false
            }
            Sign::Even => {
                let above = self.common(one, other);
                if above == NONE {
                    self.swap_up(one, other);
                    self.swap_up(other, one);
                    return true;
                }
                self.close_ring(one, above, other);
                false
            }
            Sign::Odd => false,
        }
    }

    /// Grow trees from those who are single until there is one more two; says whether there is.
    fn grow(&mut self) -> bool {
        self.sign.fill(Sign::Out);
        self.nearest.fill(NONE);
        self.queue.clear();
        for at in 1..=self.used {
            if self.top[at] == at && self.with[at] == NONE {
                (self.parent[at], self.sign[at]) = (NONE, Sign::Even);
                self.enqueue(at);
                if self.all {
                    break;
                }
            }
        }
        if self.queue.is_empty() {
            return false;
        }
        while self.changes_left > 0 {
            if self.look() {
                return true;
            }
            let step = self.step();
            if !self.change_prices(step) {
                return false;
            }
            self.changes_left -= 1;
            self.queue.clear();
            if self.follow_nearest() {
                return true;
            }
            for blossom in self.members + 1..=self.used {
                let odd = self.top[blossom] == blossom && self.sign[blossom] == Sign::Odd;
                if odd && self.price[blossom] <= 0.0 {
                    self.open_ring(blossom);
                }
            }
        }
        false
    }

    /// Look at the edges of members in the queue; says whether one more two was made.
    fn look(&mut self) -> bool {
        while let Some(one) = self.queue.pop_front() {
            if self.sign[self.top[one]] == Sign::Odd {
                continue;
            }
            let weights = self.weights;
            for (other, weight) in (1..).zip(&weights[one - 1]) {
                let to = self.top[other];
                if *weight <= 0.0 || other == one || to == self.top[one] {
                    continue;
                }
                let gap = self.price[one] + self.price[other] - weight * 2.0;
                if gap <= 0.0 {
                    if self.follow(self.edge(one, other)) {
                        return true;
                    }
                } else {
                    // A blossom may be nearer by another of its members.
                    let gap = if to == other { gap } else { self.gap(self.edge(one, to)) };
                    self.offer(one, to, gap);
                }
            }
        }
        false
    }

    /// By how much prices change until an edge is tight or a blossom's price is nothing.
    fn step(&mut self) -> f64 {
        let mut step = f64::INFINITY;
        for blossom in self.members + 1..=self.used {
            if self.top[blossom] == blossom && self.sign[blossom] == Sign::Odd {
                step = step.min(self.price[blossom] / 2.0);
            }
        }
        for at in 1..=self.used {
            if self.top[at] == at && self.nearest[at] != NONE {
                let gap = self.nearest_gap(at);
                match self.sign[at] {
                    Sign::Out => step = step.min(gap),
                    Sign::Even => step = step.min(gap / 2.0),
                    Sign::Odd => {}
                }
            }
        }
        step
    }

    /// Change prices; says whether a single member still has a price to lose.
    fn change_prices(&mut self, step: f64) -> bool {
        for member in 1..=self.members {
            let price = self.price[member];
            match self.sign[self.top[member]] {
                Sign::Even => {
                    let near = (price - step).abs() <= NEAR * price.abs().max(step.abs());
                    if !self.all && (near || price <= step) {
                        return false;
                    }
                    self.price[member] = price - step;
                }
                Sign::Odd => self.price[member] = price + step,
                Sign::Out => {}
            }
        }
        for blossom in self.members + 1..=self.used {
            if self.top[blossom] == blossom {
                match self.sign[blossom] {
                    Sign::Even => self.price[blossom] += step * 2.0,
                    Sign::Odd => self.price[blossom] -= step * 2.0,
                    Sign::Out => {}
                }
            }
        }
        true
    }

    /// Follow edges that have become tight; says whether one more two was made.
    fn follow_nearest(&mut self) -> bool {
        for at in 1..=self.used {
            let nearest = self.nearest[at];
            if self.top[at] != at || nearest == NONE || self.top[nearest] == at {
                continue;
            }
            let edge = self.edge(nearest, at);
            if self.gap(edge) <= 0.0 && self.follow(edge) {
                return true;
            }
        }
        false
    }
}
