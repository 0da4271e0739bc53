//! The smallest value of a function of a few bounded variables near a start: the quasi-Newton
//! method L-BFGS-B (Byrd, Lu, Nocedal and Zhu 1995; Morales and Nocedal 2011), step by step, since
//! those who fit loosely end where its path happens to lead. With few variables its matrix is
//! small, and is written out.

use super::line::{Line, Next};
use std::collections::VecDeque;

/// Where to look.
pub(super) struct Search<const N: usize> {
    /// Where to begin.
    pub start: [f64; N],
    /// The least that each variable may be.
    pub lower: [f64; N],
    /// The most; a variable that has no choice stays where it is.
    pub upper: [f64; N],
    /// It ends when a step gains less than this (or less than this part of a value above one).
    pub tolerance: f64,
    /// It ends after so many steps.
    pub steps_max: u32,
}

/// What was found.
pub(super) struct Minimum<const N: usize> {
    /// Where.
    pub at: [f64; N],
    /// How small.
    pub value: f64,
    /// Steps that took.
    pub steps: u32,
    /// Whether it ended because it gained no more.
    pub is_settled: bool,
}

/// A point that was evaluated.
#[derive(Clone, Copy)]
struct Point<const N: usize> {
    at: [f64; N],
    value: f64,
    slope: [f64; N],
}

/// Steps that are remembered.
const MEMORY: usize = 10;
/// It ends where every slope that is not held is smaller than this.
const SLOPE_MIN: f64 = 1e-5;
/// Evaluations of one line search, at most.
const TRIES_MAX: u32 = 20;
/// As good as no end.
const FAR: f64 = 1e10;

impl<const N: usize> Search<N> {
    /// Go down from the start. The function gives its value and its slope.
    pub(super) fn minimise(&self, function: impl Fn(&[f64; N]) -> (f64, [f64; N])) -> Minimum<N> {
        let evaluate = |at: [f64; N]| {
            let (value, slope) = function(&at);
            Point { at, value, slope }
        };
        let mut point = evaluate(self.start);
        let mut memory = Memory::default();
        let mut is_settled = self.slope_left(&point) <= SLOPE_MIN;
        let mut steps = 0;
        while !is_settled && steps < self.steps_max {
            let (aim, held) = self.cauchy(&point, &memory.matrix);
            let aim = if memory.is_empty() { aim } else { self.bottom(&point, aim, held, &memory) };
            let Some((next, length)) = self.descend(&point, &aim, steps == 0, &evaluate) else {
                // What is remembered may mislead; without it, downhill is downhill.
                is_settled = memory.is_empty();
                memory = Memory::default();
                continue;
            };
            steps += 1;
            let scale = point.value.abs().max(next.value.abs()).max(1.0);
            let gains_little = point.value - next.value <= self.tolerance * scale;
            is_settled = gains_little || self.slope_left(&next) <= SLOPE_MIN;
            memory.learn(&point, &next, dot(&difference(&aim, &point.at), &point.slope) * length);
            point = next;
        }
        let Point { at, value, .. } = point;
        Minimum { at, value, steps, is_settled }
    }

    /// The steepest slope along which there is room.
    fn slope_left(&self, point: &Point<N>) -> f64 {
        let left = |i: usize| {
            let moved = (point.at[i] - point.slope[i]).clamp(self.lower[i], self.upper[i]);
            (moved - point.at[i]).abs()
        };
        (0..N).map(left).fold(0.0, f64::max)
    }

