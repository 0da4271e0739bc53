//! From classes back to rows, where two are in one place: who is beside whom.

use super::GRAIN;
use super::merged::Merged;
use super::pairs::{Pair, Two};
use std::collections::BTreeMap;

/// Parts of the time below this are not worth two jobs' trouble.
const PART_MIN: f64 = 1e-4;

/// Who of a class is beside whom: few twos, everybody with the same time.
pub(super) fn deal_out(merged: &Merged, twos: &[(Two, f64)]) -> Vec<Pair> {
    let columns = merged.places.len();
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); merged.rows.len()];
    for (row, class) in merged.class_of.iter().enumerate() {
        members[*class].push(row);
    }
    let mut pairs: BTreeMap<(usize, usize), Vec<f64>> = Default::default();
    let mut put = |one: usize, other: usize, column: usize, part: f64| {
        let rows = (one.min(other), one.max(other));
        pairs.entry(rows).or_insert_with(|| vec![0.0; columns])[column] += part;
    };
    for (two, time) in twos.iter().filter(|(_, time)| *time > 0.0) {
        let (ones, others) = (&members[two.classes.0], &members[two.classes.1]);
        if two.classes.0 == two.classes.1 {
            let each = 2.0 * time / ones.len() as f64;
            // Three take turns in twos, where they do not come out even.
            let odd = if ones.len() % 2 == 1 { 3 } else { 0 };
            for (one, other) in [(0, 1), (1, 2), (0, 2)].into_iter().take(odd) {
                put(ones[one], ones[other], two.column, each / 2.0);
            }
            ones[odd..].chunks(2).for_each(|two_of| put(two_of[0], two_of[1], two.column, each));
            continue;
        }
        let (a, b) = (time / ones.len() as f64, time / others.len() as f64);
        let (mut one, mut other, mut left) = (0, 0, (a, b));
        while one < ones.len() && other < others.len() {
            let part = left.0.min(left.1);
            put(ones[one], others[other], two.column, part);
            left = (left.0 - part, left.1 - part);
            if left.0 <= a * 1e-9 {
                (one, left.0) = (one + 1, a);
            }
            if left.1 <= b * 1e-9 {
                (other, left.1) = (other + 1, b);
            }
        }
    }
    let rounded = |part: f64| {
        let part = (part / GRAIN).round() * GRAIN;
        if part < PART_MIN { 0.0 } else { part }
    };
    let pairs = pairs.into_iter().map(|(rows, parts)| {
        let parts: Vec<f64> = parts.into_iter().map(rounded).collect();
        Pair { rows, parts }
    });
    pairs.filter(|pair| pair.parts.iter().any(|part| *part > 0.0)).collect()
}
