//! The parameters of [`Throughput`] that agree best with what was measured.

use super::Throughput;
use super::minimise::Search;
use super::throughput::TINY;

/// Stop when a step gains less than two billionths, as Pollux does.
pub const TO_NINE_DIGITS: f64 = 1e7 * f64::EPSILON;
/// Stop when a step gains less than a hundred-thousandth, as Sia does.
pub const TO_FIVE_DIGITS: f64 = 1e-5;

/// What was measured in one setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Nodes used.
    pub nodes: u32,
    /// Replicas on them.
    pub replicas: u32,
    /// Examples of one pass on one replica.
    pub batch: u32,
    /// Seconds of a pass without an exchange; more than nothing.
    pub gradient_s: f64,
    /// Seconds of a pass with an exchange; more than nothing.
    pub step_s: f64,
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fitted {
    /// How long steps take.
    pub throughput: Throughput,
    /// What is left of the error, penalties included.
    pub error: f64,
    /// Steps that took.
    pub steps: u32,
    /// Whether it ended because nothing better was near, not because steps ran out.
    pub is_settled: bool,
}

/// Steps allowed; the hardest of those tried took 475.
const STEPS_MAX: u32 = 1_000;
/// Where the search begins.
const START: [f64; 7] = [0.1, 0.01, 0.1, 0.01, 0.1, 0.01, 1.001];
/// What is known to be no less.
const LOWER: [f64; 7] = [TINY, TINY, TINY, TINY, TINY, TINY, 1.0];
/// Unknown overlap counts as little …
const OVERLAP_PENALTY: f64 = 1e-3;
/// … and so does a cost per replica, compared with what is fixed.
const REPLICA_PENALTY: f64 = 1e-2;
/// An exchange across nodes that was never seen takes so much longer than one within.
const ACROSS_FACTOR: f64 = 1.1;

/// Fit parameters to samples, until a step gains less than `tolerance`. What was never measured
/// is taken to cost nothing: without an exchange across nodes it costs hardly more than one within,
/// without any exchange it is free. There has to be at least one sample.
pub fn fit(samples: &[Sample], tolerance: f64) -> Fitted {
    let mut search = Search {
        start: START,
        lower: LOWER,
        upper: [f64::INFINITY; 7],
        tolerance,
        steps_max: STEPS_MAX,
    };
    search.upper[6] = 10.0;
    let mut pin = |parameter: usize, value: f64| {
        search.start[parameter] = value;
        search.lower[parameter] = value;
        search.upper[parameter] = value;
    };
    if samples.iter().all(|sample| sample.batch == samples[0].batch) {
        let sum_s: f64 = samples.iter().map(|sample| sample.gradient_s).sum();
        pin(0, sum_s / samples.len() as f64 / 2.0);
    }
    let across = samples.iter().any(|sample| sample.nodes > 1);
    let within = samples.iter().any(|sample| sample.nodes == 1 && sample.replicas > 1);
    let beyond_two = samples.iter().any(|sample| sample.replicas > 2);
    let unseen =
        [(2, !across), (3, !across || !beyond_two), (4, !within), (5, !within || !beyond_two)];
    for (parameter, _) in unseen.iter().filter(|(_, unseen)| *unseen) {
        pin(*parameter, TINY);
    }
    let found = search.minimise(|parameters| error(parameters, samples));
    let mut throughput = throughput(&found.at);
    if !across {
        let within = (throughput.within_s, throughput.within_per_replica_s);
        throughput.across_s = throughput.across_s.max(ACROSS_FACTOR * within.0);
        throughput.across_per_replica_s =
            throughput.across_per_replica_s.max(ACROSS_FACTOR * within.1);
    }
    Fitted { throughput, error: found.value, steps: found.steps, is_settled: found.is_settled }
}

fn throughput(parameters: &[f64; 7]) -> Throughput {
    let [gradient_s, gradient_per_example_s, across_s, across_per_replica_s, ..] = *parameters;
    let [.., within_s, within_per_replica_s, overlap] = *parameters;
    Throughput {
        gradient_s,
        gradient_per_example_s,
        across_s,
        across_per_replica_s,
        within_s,
        within_per_replica_s,
        overlap,
    }
}

