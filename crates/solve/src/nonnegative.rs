//! Least squares with coefficients that are not below zero, for a few columns: every choice of
//! columns is tried, so the answer is exact and always the same.

/// At most so many columns.
const COLUMNS_MAX: usize = 6;

/// Coefficients, none below zero, whose sums over the columns of each row come nearest to the
/// values, by the sum of squares. Among equally good ones, those with fewer columns. Zeros, if
/// there is nothing to fit to.
pub fn fit_nonnegative(rows: &[Vec<f64>], values: &[f64]) -> Vec<f64> {
    let columns = rows.first().map_or(0, Vec::len).min(COLUMNS_MAX);
    let mut best = (error(rows, values, &vec![0.0; columns]), vec![0.0; columns]);
    let mut choices: Vec<u32> = (1..1 << columns).collect();
    choices.sort_by_key(|choice| (choice.count_ones(), *choice));
    for choice in choices {
        let chosen: Vec<usize> = (0..columns).filter(|column| choice >> column & 1 == 1).collect();
        let Some(found) = normal(rows, values, &chosen) else { continue };
        if found.iter().any(|coefficient| *coefficient < 0.0) {
            continue;
        }
        let mut all = vec![0.0; columns];
        chosen.iter().zip(found).for_each(|(column, value)| all[*column] = value);
        let off = error(rows, values, &all);
        if off < best.0 * (1.0 - 1e-12) {
            best = (off, all);
        }
    }
    best.1
}

fn error(rows: &[Vec<f64>], values: &[f64], coefficients: &[f64]) -> f64 {
    let off = |(row, value): (&Vec<f64>, &f64)| {
        let sum: f64 = row.iter().zip(coefficients).map(|(cell, by)| cell * by).sum();
        (sum - value).powi(2)
    };
    rows.iter().zip(values).map(off).sum()
}

/// The normal equations of some columns, by elimination; none if the columns are not independent.
fn normal(rows: &[Vec<f64>], values: &[f64], chosen: &[usize]) -> Option<Vec<f64>> {
    let count = chosen.len();
    let mut table = vec![vec![0.0; count + 1]; count];
    for (row, value) in rows.iter().zip(values) {
        for (i, column) in chosen.iter().enumerate() {
            for (j, other) in chosen.iter().enumerate() {
                table[i][j] += row[*column] * row[*other];
            }
            table[i][count] += row[*column] * value;
        }
    }
    let scale: Vec<f64> = (0..count).map(|i| table[i][i].sqrt()).collect();
    if scale.iter().any(|scale| *scale <= 0.0 || !scale.is_finite()) {
        return None;
    }
    // Columns of unit length, so that what counts as nothing does not depend on units.
    for (i, row) in table.iter_mut().enumerate() {
        for (j, cell) in row.iter_mut().enumerate() {
            *cell /= scale[i] * scale.get(j).copied().unwrap_or(1.0);
        }
    }
    for pivot in 0..count {
        let best = (pivot..count).max_by(|a, b| {
            table[*a][pivot].abs().total_cmp(&table[*b][pivot].abs()).then(b.cmp(a))
        })?;
        table.swap(pivot, best);
        if table[pivot][pivot].abs() < 1e-10 {
            return None;
        }
        let by = table[pivot].clone();
        for (_, row) in table.iter_mut().enumerate().filter(|(other, _)| *other != pivot) {
            let factor = row[pivot] / by[pivot];
            row.iter_mut().zip(&by).for_each(|(cell, by)| *cell -= factor * by);
        }
    }
    Some((0..count).map(|i| table[i][count] / table[i][i] / scale[i]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(gpus: f64) -> Vec<f64> {
        vec![1.0 / gpus, 1.0, gpus]
    }

    #[test]
    fn what_is_a_sum_is_found() {
        let rows: Vec<Vec<f64>> = [1.0, 2.0, 4.0, 8.0].map(row).to_vec();
        let values: Vec<f64> = rows.iter().map(|row| 8.0 * row[0] + 0.5 + 0.1 * row[2]).collect();
        let found = fit_nonnegative(&rows, &values);
        for (found, expected) in found.iter().zip([8.0, 0.5, 0.1]) {
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
    }

    #[test]
    fn nothing_is_below_zero() {
        // It falls faster than one over the number of GPUs: without the bound, the constant would
        // be below zero.
        let rows: Vec<Vec<f64>> = [1.0, 2.0, 4.0].map(row).to_vec();
        let found = fit_nonnegative(&rows, &[8.0, 3.0, 1.0]);
        assert!(found.iter().all(|value| *value >= 0.0), "{found:?}");
        assert_eq!(found[1..], [0.0, 0.0]);
        assert_eq!(fit_nonnegative(&[], &[]), Vec::<f64>::new());
    }
}
