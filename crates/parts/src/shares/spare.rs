//! Who has what is left over when everybody has what the objective asks for.

use heeler_solve::{Division, Finish, Floor, Row, Sharing};
use serde::{Deserialize, Serialize};

/// By how much less than as early as possible all must be done when the rest is shared out, so that
/// it can be done in spite of rounding.
const EASE: f64 = 1e-6;
/// Where the search for a makespan begins, seconds, and by how much it may be off.
const SEARCH_S: (f64, f64) = (100.0, 1e6);
const OFF: f64 = 1.05;

/// Who has what is left over when everybody has what the objective asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spare {
    /// Everybody some of it: of all shares that are best, those in the middle.
    #[default]
    Middle,
    /// Nobody: of all shares that are best, the most even ones.
    Even,
    /// By makespan, short jobs: as much as possible of what jobs have left is done.
    ShortFirst,
}

/// Whoever has the least has as much as possible.
pub(super) fn max_min(sharing: &Sharing, spare: Spare) -> Division {
    let middle = (spare == Spare::Middle).then(|| sharing.middle(|level| level)).flatten();
    middle.unwrap_or_else(|| sharing.max_min())
}

/// Nobody ends much later than promised.
pub(super) fn min_max_finish(sharing: &Sharing, finishes: &[Finish], spare: Spare) -> Division {
    match spare {
        Spare::Middle => sharing.min_max_finish_in_the_middle(finishes),
        Spare::Even | Spare::ShortFirst => sharing.min_max_finish(finishes),
    }
}

/// All are done as early as possible, or nearly as early, as in the published program.
pub(super) fn done_early(sharing: &Sharing, spare: Spare) -> Division {
    let middle = || sharing.middle(|level| 1.0 / searched_s(1.0 / level));
    match spare {
        Spare::Middle => middle().unwrap_or_else(|| sharing.max_min()),
        Spare::Even => sharing.max_min(),
        Spare::ShortFirst => short_first(sharing),
    }
}

/// The makespan that halving comes to, if the shortest is so long: up to a twentieth more.
fn searched_s(shortest_s: f64) -> f64 {
    let (mut low, mut high) = SEARCH_S;
    loop {
        let (from, top) = (high, high * 10.0);
        let mut found = None;
        while OFF * low < high {
            let middle = (low + high) / 2.0;
            if middle >= shortest_s {
                (high, found) = (middle, Some(middle));
            } else {
                low = middle;
            }
        }
        match found {
            Some(found) => return found,
            None => (low, high) = (from, top),
        }
        if !top.is_finite() {
            return shortest_s;
        }
    }
}

/// All are done as early as possible; and with what is left over beyond that, as much as possible
/// of what everybody has left is done in the meantime.
fn short_first(sharing: &Sharing) -> Division {
    let first = sharing.max_min();
    if first.level <= 0.0 {
        return first;
    }
    // What each would have done of its work by the time that all are done.
    let by_then = |row: &Row| -> Vec<f64> {
        row.worth.iter().map(|worth| worth / first.level / (1.0 - EASE)).collect()
    };
    let rows = sharing.rows.iter().map(|row| Row { size: row.size, worth: by_then(row) });
    let scaled = Sharing { places: sharing.places.clone(), rows: rows.collect() };
    let floors: Vec<Floor> = scaled.rows.iter().map(|row| Some(row.worth.clone())).collect();
    match scaled.max_sum_above(&floors) {
        Some(second) => Division { level: first.level, ..second },
        None => first,
    }
}

/// In pairs, what is left when all are done in time is shared out: on each kind, everybody has the
/// same part of what it lacks to all the time.
pub(super) fn fill_up(division: &mut Division, sharing: &Sharing) {
    let Division { parts, pairs, .. } = division;
    let mut beside = vec![0.0; parts.len()];
    for pair in pairs.iter() {
        let time: f64 = pair.parts.iter().sum();
        beside[pair.rows.0] += time;
        beside[pair.rows.1] += time;
    }
    for (kind, places) in sharing.places.iter().enumerate() {
        let alone = parts.iter().zip(&sharing.rows).map(|(part, row)| part[kind] * row.size);
        let two = pairs.iter().map(|pair| pair.parts[kind] * sharing.rows[pair.rows.0].size);
        let used: f64 = alone.chain(two).sum();
        let lacks =
            |index: usize, part: &[f64]| (1.0 - beside[index] - part.iter().sum::<f64>()).max(0.0);
        let runs = |row: &Row| row.worth[kind] > 0.0;
        let rows = parts.iter().zip(&sharing.rows).enumerate().filter(|(_, (_, row))| runs(row));
        let wanted: f64 = rows.map(|(index, (part, row))| lacks(index, part) * row.size).sum();
        if wanted <= 0.0 {
            continue;
        }
        let rate = ((places - used) / wanted).clamp(0.0, 1.0);
        for (index, (part, row)) in parts.iter_mut().zip(&sharing.rows).enumerate() {
            if runs(row) {
                part[kind] += rate * lacks(index, part);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As far as the search goes, never before the shortest, and at most a twentieth after it.
    #[test]
    fn the_search_comes_near() {
        for shortest_s in [150.0, 5_000.0, 61_000.0, 951_000.0, 990_000.0, 3e7] {
            let found_s = searched_s(shortest_s);
            let near = found_s >= shortest_s && found_s <= 1.06 * shortest_s;
            assert!(near, "{shortest_s} {found_s}");
        }
    }
}