/// Root mean squares of how far the logarithms of predictions are off, with penalties; and the
/// slope of that.
fn error(parameters: &[f64; 7], samples: &[Sample]) -> (f64, [f64; 7]) {
    let model = throughput(parameters);
    let (mut gradient, mut step) = (Squares::default(), Squares::default());
    for sample in samples {
        let batch = f64::from(sample.batch);
        let gradient_s = model.gradient_s(batch);
        let off = (gradient_s / sample.gradient_s).ln();
        gradient.add(off, &[(0, 1.0 / gradient_s), (1, batch / gradient_s)]);
        let exchange_s = model.exchange_s(sample.nodes, sample.replicas);
        let beyond = (f64::from(sample.replicas) - 2.0).max(TINY);
        // With u = (exchange / gradient)^overlap, ln step = ln gradient + ln(1 + u) / overlap.
        let ratio = (exchange_s / gradient_s).ln();
        let power = (model.overlap * ratio).exp();
        let longer = if power.is_finite() { power.ln_1p() } else { model.overlap * ratio };
        let off = gradient_s.ln() + longer / model.overlap - sample.step_s.ln();
        let part = 1.0 / (1.0 + 1.0 / power);
        let of_gradient = (1.0 - part) / gradient_s;
        let of_exchange = part / exchange_s;
        let of_overlap = (part * ratio - longer / model.overlap) / model.overlap;
        let first = match (sample.nodes, sample.replicas) {
            (2.., _) => Some(2),
            (_, 2..) => Some(4),
            _ => None,
        };
        let own = first.map_or([(2, 0.0), (3, 0.0)], |first| {
            [(first, of_exchange), (first + 1, of_exchange * beyond)]
        });
        let gradients = [(0, of_gradient), (1, of_gradient * batch), (6, of_overlap)];
        step.add(off, &[gradients[0], gradients[1], gradients[2], own[0], own[1]]);
    }
    let (mut value, mut slope) = (0.0, [0.0; 7]);
    gradient.root(samples.len(), &mut value, &mut slope);
    step.root(samples.len(), &mut value, &mut slope);
    let over = parameters[6] - 1.0;
    value += OVERLAP_PENALTY * over * over;
    slope[6] += 2.0 * OVERLAP_PENALTY * over;
    for fixed in [2, 4] {
        let ratio = parameters[fixed + 1] / parameters[fixed];
        value += REPLICA_PENALTY * ratio * ratio;
        slope[fixed + 1] += 2.0 * REPLICA_PENALTY * ratio / parameters[fixed];
        slope[fixed] -= 2.0 * REPLICA_PENALTY * ratio * ratio / parameters[fixed];
    }
    (value, slope)
}

/// A sum of squares and its half slope.
#[derive(Default)]
struct Squares {
    sum: f64,
    slope: [f64; 7],
}

impl Squares {
    fn add(&mut self, off: f64, slopes: &[(usize, f64)]) {
        self.sum += off * off;
        for (parameter, slope) in slopes {
            self.slope[*parameter] += off * slope;
        }
    }

    /// Add the root of the mean and its slope; where nothing is off, it is flat.
    fn root(&self, count: usize, value: &mut f64, slope: &mut [f64; 7]) {
        let root = (self.sum / count as f64).sqrt();
        *value += root;
        if root > 0.0 {
            for (total, own) in slope.iter_mut().zip(self.slope) {
                *total += own / (count as f64 * root);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(nodes: u32, replicas: u32, batch: u32, truth: &Throughput) -> Sample {
        let gradient_s = truth.gradient_s(f64::from(batch));
        let step_s = truth.step_s(nodes, replicas, f64::from(batch), 0);
        Sample { nodes, replicas, batch, gradient_s, step_s }
    }

    const TRUTH: Throughput = Throughput {
        gradient_s: 0.05,
        gradient_per_example_s: 0.002,
        across_s: 0.2,
        across_per_replica_s: 0.001,
        within_s: 0.03,
        within_per_replica_s: 0.0005,
        overlap: 1.2,
    };

    #[test]
    fn the_slope_is_that_of_the_error() {
        let shapes = [(1, 1, 32), (1, 2, 64), (1, 4, 32), (2, 6, 128), (3, 12, 64)];
        let mut samples =
            shapes.map(|(nodes, replicas, batch)| sample(nodes, replicas, batch, &TRUTH));
        samples[1].step_s *= 1.2;
        samples[3].gradient_s *= 0.8;
        let at = [0.1, 0.01, 0.15, 0.02, 0.08, 0.012, 1.7];
        let (_, slope) = error(&at, &samples);
        for parameter in 0..7 {
            let near = |by: f64| {
                let mut moved = at;
                moved[parameter] += by;
                error(&moved, &samples).0
            };
            let measured = (near(1e-6) - near(-1e-6)) / 2e-6;
            let off = (measured - slope[parameter]).abs();
            assert!(off < 1e-6 * (1.0 + measured.abs()), "{parameter}: {measured} {slope:?}");
        }
    }

    /// Measurements are never exact; where they are, the error has an edge on which a search may
    /// stop early.
    #[test]
    fn what_was_measured_is_predicted() {
        let shapes = [(1, 1, 32), (1, 2, 64), (1, 4, 32), (2, 6, 128), (3, 12, 64), (2, 8, 32)];
        let mut samples = shapes.map(|(nodes, gpus, batch)| sample(nodes, gpus, batch, &TRUTH));
        for (index, sample) in samples.iter_mut().enumerate() {
            sample.gradient_s *= 0.97 + 0.01 * index as f64;
            sample.step_s *= 1.03 - 0.01 * index as f64;
        }
        let found = fit(&samples, TO_NINE_DIGITS);
        assert!(found.is_settled, "{found:?}");
        for sample in samples {
            let batch = f64::from(sample.batch);
            let step_s = found.throughput.step_s(sample.nodes, sample.replicas, batch, 0);
            assert!((step_s / sample.step_s - 1.0).abs() < 0.05, "{sample:?} {step_s}");
        }
    }

    #[test]
    fn what_was_never_seen_is_free() {
        let alone = fit(&[sample(1, 1, 32, &TRUTH)], TO_NINE_DIGITS).throughput;
        assert!((alone.gradient_s - 0.057).abs() < 1e-9, "half of what a pass took");
        assert!(alone.exchange_s(1, 8) < 1e-6 && alone.exchange_s(8, 64) < 1e-6);
        let pair = [sample(1, 1, 32, &TRUTH), sample(1, 2, 32, &TRUTH)];
        let pair = fit(&pair, TO_NINE_DIGITS).throughput;
        assert!((pair.across_s / pair.within_s - 1.1).abs() < 1e-9, "a little slower across");
    }
}
