//! Curves through losses: what a job still gets wrong falls ever more slowly, as one over a
//! straight line (as for methods of the first order) or exponentially (for those of the second), to
//! some level. For a given level either is a straight line in other coordinates, so the level is
//! all that has to be searched for.

use serde::{Deserialize, Serialize};

/// How a loss falls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fall {
    /// 1 ÷ (slope·x + start) + level.
    Hyperbolic,
    /// exp(start − slope·x) + level.
    Exponential,
}

/// A fitted curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Falling {
    /// How it falls.
    pub fall: Fall,
    /// How fast.
    pub slope: f64,
    /// From where.
    pub start: f64,
    /// To what level.
    pub level: f64,
    /// Standard deviation of the losses around it.
    pub error: f64,
}

/// Fewer losses than this tell nothing.
pub const LOSSES_MIN: usize = 4;

/// Levels that are tried, and steps by which the best of them is refined.
const LEVELS: usize = 24;
const REFINED: usize = 40;
/// What is below zero falls no further than so many times as far as it was seen to.
const FURTHER: f64 = 16.0;

impl Falling {
    /// The loss after so much work.
    pub fn at(&self, done: f64) -> f64 {
        let line = self.start + self.slope * done;
        match self.fall {
            Fall::Hyperbolic => 1.0 / line.max(f64::MIN_POSITIVE) + self.level,
            Fall::Exponential => (self.start - self.slope * done).exp() + self.level,
        }
    }
}

/// The curve nearest to losses after so much work each, in order of work. Later thirds count four
/// and sixteen times as much as the first. None for fewer than four losses or such that do not
/// fall.
pub fn fit_falling(losses: &[(f64, f64)]) -> Option<Falling> {
    let sound = losses.iter().all(|(done, loss)| done.is_finite() && loss.is_finite());
    if losses.len() < LOSSES_MIN || !sound {
        return None;
    }
    let scale = losses.iter().map(|(done, _)| done.abs()).fold(0.0, f64::max);
    let least = losses.iter().map(|(_, loss)| *loss).fold(f64::INFINITY, f64::min);
    let most = losses.iter().map(|(_, loss)| *loss).fold(f64::NEG_INFINITY, f64::max);
    if scale <= 0.0 || most <= least {
        return None;
    }
    let scaled: Vec<(f64, f64)> = losses.iter().map(|(done, loss)| (done / scale, *loss)).collect();
    let fits = [Fall::Hyperbolic, Fall::Exponential].map(|fall| best(&scaled, fall, least, most));
    let found = fits.into_iter().flatten().min_by(|a, b| a.error.total_cmp(&b.error))?;
    Some(Falling { slope: found.slope / scale, ..found })
}

/// The best level for a way to fall: tried at some, then refined by golden sections.
fn best(losses: &[(f64, f64)], fall: Fall, least: f64, most: f64) -> Option<Falling> {
    let range = most - least;
    let near = 1e-3 * range;
    let level = |part: f64| match least >= 0.0 {
        // A loss is at least zero.
        true => (least - near) * part,
        // Of what can be below zero, such as a score with its sign changed, nobody knows how far
        // down it goes: some times as far as it has come, and nearer levels are tried more closely.
        false => least - near * (FURTHER / 1e-3).powf(1.0 - part),
    };
    let at = |part: f64| at_level(losses, fall, level(part));
    let error = |part: f64| at(part).map_or(f64::INFINITY, |found| found.error);
    let parts = (0..=LEVELS).map(|index| index as f64 / LEVELS as f64);
    let first = parts.min_by(|a, b| error(*a).total_cmp(&error(*b)))?;
    let step = 1.0 / LEVELS as f64;
    let (mut from, mut to) = ((first - step).max(0.0), (first + step).min(1.0));
    let golden = 0.618_033_988_749_895;
    for _ in 0..REFINED {
        let (left, right) = (to - golden * (to - from), from + golden * (to - from));
        if error(left) <= error(right) { to = right } else { from = left }
    }
    at(f64::midpoint(from, to)).or_else(|| at(first))
}

