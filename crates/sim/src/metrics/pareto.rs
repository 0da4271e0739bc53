//! Who is on the Pareto front: nobody else is at least as good in everything and better in
//! something.

/// Whether each point is on the front of those that count; less is better.
pub fn pareto_front<const N: usize>(points: &[Option<[f64; N]>]) -> Vec<bool> {
    let better = |a: &[f64; N], b: &[f64; N]| {
        let pairs = || a.iter().zip(b);
        pairs().all(|(a, b)| a <= b) && pairs().any(|(a, b)| a < b)
    };
    let on_front = |point: &Option<[f64; N]>| match point {
        None => false,
        Some(own) => !points.iter().flatten().any(|other| better(other, own)),
    };
    points.iter().map(on_front).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_beaten_in_everything_is_not_on_the_front() {
        let points = [Some([1.0, 5.0]), Some([2.0, 2.0]), Some([2.0, 3.0]), None, Some([1.0, 5.0])];
        assert_eq!(pareto_front(&points), [true, true, false, false, true]);
    }
}
