//! A plan for a window of rounds: every row is in so many of them, each round has so many places,
//! and the sum of what that is worth to the rows, less a price on the most that is left to any of
//! them, shall be largest: Shockwave's programme (Zheng et al., NSDI 2023), in which every round is
//! as good as another. For a limit on what may be left, rounds go to whoever gains most by one, for
//! its size; the limit is found by halving, with the relaxed programme as a bound.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Who is planned for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rounded {
    /// Places it takes in a round.
    pub size: u32,
    /// What none, one, two … rounds are worth to it; each more is worth no more than the one before.
    pub worth: Vec<f64>,
    /// What is left to it after none, one, two … rounds; never more.
    pub left: Vec<f64>,
    /// Rounds that it must have.
    pub least: u32,
}

/// What is planned.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Window {
    /// Places of each round.
    pub places: u32,
    /// Rounds.
    pub rounds: u32,
    /// The price of a unit of the most that is left to any row.
    pub price: f64,
    /// Who is planned for.
    pub rows: Vec<Rounded>,
}

/// A plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// Rounds of each row.
    pub counts: Vec<u32>,
    /// What was maximised.
    pub value: f64,
    /// No plan is worth more than this.
    pub bound: f64,
    /// Limits that were tried.
    pub tried: u32,
}

/// Limits tried by default; a few dozen close the gap on what was tried.
pub const TRIES_MAX: u32 = 64;
/// A plan this near to its bound, as a part of it, is good enough.
const GAP: f64 = 1e-3;

/// One more round of a row, and what it gains for each of its places.
#[derive(PartialEq)]
struct More {
    gain: f64,
    row: usize,
}

impl Eq for More {}

impl PartialOrd for More {
    fn partial_cmp(&self, other: &More) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for More {
    /// The largest gain first, then the earlier row.
    fn cmp(&self, other: &More) -> Ordering {
        self.gain.total_cmp(&other.gain).then(other.row.cmp(&self.row))
    }
}

/// Limits between two candidates, both included, and a bound on what is to be had there.
struct Between {
    low: usize,
    high: usize,
    bound: f64,
}

impl Planned {
    /// How far the value may be from the largest, as a part of it.
    pub fn gap(&self) -> f64 {
        (self.bound - self.value).max(0.0) / self.value.abs().max(1e-9)
    }
}

impl Window {
    /// The best plan that is found by trying so many limits. None if there is not room for what
    /// rows must have. The same input has the same answer; the earlier of equal rows comes first.
    pub fn plan(&self, tries_max: u32) -> Option<Planned> {
        let limits = self.limits();
        let last = limits.len().checked_sub(1)?;
        let (mut best, most) = self.fill(limits[last])?;
        let bound_of = |worth: f64, low: usize| worth - self.price * limits[low];
        // Nothing is better at a limit that was tried than the relaxed programme there.
        let mut tried = bound_of(most, last);
        let mut open = Vec::new();
        if last > 0 {
            open.push(Between { low: 0, high: last - 1, bound: bound_of(most, 0) });
        }
        while best.tried < tries_max {
            let first = |a: &(usize, &Between), b: &(usize, &Between)| {
                a.1.bound.total_cmp(&b.1.bound).then(b.0.cmp(&a.0))
            };
            let Some((index, _)) = open.iter().enumerate().max_by(first) else { break };
            if open[index].bound <= best.value + GAP * best.value.abs() {
                break;
            }
            let Between { low, high, bound } = open.swap_remove(index);
            let middle = low + (high - low) / 2;
            best.tried += 1;
            // What may be left is more above the middle, and worth more, but costs more, too.
            if middle < high {
                let bound = bound.min(bound_of(most, middle + 1));
                open.push(Between { low: middle + 1, high, bound });
            }
            let Some((found, worth)) = self.fill(limits[middle]) else { continue };
            if found.value > best.value {
                (best.counts, best.value) = (found.counts, found.value);
            }
            tried = tried.max(bound_of(worth, middle));
            if low < middle {
                open.push(Between { low, high: middle - 1, bound: bound_of(worth, low) });
            }
        }
        best.bound = open.iter().map(|open| open.bound).fold(best.value.max(tried), f64::max);
        Some(best)
    }

