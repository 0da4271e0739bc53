//! Two in one place, by hand and by comparison.

use super::super::{Finish, Row};
use super::*;

/// So many rows of one sort on one column, that keep so much beside each other.
fn alike(rows: usize, places: f64, kept: f64) -> (Sharing, Beside) {
    let row = Row { size: 1.0, worth: vec![1.0] };
    let sharing = Sharing { places: vec![places], rows: vec![row; rows] };
    (sharing, Beside { sort_of: vec![Some(0); rows], sorts: 1, kept: vec![kept] })
}

#[test]
fn two_that_do_well_together_stay_together() {
    for (rows, kept, level) in [(2, 0.8, 0.8), (3, 0.8, 1.6 / 3.0), (3, 0.4, 1.0 / 3.0)] {
        let (sharing, beside) = alike(rows, 1.0, kept);
        let division = sharing.max_min_in_pairs(&beside);
        assert!((division.level - level).abs() < 1e-6, "{division:?}");
        let times: f64 = division.pairs.iter().map(|pair| pair.parts[0]).sum();
        assert!((times - if kept > 0.5 { 1.0 } else { 0.0 }).abs() < 1e-4, "{division:?}");
    }
}

/// Where there is room for all, nobody is put beside another.
#[test]
fn nobody_shares_without_need() {
    let (sharing, beside) = alike(3, 3.0, 0.9);
    let division = sharing.max_min_in_pairs(&beside);
    assert_eq!(division.pairs, []);
    assert!((division.level - 1.0).abs() < 1e-6);
    let (sharing, beside) = alike(3, 2.0, 0.9);
    let summed = sharing.max_sum_in_pairs(&beside);
    assert!((summed.level - 2.8).abs() < 1e-6, "one alone, two together: {summed:?}");
}

/// Forty rows of three sorts on two columns, the first with twice the places it needs twos for.
fn mixed() -> (Sharing, Beside) {
    let worth = |index: usize| vec![1.0 + index as f64 * 0.13, 1.0 + (index % 3) as f64];
    let row = |index: usize| Row { size: 1.0, worth: worth(index % 9) };
    let rows: Vec<Row> = (0..40).map(row).collect();
    let sort_of = (0..40).map(|index| (index % 4 != 3).then_some(index % 3)).collect();
    let kept = [
        [0.9, 0.4, 0.7, 0.5, 0.6, 0.8, 0.7, 0.3, 0.5],
        [0.6, 0.9, 0.0, 0.7, 0.5, 0.6, 0.0, 0.9, 0.7],
    ];
    let beside = Beside { sort_of, sorts: 3, kept: kept.concat() };
    (Sharing { places: vec![6.0, 9.0], rows }, beside)
}

/// Classes or rows, all twos at once or by their prices: the level is the same.
#[test]
fn prices_find_the_twos_that_matter() {
    let (sharing, beside) = mixed();
    let together = Paired::of(&sharing, &beside, |_| [0; 3]);
    let apart = Paired::of(&sharing, &beside, |row| [row as u64, 0, 0]);
    let by_prices = Paired { few: 0, ..apart.over(std::iter::repeat_n(1.0, 40)) };
    assert!(together.twos().count() < 400 && by_prices.twos().count() > 500);
    let plain = sharing.max_min().level;
    let levels = [&together, &apart, &by_prices].map(|paired| {
        let division = paired.max_min();
        assert!(division.is_optimal);
        division.level
    });
    for level in levels {
        assert!((level / levels[0] - 1.0).abs() < 1e-5, "{levels:?}");
        assert!(level > plain * 1.1, "{level} {plain}");
    }
    let used = by_prices.solve(&Aim::Level, Vec::new()).twos.len();
    assert!(used < by_prices.twos().count() / 2, "{used} twos were looked at");
}

/// Everybody gets what the level says, within its time and the places.
#[test]
fn what_is_dealt_out_is_what_was_found() {
    let (sharing, beside) = mixed();
    let division = sharing.max_min_in_pairs(&beside);
    let mut worths = vec![0.0; 40];
    let mut times = vec![0.0; 40];
    let mut taken = [0.0; 2];
    for (index, parts) in division.parts.iter().enumerate() {
        for (column, part) in parts.iter().enumerate() {
            worths[index] += sharing.rows[index].worth[column] * part;
            times[index] += part;
            taken[column] += part;
        }
    }
    for pair in &division.pairs {
        for (column, part) in pair.parts.iter().enumerate() {
            let (a, b) = pair.rows;
            for (row, other) in [(a, b), (b, a)] {
                let sort = |row: usize| beside.sort_of[row].expect("a sort");
                let kept = beside.kept[(column * 3 + sort(row)) * 3 + sort(other)];
                worths[row] += sharing.rows[row].worth[column] * kept * part;
                times[row] += part;
            }
            taken[column] += part;
        }
    }
    let least = worths.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(least > division.level * 0.99, "{least} {}", division.level);
    assert!(times.iter().all(|time| *time < 1.0 + 1e-3), "{times:?}");
    assert!(taken[0] < 6.001 && taken[1] < 9.001, "{taken:?}");
}

/// Two on one place end as if they had most of it each.
#[test]
fn lateness_falls_where_two_may_share() {
    let (sharing, beside) = alike(2, 1.0, 0.8);
    let finish = Finish { elapsed_s: 0.0, left: 8.0, promised_s: 16.0 };
    let alone = sharing.min_max_finish(&[finish; 2]);
    let paired = sharing.min_max_finish_in_pairs(&[finish; 2], &beside);
    assert!((alone.level - 1.0).abs() < 1e-6, "{alone:?}");
    assert!((paired.level - 0.625).abs() < 1e-6, "{paired:?}");
}