/// The curve with a given level: a straight line through transformed losses, each weighted so that
/// errors count as they would before.
fn at_level(losses: &[(f64, f64)], fall: Fall, level: f64) -> Option<Falling> {
    let weight = |index: usize| [1.0, 4.0, 16.0][(index * 3 / losses.len()).min(2)];
    let mut sums = [0.0; 5];
    for (index, (done, loss)) in losses.iter().enumerate() {
        let above = loss - level;
        if above <= 0.0 {
            return None;
        }
        let (value, slope) = match fall {
            Fall::Hyperbolic => (1.0 / above, above * above),
            Fall::Exponential => (-above.ln(), above),
        };
        let weight = weight(index) * slope * slope;
        let terms = [1.0, *done, done * done, value, done * value];
        sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += weight * term);
    }
    let [count, x, xx, y, xy] = sums;
    let spread = count * xx - x * x;
    let slope = if spread > 1e-12 * count * xx { (count * xy - x * y) / spread } else { 0.0 };
    let slope = slope.max(0.0);
    let start = (y - slope * x) / count;
    let start = match fall {
        Fall::Hyperbolic => start.max(1e-9),
        Fall::Exponential => -start,
    };
    let curve = Falling { fall, slope, start, level, error: 0.0 };
    let (mut off, mut all) = (0.0, 0.0);
    for (index, (done, loss)) in losses.iter().enumerate() {
        off += weight(index) * (curve.at(*done) - loss).powi(2);
        all += weight(index);
    }
    // Three numbers were fitted.
    let spare = losses.len() as f64 / (losses.len() as f64 - 3.0);
    let error = (off / all * spare).sqrt();
    (slope > 0.0 && error.is_finite()).then_some(Falling { error, ..curve })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn losses(curve: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        (1..=20).map(|index| (f64::from(index) * 50.0, curve(f64::from(index) * 50.0))).collect()
    }

    #[test]
    fn curves_are_found_again() {
        let hyperbola = |done: f64| 1.0 / (0.01 * done + 0.5) + 0.2;
        let found = fit_falling(&losses(hyperbola)).expect("it falls");
        assert_eq!(found.fall, Fall::Hyperbolic);
        for done in [0.0, 500.0, 2000.0, 10_000.0] {
            let (here, there) = (found.at(done), hyperbola(done));
            assert!((here / there - 1.0).abs() < 0.01, "{done}: {here} {there}");
        }
        let exponential = |done: f64| 3.0 * (-done / 300.0).exp() + 0.7;
        let found = fit_falling(&losses(exponential)).expect("it falls");
        assert_eq!(found.fall, Fall::Exponential);
        assert!((found.at(2000.0) - 0.7).abs() < 0.01, "{found:?}");
    }

    /// A score that rises to 0.9, of which a fifth has been seen, and the same less 0.9.
    #[test]
    fn it_does_not_matter_where_zero_is() {
        let falls = |done: f64| 0.9 * (-done / 4000.0).exp();
        let [above, below] = [0.0, 0.9].map(|less| {
            let found = fit_falling(&losses(|done| falls(done) - less)).expect("it falls");
            found.at(20_000.0) + less
        });
        let right = falls(20_000.0);
        assert!((above - right).abs() < 0.02 && (below - right).abs() < 0.02, "{above} {below}");
    }

    #[test]
    fn what_does_not_fall_has_no_curve() {
        assert_eq!(fit_falling(&losses(|_| 1.0)), None);
        assert_eq!(fit_falling(&losses(|done| done)), None);
        assert_eq!(fit_falling(&[(1.0, 1.0), (2.0, 0.5)]), None, "too few");
        assert_eq!(fit_falling(&losses(|done| if done > 500.0 { f64::NAN } else { 1.0 })), None);
    }

    #[test]
    fn errors_are_told() {
        let wave = |done: f64| 1.0 / (0.01 * done + 0.5) + 0.02 * (done / 7.0).sin();
        let found = fit_falling(&losses(wave)).expect("it falls");
        assert!(found.error > 0.005 && found.error < 0.04, "{found:?}");
    }
}