    /// Limits on what may be left that make a difference, smallest first.
    fn limits(&self) -> Vec<f64> {
        let rounds = self.rounds as usize;
        let at = |row: &Rounded, rounds: usize| row.left.get(rounds).copied().unwrap_or(0.0);
        let lowest = self.rows.iter().map(|row| at(row, rounds)).fold(0.0, f64::max);
        let all = self.rows.iter().flat_map(|row| (0..=rounds).map(move |m| at(row, m)));
        let mut limits: Vec<f64> = all.filter(|left| *left >= lowest).collect();
        limits.push(lowest);
        limits.sort_by(f64::total_cmp);
        limits.dedup();
        limits
    }

    /// The plan for a limit on what may be left, and what the rows would have at most under it,
    /// could a row be in a part of a round.
    fn fill(&self, limit: f64) -> Option<(Planned, f64)> {
        let most = self.rounds as usize;
        let mut free = u64::from(self.places) * u64::from(self.rounds);
        let mut counts = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            let enough = (0..=most).find(|rounds| row.left[*rounds] <= limit)?;
            let count = enough.max(row.least as usize);
            free = free.checked_sub(count as u64 * u64::from(row.size))?;
            counts.push(count);
        }
        if counts.iter().any(|count| *count > most) {
            return None;
        }
        let gain = |row: usize, count: usize| {
            let worth = &self.rows[row].worth;
            (worth[count + 1] - worth[count]) / f64::from(self.rows[row].size.max(1))
        };
        let rows = 0..self.rows.len();
        let next = |row: usize, count: usize| {
            (count < most).then(|| More { gain: gain(row, count), row }).filter(|m| m.gain > 0.0)
        };
        let mut heap: BinaryHeap<More> = rows.filter_map(|row| next(row, counts[row])).collect();
        let mut extra = 0.0;
        while let Some(More { gain, row }) = heap.pop() {
            let size = u64::from(self.rows[row].size);
            if size > free {
                // The first that does not fit has a part of a round in the bound.
                extra = f64::max(extra, gain * free as f64);
                continue;
            }
            free -= size;
            counts[row] += 1;
            heap.extend(next(row, counts[row]));
        }
        let pairs = || self.rows.iter().zip(&counts);
        let worth: f64 = pairs().map(|(row, count)| row.worth[*count]).sum();
        let left = pairs().map(|(row, count)| row.left[*count]).fold(0.0, f64::max);
        let value = worth - self.price * left;
        let counts = counts.iter().map(|count| *count as u32).collect();
        Some((Planned { counts, value, bound: value, tried: 1 }, worth + extra))
    }