    /// Straight down, bent at every bound that is met, until the quadratic model rises; and which
    /// variables are then held by their bounds.
    fn cauchy(&self, from: &Point<N>, matrix: &[[f64; N]; N]) -> ([f64; N], [bool; N]) {
        let Point { mut at, slope, .. } = *from;
        let mut way = [0.0; N];
        let mut held = [false; N];
        let mut ends = [f64::INFINITY; N];
        for i in 0..N {
            let bound = if slope[i] > 0.0 { self.lower[i] } else { self.upper[i] };
            let room = at[i] - bound;
            let is_low = at[i] <= self.lower[i] && slope[i] >= 0.0;
            let is_high = at[i] >= self.upper[i] && slope[i] <= 0.0;
            held[i] = is_low || is_high || self.lower[i] >= self.upper[i];
            if !held[i] && slope[i] != 0.0 {
                way[i] = -slope[i];
                ends[i] = room / slope[i];
            }
        }
        let mut gone = 0.0;
        let curve_first = dot(&way, &times(matrix, &way));
        while way.iter().any(|part| *part != 0.0) {
            let moved = difference(&at, &from.at);
            let fall = dot(&slope, &way) + dot(&way, &times(matrix, &moved));
            let curve = dot(&way, &times(matrix, &way)).max(f64::EPSILON * curve_first);
            let moving = (0..N).filter(|i| way[*i] != 0.0);
            let first = moving.min_by(|a, b| ends[*a].total_cmp(&ends[*b])).expect("one moves");
            let rest = (-fall / curve).max(0.0);
            let meets_bound = ends[first] - gone <= rest;
            gone = if meets_bound { ends[first] } else { gone + rest };
            for i in (0..N).filter(|i| way[*i] != 0.0) {
                at[i] = from.at[i] + gone * way[i];
            }
            if !meets_bound {
                break;
            }
            at[first] = if way[first] > 0.0 { self.upper[first] } else { self.lower[first] };
            (way[first], held[first]) = (0.0, true);
        }
        (at, held)
    }

    /// From there, the bottom of the model in what is not held, brought back inside.
    fn bottom(
        &self,
        from: &Point<N>,
        cauchy: [f64; N],
        held: [bool; N],
        memory: &Memory<N>,
    ) -> [f64; N] {
        let bent = times(&memory.matrix, &difference(&cauchy, &from.at));
        let down = std::array::from_fn(|i| if held[i] { 0.0 } else { -(from.slope[i] + bent[i]) });
        let way = solve(&memory.matrix, &held, &down);
        let inside = |i: usize, length: f64| {
            (cauchy[i] + length * way[i]).clamp(self.lower[i], self.upper[i])
        };
        let aim: [f64; N] = std::array::from_fn(|i| inside(i, 1.0));
        if dot(&difference(&aim, &from.at), &from.slope) <= 0.0 {
            return aim;
        }
        let length = self.room(&cauchy, &way).min(1.0);
        std::array::from_fn(|i| inside(i, length))
    }

    /// How far one can go before a bound is met.
    fn room(&self, from: &[f64; N], way: &[f64; N]) -> f64 {
        let room = |i: usize| {
            let bound = if way[i] > 0.0 { self.upper[i] } else { self.lower[i] };
            if way[i] == 0.0 { FAR } else { (bound - from[i]) / way[i] }
        };
        (0..N).map(room).fold(FAR, f64::min).max(0.0)
    }

    /// The point that a line search ends at, and how far that is; none if there is no way down.
    fn descend(
        &self,
        from: &Point<N>,
        aim: &[f64; N],
        is_first: bool,
        evaluate: &impl Fn([f64; N]) -> Point<N>,
    ) -> Option<(Point<N>, f64)> {
        let way = difference(aim, &from.at);
        let descent = dot(&way, &from.slope);
        if !descent.is_finite() || descent >= 0.0 {
            return None;
        }
        let (mut length, mut furthest) = (1.0, self.room(&from.at, &way).max(1.0));
        if is_first {
            (length, furthest) = ((1.0 / dot(&way, &way).sqrt()).min(1.0), 1.0);
        }
        let mut line = Line::new(from.value, descent, length, furthest);
        for _ in 0..TRIES_MAX {
            let inside = |i: usize, at: f64| at.clamp(self.lower[i], self.upper[i]);
            let at = std::array::from_fn(|i| inside(i, from.at[i] + length * way[i]));
            let tried = evaluate(if length == 1.0 { *aim } else { at });
            match line.next(length, tried.value, dot(&way, &tried.slope)) {
                Next::Try(next) => length = next,
                Next::Take => return Some((tried, length)),
            }
        }
        None
    }
}

/// Steps that were taken, and the matrix of second derivatives that they suggest.
struct Memory<const N: usize> {
    steps: VecDeque<([f64; N], [f64; N])>,
    matrix: [[f64; N]; N],
}

impl<const N: usize> Default for Memory<N> {
    fn default() -> Memory<N> {
        Memory { steps: VecDeque::new(), matrix: diagonal(1.0) }
    }
}

