//! Who gets which, one each, so that the sum of costs is least: the assignment problem, by shortest
//! augmenting paths (Jonker and Volgenant, Computing 38, 1987).

/// The column of each row, no two the same, with the least sum of costs. Of several such answers it
/// is the one that SciPy comes to, so that published programs can be met: on the way to a free
/// column, of those that are as near a free one is taken, of several the last on a list that begins
/// from the last column to the first, and on which the end takes the place of who is gone over.
/// There must be no fewer columns than rows, and every cost must be finite. Work: rows times rows
/// times columns at most.
pub fn cheapest_assignment(costs: &[Vec<f64>]) -> Vec<usize> {
    let columns = costs.first().map_or(0, Vec::len);
    assert!(costs.len() <= columns || costs.is_empty(), "a column for every row");
    // Prices of rows and columns: costs less prices are never negative, and nothing on the pairs
    // that are taken.
    let (mut row_price, mut column_price) = (vec![0.0; costs.len()], vec![0.0; columns]);
    let mut row_of: Vec<Option<usize>> = vec![None; columns];
    for start in 0..costs.len() {
        // The shortest way from this row to a free column, over pairs that are taken.
        let mut distance = vec![f64::INFINITY; columns];
        let mut before: Vec<Option<usize>> = vec![None; columns];
        let mut ahead: Vec<usize> = (0..columns).rev().collect();
        let mut reached: Vec<usize> = Vec::new();
        let (mut row, mut from, mut so_far) = (start, None, 0.0);
        let end = loop {
            let mut nearest: Option<(usize, f64)> = None;
            for (at, column) in ahead.iter().copied().enumerate() {
                let there = so_far + costs[row][column] - row_price[row] - column_price[column];
                if there < distance[column] {
                    distance[column] = there;
                    before[column] = from;
                }
                let (near, is_free) = (distance[column], row_of[column].is_none());
                if nearest.is_none_or(|(_, best)| near < best || near <= best && is_free) {
                    nearest = Some((at, near));
                }
            }
            let (at, _) = nearest.expect("there are no fewer columns than rows");
            let column = ahead.swap_remove(at);
            so_far = distance[column];
            match row_of[column] {
                None => break column,
                Some(next) => {
                    reached.push(column);
                    (row, from) = (next, Some(column));
                }
            }
        };
        row_price[start] += so_far;
        for column in reached {
            let gain = so_far - distance[column];
            column_price[column] -= gain;
            row_price[row_of[column].expect("it was on the way")] += gain;
        }
        // Along that way, everybody moves on by one.
        let mut column = end;
        while let Some(previous) = before[column] {
            row_of[column] = row_of[previous];
            column = previous;
        }
        row_of[column] = Some(start);
    }
    let mut column_of = vec![0; costs.len()];
    for (column, row) in row_of.iter().enumerate() {
        if let Some(row) = row {
            column_of[*row] = column;
        }
    }
    column_of
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cost(costs: &[Vec<f64>], columns: &[usize]) -> f64 {
        costs.iter().zip(columns).map(|(row, column)| row[*column]).sum()
    }

    /// The least sum, by trying everything.
    fn tried(costs: &[Vec<f64>], taken: &mut Vec<usize>) -> f64 {
        let Some(row) = costs.get(taken.len()) else { return 0.0 };
        let mut best = f64::INFINITY;
        for (column, own) in row.iter().enumerate() {
            if !taken.contains(&column) {
                taken.push(column);
                best = best.min(own + tried(costs, taken));
                taken.pop();
            }
        }
        best
    }

    #[test]
    fn a_worked_example() {
        // Whoever is cheapest first (1) leaves 9 for the other; 2 + 3 is less.
        let costs = vec![vec![1.0, 2.0], vec![3.0, 9.0]];
        assert_eq!(cheapest_assignment(&costs), [1, 0]);
        assert_eq!(cheapest_assignment(&[]), Vec::<usize>::new());
        let equal = vec![vec![5.0; 3]; 3];
        assert_eq!(cost(&equal, &cheapest_assignment(&equal)), 15.0);
    }

    proptest! {
        #[test]
        fn nothing_is_cheaper(
            costs in (1usize..6).prop_flat_map(|rows| {
                let row = |columns| proptest::collection::vec(-9i32..10, columns..=columns);
                (rows..7).prop_flat_map(move |columns| {
                    proptest::collection::vec(row(columns), rows..=rows)
                })
            })
        ) {
            let floats = |row: &Vec<i32>| row.iter().map(|cost| f64::from(*cost)).collect();
            let costs: Vec<Vec<f64>> = costs.iter().map(floats).collect();
            let columns = cheapest_assignment(&costs);
            let mut different = columns.clone();
            different.sort_unstable();
            different.dedup();
            prop_assert_eq!(different.len(), costs.len());
            prop_assert_eq!(cost(&costs, &columns), tried(&costs, &mut Vec::new()));
        }
    }
}
