//! Twos against all that can be tried.

use super::*;
use proptest::prelude::*;

/// The largest weight that any matching has, by trying all.
fn largest(weights: &[Vec<f64>], free: &mut Vec<bool>) -> f64 {
    let Some(one) = free.iter().position(|free| *free) else { return 0.0 };
    free[one] = false;
    let mut best = largest(weights, free);
    for other in one + 1..weights.len() {
        if free[other] && weights[one][other] > 0.0 {
            free[other] = false;
            best = best.max(weights[one][other] + largest(weights, free));
            free[other] = true;
        }
    }
    free[one] = true;
    best
}

fn symmetric(size: usize, entries: &[u32]) -> Vec<Vec<f64>> {
    let mut weights = vec![vec![0.0; size]; size];
    let twos = (0..size).flat_map(|one| (one + 1..size).map(move |other| (one, other)));
    for ((one, other), entry) in twos.zip(entries) {
        weights[one][other] = f64::from(*entry) / 16.0;
        weights[other][one] = weights[one][other];
    }
    weights
}

#[test]
fn weight_goes_before_number() {
    // A path of three edges: the one in the middle weighs more than the other two.
    let mut weights = vec![vec![0.0; 4]; 4];
    for (one, other, weight) in [(0, 1, 2.0), (1, 2, 5.0), (2, 3, 2.0)] {
        weights[one][other] = weight;
        weights[other][one] = weight;
    }
    let found = heaviest_matching(&weights, 1000);
    assert_eq!(found.with, [None, Some(2), Some(1), None]);
    assert_eq!((found.weight, found.optimal), (5.0, true));
    weights[0][1] = 3.0;
    weights[1][0] = 3.0;
    weights[2][3] = 3.0;
    weights[3][2] = 3.0;
    assert_eq!(heaviest_matching(&weights, 1000).weight, 6.0);
}

#[test]
fn nobody_is_matched_where_nothing_weighs() {
    let found = heaviest_matching(&vec![vec![0.0; 3]; 3], 10);
    assert_eq!(found.with, [None, None, None]);
    assert!(found.optimal && heaviest_matching(&[], 10).with.is_empty());
}

#[test]
fn a_search_that_is_cut_short_says_so() {
    let weights = symmetric(6, &[3, 5, 7, 2, 9, 4, 6, 8, 1, 5, 7, 3, 2, 6, 4]);
    let found = heaviest_matching(&weights, 1);
    assert!(!found.optimal);
    let twos = found.with.iter().enumerate();
    assert!(twos.into_iter().all(|(one, with)| with.is_none_or(|w| found.with[w] == Some(one))));
}

proptest! {
    #[test]
    fn no_matching_weighs_more(
        size in 2usize..9,
        entries in prop::collection::vec(0u32..12, 36),
    ) {
        let weights = symmetric(size, &entries);
        let found = heaviest_matching(&weights, 10_000);
        for (one, with) in found.with.iter().enumerate() {
            prop_assert!(with.is_none_or(|other| found.with[other] == Some(one)));
            prop_assert!(with.is_none_or(|other| weights[one][other] > 0.0));
        }
        let best = largest(&weights, &mut vec![true; size]);
        prop_assert!(found.optimal);
        prop_assert_eq!(found.weight, best);
    }

    #[test]
    fn begun_from_halves_no_matching_weighs_more(
        size in 2usize..9,
        entries in prop::collection::vec(0u32..12, 36),
    ) {
        let weights = symmetric(size, &entries);
        let found = heaviest_from_halves(&weights);
        for (one, with) in found.with.iter().enumerate() {
            prop_assert!(with.is_none_or(|other| found.with[other] == Some(one)));
            prop_assert!(with.is_none_or(|other| weights[one][other] > 0.0));
        }
        prop_assert!(found.optimal);
        prop_assert_eq!(found.weight, largest(&weights, &mut vec![true; size]));
    }

    #[test]
    fn from_halves_and_from_nothing_weigh_the_same(
        size in 2usize..60,
        entries in prop::collection::vec(0u32..200, 60 * 59 / 2),
        steps in 1u32..200,
    ) {
        // Many that weigh the same make many rings.
        let entries: Vec<u32> = entries.iter().map(|entry| entry / steps).collect();
        let weights = symmetric(size, &entries);
        let halves = heaviest_from_halves(&weights);
        let nothing = heaviest_matching(&weights, 100_000);
        prop_assert!(halves.optimal && nothing.optimal);
        prop_assert_eq!(halves.weight, nothing.weight);
    }
}