    /// Who is in which round, if rows have so many: who must be in all that are left first, then by
    /// urgency. Where gangs do not fit together, some have fewer rounds than planned.
    pub fn lay_out(&self, counts: &[u32], urgency: &[f64]) -> Vec<Vec<usize>> {
        let mut due = counts.to_vec();
        let each = |row: usize| urgency[row] / f64::from(counts[row].max(1));
        let mut order: Vec<usize> = (0..self.rows.len()).collect();
        order.sort_by(|a, b| each(*b).total_cmp(&each(*a)).then(a.cmp(b)));
        let mut rounds = Vec::with_capacity(self.rounds as usize);
        for round in 0..self.rounds {
            let left = self.rounds - round;
            let mut free = self.places;
            let mut inside = Vec::new();
            let pressing = |row: &&usize| due[**row] >= left;
            let (first, rest): (Vec<&usize>, Vec<&usize>) = order.iter().partition(pressing);
            for row in first.into_iter().chain(rest) {
                let size = self.rows[*row].size;
                if due[*row] > 0 && size <= free {
                    free -= size;
                    due[*row] -= 1;
                    inside.push(*row);
                }
            }
            rounds.push(inside);
        }
        rounds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worth by the logarithm of rounds, with so much to do.
    fn row(size: u32, work: f64, rounds: u32, weight: f64) -> Rounded {
        let worth = (0..=rounds).map(|m| weight * (1.0 + f64::from(m)).ln()).collect();
        let left = (0..=rounds).map(|m| (work - f64::from(m)).max(0.0)).collect();
        Rounded { size, worth, left, least: 0 }
    }

    /// The best value by trying everything.
    fn best(window: &Window, row: usize, free: u64, worth: f64, left: f64) -> f64 {
        let Some(own) = window.rows.get(row) else { return worth - window.price * left };
        let most = window.rounds.min((free / u64::from(own.size)) as u32);
        let tries = (own.least..=most).map(|m| {
            let free = free - u64::from(m) * u64::from(own.size);
            let left = left.max(own.left[m as usize]);
            best(window, row + 1, free, worth + own.worth[m as usize], left)
        });
        tries.fold(f64::NEG_INFINITY, f64::max)
    }

    #[test]
    fn plans_are_as_good_as_any_within_their_gap() {
        for price in [0.0, 0.1, 1.0, 10.0] {
            for places in [2, 3, 5] {
                let sizes = [1, 2, 1, 2, 1];
                let rows = sizes.iter().enumerate().map(|(index, size)| {
                    row(*size, 2.0 + index as f64 * 1.7, 4, 1.0 + (index % 3) as f64)
                });
                let window = Window { places, rounds: 4, price, rows: rows.collect() };
                let planned = window.plan(TRIES_MAX).expect("there is room");
                let exact = best(&window, 0, u64::from(places) * 4, 0.0, 0.0);
                assert!(planned.value <= exact + 1e-9 && exact <= planned.bound + 1e-9);
                assert!(exact - planned.value <= 0.05 * exact.abs(), "{planned:?}, {exact} best");
            }
        }
    }

    #[test]
    fn a_price_on_the_most_that_is_left_serves_the_longest() {
        let rows = vec![row(1, 20.0, 4, 1.0), row(1, 4.0, 4, 1.0)];
        let window = Window { places: 1, rounds: 4, price: 0.0, rows };
        assert_eq!(window.plan(TRIES_MAX).expect("room").counts, [2, 2]);
        let dear = Window { price: 10.0, ..window };
        assert_eq!(dear.plan(TRIES_MAX).expect("room").counts, [4, 0]);
    }

    #[test]
    fn who_must_have_rounds_has_them_or_there_is_no_plan() {
        let mut rows = vec![row(1, 4.0, 4, 9.0), row(1, 4.0, 4, 1.0)];
        rows[1].least = 3;
        let window = Window { places: 1, rounds: 4, price: 0.0, rows: rows.clone() };
        assert_eq!(window.plan(TRIES_MAX).expect("room").counts, [1, 3]);
        rows[0].least = 2;
        assert!(Window { rows, ..window }.plan(TRIES_MAX).is_none());
    }

    #[test]
    fn the_urgent_are_first_and_nobody_who_must_be_is_late() {
        let rows = vec![row(1, 9.0, 3, 1.0), row(1, 9.0, 3, 1.0), row(2, 9.0, 3, 1.0)];
        let window = Window { places: 2, rounds: 3, price: 0.0, rows };
        let rounds = window.lay_out(&[1, 1, 2], &[1.0, 1.0, 8.0]);
        assert_eq!(rounds, [vec![2], vec![2], vec![0, 1]]);
        let rounds = window.lay_out(&[3, 1, 0], &[1.0, 8.0, 1.0]);
        assert_eq!(rounds, [vec![0, 1], vec![0], vec![0]]);
    }
}
