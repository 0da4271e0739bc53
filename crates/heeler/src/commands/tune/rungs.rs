//! Who goes on to more jobs. Where scores are level nobody is left out for what it is called or
//! for when it was named: either all who are level go on, or none of them.

use super::FINALISTS;

/// Scores that differ by less than this are level: they are sums in floating point.
const STEP: f64 = 1e-9;

/// A score as a whole number of the smallest steps that count: less is better.
pub(super) fn rank(score: f64) -> u64 {
    // What is beyond all numbers is still the last.
    (score.max(0.0) / STEP).round() as u64
}

/// How many are as good as the first, of scores with the best first.
pub(super) fn level_with_first(scores: &[f64]) -> usize {
    let Some(first) = scores.first() else { return 0 };
    scores.iter().take_while(|score| rank(**score) == rank(*first)).count()
}

/// How many of the best go on, if so many should: also who is level with the last of them. If that
/// were more than twice as many, only those go on that are better, as long as they are enough.
pub(super) fn going_on(scores: &[f64], keep: usize) -> usize {
    let Some(last) = scores.get(keep.saturating_sub(1)).or(scores.last()) else { return 0 };
    let last = rank(*last);
    let with_level = scores.iter().take_while(|score| rank(**score) <= last).count();
    let better = scores.iter().take_while(|score| rank(**score) < last).count();
    if with_level > 2 * keep && better >= FINALISTS { better } else { with_level }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_level_with_the_last_goes_on() {
        assert_eq!(going_on(&[1.0; 38], 12), 38, "nothing was decided");
        assert_eq!(level_with_first(&[1.0; 38]), 38);
        let scores = [0.5, 0.6, 0.7, 0.7, 0.7 + 1e-13, 0.8];
        assert_eq!(
            [1, 2, 3, 4, 5, 6, 9].map(|keep| going_on(&scores, keep)),
            [1, 2, 5, 5, 5, 6, 6]
        );
        assert_eq!((level_with_first(&scores), going_on(&[], 5)), (1, 0));
    }

    #[test]
    fn many_who_are_level_behind_enough_others_do_not_go_on() {
        let scores = |better: usize| [vec![0.5; better], vec![1.0; 30]].concat();
        assert_eq!(going_on(&scores(FINALISTS), 6), FINALISTS);
        assert_eq!(going_on(&scores(FINALISTS - 1), 6), FINALISTS - 1 + 30);
        assert_eq!(going_on(&[vec![0.5; 5], vec![1.0; 7]].concat(), 6), 12, "twice as many");
    }

    #[test]
    fn who_did_not_finish_is_last() {
        assert!(rank(f64::INFINITY) > rank(1e6) && rank(1.0) < rank(1.0 + 1e-8));
    }
}