impl<const N: usize> Memory<N> {
    fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Learn from a step and how the slope changed on it, if it bent upwards.
    fn learn(&mut self, from: &Point<N>, to: &Point<N>, descent: f64) {
        let step = difference(&to.at, &from.at);
        let change = difference(&to.slope, &from.slope);
        let bend = dot(&step, &change);
        if bend.is_nan() || bend <= -f64::EPSILON * descent {
            return;
        }
        if self.steps.len() == MEMORY {
            self.steps.pop_front();
        }
        self.steps.push_back((step, change));
        self.matrix = diagonal(dot(&change, &change) / bend);
        for (step, change) in &self.steps {
            let bent = times(&self.matrix, step);
            let (old, new) = (dot(&bent, step), dot(step, change));
            for i in 0..N {
                for j in 0..N {
                    self.matrix[i][j] += change[i] * change[j] / new - bent[i] * bent[j] / old;
                }
            }
        }
    }
}

/// Solve equations by Cholesky's factors; what is held stays nothing.
fn solve<const N: usize>(matrix: &[[f64; N]; N], held: &[bool; N], right: &[f64; N]) -> [f64; N] {
    let mut factor = [[0.0; N]; N];
    for i in 0..N {
        for j in 0..=i {
            let is_free = !held[i] && !held[j];
            let given = if is_free { matrix[i][j] } else { f64::from(u8::from(i == j)) };
            let rest = given - (0..j).map(|k| factor[i][k] * factor[j][k]).sum::<f64>();
            let root = || rest.max(f64::MIN_POSITIVE).sqrt();
            factor[i][j] = if i == j { root() } else { rest / factor[j][j] };
        }
    }
    let mut way = *right;
    for i in 0..N {
        way[i] = (way[i] - (0..i).map(|k| factor[i][k] * way[k]).sum::<f64>()) / factor[i][i];
    }
    for i in (0..N).rev() {
        way[i] = (way[i] - (i + 1..N).map(|k| factor[k][i] * way[k]).sum::<f64>()) / factor[i][i];
    }
    way
}

fn diagonal<const N: usize>(size: f64) -> [[f64; N]; N] {
    std::array::from_fn(|i| std::array::from_fn(|j| if i == j { size } else { 0.0 }))
}

fn dot<const N: usize>(one: &[f64; N], other: &[f64; N]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

fn times<const N: usize>(matrix: &[[f64; N]; N], vector: &[f64; N]) -> [f64; N] {
    std::array::from_fn(|i| dot(&matrix[i], vector))
}

fn difference<const N: usize>(to: &[f64; N], from: &[f64; N]) -> [f64; N] {
    std::array::from_fn(|i| to[i] - from[i])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(start: [f64; 2], lower: [f64; 2], upper: [f64; 2]) -> Search<2> {
        Search { start, lower, upper, tolerance: 1e-15, steps_max: 1000 }
    }

    /// Rosenbrock's curved valley, and the same with a wall before its bottom.
    #[test]
    fn a_curved_valley_is_followed_to_its_bottom() {
        let valley = |at: &[f64; 2]| {
            let (away, off) = (1.0 - at[0], at[1] - at[0] * at[0]);
            let slope = [-2.0 * away - 400.0 * at[0] * off, 200.0 * off];
            (away * away + 100.0 * off * off, slope)
        };
        let found = search([-1.2, 1.0], [-5.0; 2], [5.0; 2]).minimise(valley);
        assert!(found.is_settled && found.value < 1e-9, "{} {:?}", found.value, found.at);
        let found = search([-1.2, 1.0], [-5.0; 2], [0.5, 5.0]).minimise(valley);
        assert!((found.at[0] - 0.5).abs() < 1e-9 && (found.at[1] - 0.25).abs() < 1e-5);
        let found = Search { steps_max: 3, ..search([-1.2, 1.0], [-5.0; 2], [5.0; 2]) };
        assert!(!found.minimise(valley).is_settled);
    }

    #[test]
    fn what_has_no_choice_stays() {
        let bowl = |at: &[f64; 2]| (at[0] * at[0] + at[1] * at[1], [2.0 * at[0], 2.0 * at[1]]);
        let found = search([3.0, 2.0], [-5.0, 2.0], [5.0, 2.0]).minimise(bowl);
        assert!(found.at[0].abs() < 1e-5 && found.at[1] == 2.0, "{:?}", found.at);
    }
}
