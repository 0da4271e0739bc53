//! Values between scattered measurements, as on the tetrahedra of a Delaunay triangulation. Lift
//! every point by the square of its distance from where a value is asked for: the tetrahedron that
//! contains that place is the lowest of all above it. So no triangulation is made; the four corners
//! are found by a linear programme of four rows.

/// A point: over how many nodes, on how many GPUs, with which batch on each.
pub(super) type Point = [f64; 3];

/// Corners of a tetrahedron and how much each of them counts.
pub(super) type Weights = [(usize, f64); 4];

/// Steps after which the entering column is the first that improves, so that nothing goes round.
const STEPS_IN_HASTE: u32 = 60;
const STEPS_MAX: u32 = 5_000;
/// Less than this is nothing.
const TINY: f64 = 1e-9;

/// A basis of the programme: four columns, of which those from `points.len()` on stand for what
/// cannot be had, and how much of each.
struct Basis {
    columns: [usize; 4],
    amounts: [f64; 4],
}

/// The corners of the tetrahedron around a place and their weights, which add up to one; none if
/// the place is outside of all that was measured.
pub(super) fn corners(points: &[Point], at: Point) -> Option<Weights> {
    // Both axes of GPUs are small numbers and batches may be thousands; centred on the place, the
    // programme is as exact as it can be.
    let column = |index: usize| -> [f64; 4] {
        match points.get(index) {
            Some(point) => [1.0, point[0] - at[0], point[1] - at[1], point[2] - at[2]],
            None => {
                let mut unit = [0.0; 4];
                unit[index - points.len()] = 1.0;
                unit
            }
        }
    };
    let heights: Vec<f64> = (0..points.len())
        .map(|index| column(index)[1..].iter().map(|delta| delta * delta).sum())
        .collect();
    let forbidding = 1e3 * (1.0 + heights.iter().copied().fold(0.0, f64::max));
    let height = |index: usize| heights.get(index).copied().unwrap_or(forbidding);
    let first = points.len();
    let mut basis =
        Basis { columns: [first, first + 1, first + 2, first + 3], amounts: [1.0, 0.0, 0.0, 0.0] };
    for step in 0..STEPS_MAX {
        let matrix = basis.columns.map(column);
        let prices = solve(&transposed(&matrix), basis.columns.map(height))?;
        let gain = |index: usize| {
            let column = column(index);
            height(index) - (0..4).map(|row| prices[row] * column[row]).sum::<f64>()
        };
        let improves = |index: &usize| gain(*index) < -TINY * (1.0 + height(*index));
        let entering = match step < STEPS_IN_HASTE {
            true => (0..points.len()).filter(improves).min_by(|a, b| gain(*a).total_cmp(&gain(*b))),
            false => (0..points.len()).find(improves),
        };
        let Some(entering) = entering else { break };
        basis.exchange(&matrix, entering, column(entering))?;
    }
    let mut weights = [(0, 0.0); 4];
    for (slot, weight) in weights.iter_mut().enumerate() {
        let (column, amount) = (basis.columns[slot], basis.amounts[slot]);
        if column >= points.len() && amount > 1e-7 {
            return None;
        }
        *weight = if column < points.len() { (column, amount) } else { (0, 0.0) };
    }
    Some(weights)
}

impl Basis {
    /// Let a column enter, and another leave.
    fn exchange(
        &mut self,
        matrix: &[[f64; 4]; 4],
        entering: usize,
        column: [f64; 4],
    ) -> Option<()> {
        let change = solve(matrix, column)?;
        let mut leaving: Option<(usize, f64)> = None;
        for (slot, change) in change.iter().enumerate().filter(|(_, change)| **change > TINY) {
            let ratio = self.amounts[slot].max(0.0) / change;
            // Among equals the one with the smallest number leaves: nothing goes round then.
            let better = leaving.is_none_or(|(other, least)| {
                ratio < least - TINY
                    || (ratio <= least + TINY && self.columns[slot] < self.columns[other])
            });
            if better {
                leaving = Some((slot, ratio));
            }
        }
        let (slot, _) = leaving?;
        self.columns[slot] = entering;
        let mut matrix = *matrix;
        matrix[slot] = column;
        self.amounts = solve(&matrix, [1.0, 0.0, 0.0, 0.0])?;
        Some(())
    }
}

fn transposed(columns: &[[f64; 4]; 4]) -> [[f64; 4]; 4] {
    let mut rows = [[0.0; 4]; 4];
    for (i, column) in columns.iter().enumerate() {
        for (j, value) in column.iter().enumerate() {
            rows[j][i] = *value;
        }
    }
    rows
}

/// What the four columns must be multiplied by to add up to a right side; none if they cannot.
fn solve(columns: &[[f64; 4]; 4], right: [f64; 4]) -> Option<[f64; 4]> {
    let mut rows = [[0.0; 5]; 4];
    for row in 0..4 {
        for (index, column) in columns.iter().enumerate() {
            rows[row][index] = column[row];
        }
        rows[row][4] = right[row];
    }
    for pivot in 0..4 {
        let best =
            (pivot..4).max_by(|a, b| rows[*a][pivot].abs().total_cmp(&rows[*b][pivot].abs()));
        rows.swap(pivot, best?);
        if rows[pivot][pivot].abs() < 1e-12 {
            return None;
        }
        let by = rows[pivot];
        for (_, row) in rows.iter_mut().enumerate().filter(|(other, _)| *other != pivot) {
            let factor = row[pivot] / by[pivot];
            row.iter_mut().zip(by).for_each(|(value, by)| *value -= factor * by);
        }
    }
    Some([0, 1, 2, 3].map(|row| rows[row][4] / rows[row][row]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(points: &[Point], values: &[f64], at: Point) -> Option<f64> {
        corners(points, at).map(|corners| corners.iter().map(|(i, w)| values[*i] * w).sum())
    }

    #[test]
    fn linear_functions_are_met_everywhere_inside() {
        let mut points = Vec::new();
        for nodes in [1.0, 2.0, 4.0, 16.0] {
            for gpus in [1.0, 2.0, 3.0, 8.0] {
                for batch in [32.0, 45.0, 64.0, 4096.0] {
                    points.push([nodes, nodes * gpus, batch]);
                }
            }
        }
        let line = |p: &Point| 1.0 + 2.0 * p[0] - 0.5 * p[1] + 0.01 * p[2];
        let values: Vec<f64> = points.iter().map(line).collect();
        for at in [[2.0, 9.0, 50.0], [4.0, 30.0, 33.0], [6.0, 31.0, 3000.0], [1.0, 1.0, 32.0]] {
            let found = value(&points, &values, at).expect("inside");
            assert!((found - line(&at)).abs() < 1e-6, "{at:?}: {found}");
        }
        assert_eq!(value(&points, &values, [2.0, 9.0, 31.0]), None, "no smaller batch");
        assert_eq!(value(&points, &values, [17.0, 40.0, 50.0]), None, "not on so many nodes");
    }

    #[test]
    fn the_nearest_corners_count() {
        // A cube with a point in its middle: near a face the face's corners and the middle count.
        let mut points = vec![[0.5, 0.5, 0.5]];
        for corner in 0..8u8 {
            points.push([0, 1, 2].map(|bit| f64::from(corner >> bit & 1)));
        }
        let values: Vec<f64> = (0..9).map(|index| if index == 0 { 1.0 } else { 0.0 }).collect();
        for (at, expected) in
            [([0.5, 0.5, 0.5], 1.0), ([0.5, 0.5, 0.25], 0.5), ([0.3, 0.6, 0.1], 0.2)]
        {
            let found = value(&points, &values, at).expect("inside");
            assert!((found - expected).abs() < 1e-9, "{at:?}: {found}");
        }
    }
}
