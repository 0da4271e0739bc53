//! The batch with the best goodput on so many replicas, searched on the grid that the programs of
//! Pollux and Sia use: fifty totals, evenly spread by ratio.

use super::Throughput;

/// Candidates tried.
const CANDIDATES: u32 = 50;
/// What may be missing to a whole number that was meant.
const ROUNDING: f64 = 1e-8;

/// The noise of gradients, relative to the initial batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Squared length of the mean gradient.
    pub square: f64,
    /// Variance of the gradient of one initial batch.
    pub variance: f64,
}

/// Which batches are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Examples of the batch for which everything else was tuned; no total is smaller.
    pub initial_batch: u32,
    /// Most examples of all replicas together.
    pub batch_max: u32,
    /// Fewest examples of one pass on one replica.
    pub atomic_min: u32,
    /// Most examples of one pass on one replica: what its memory holds.
    pub atomic_max: u32,
    /// Whether several passes may make one step.
    pub accumulates: bool,
}

/// The batch that was found best.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// Useful examples per second.
    pub goodput: f64,
    /// Examples of one pass on one replica.
    pub batch: u32,
    /// Passes before the one with an exchange.
    pub accumulation: u32,
}

/// All that goodput hangs on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goodput {
    /// How long steps take.
    pub throughput: Throughput,
    /// How noisy gradients are.
    pub noise: Noise,
    /// Which batches are allowed.
    pub limits: Limits,
}

impl Noise {
    /// Steps of the initial batch that one step of a batch so many times as large is worth:
    /// between one and the ratio.
    pub fn gain(&self, ratio: f64) -> f64 {
        let left = self.variance / ratio + self.square;
        if left > 0.0 { (self.variance + self.square) / left } else { 1.0 }
    }

    /// What an example teaches in a batch so many times as large, compared with the initial one.
    pub fn efficiency(&self, ratio: f64) -> f64 {
        self.gain(ratio) / ratio
    }
}

impl Goodput {
    /// Useful examples per second with a given batch.
    pub fn at(&self, nodes: u32, replicas: u32, batch: u32, accumulation: u32) -> f64 {
        let total = f64::from(replicas) * f64::from(batch) * f64::from(accumulation + 1);
        let efficiency = self.noise.efficiency(total / f64::from(self.limits.initial_batch));
        self.throughput.examples_per_s(nodes, replicas, batch, accumulation) * efficiency
    }

    /// The best batch on so many replicas; the smaller of equals. None if no batch is allowed.
    /// Nothing is allocated, and powers are only taken of candidates that may be the best.
    pub fn best_batch(&self, nodes: u32, replicas: u32) -> Option<Choice> {
        let Limits { initial_batch, batch_max, atomic_min, .. } = self.limits;
        let least = initial_batch.max(atomic_min.saturating_mul(replicas));
        if least > batch_max || least == 0 || replicas == 0 {
            return None;
        }
        let mut best: Option<Choice> = None;
        let exchange_s = self.throughput.exchange_s(nodes, replicas);
        let better = |choice: Choice, best: &Option<Choice>| {
            best.is_none_or(|best| choice.goodput > best.goodput)
        };
        let mut hope: Option<Choice> = None;
        self.candidates(least, replicas, |batch, accumulation| {
            let goodput = self.at_most(replicas, batch, accumulation, exchange_s);
            let choice = Choice { goodput, batch, accumulation };
            if better(choice, &hope) {
                hope = Some(choice);
            }
        });
        // What looks best is nearly always best; all that cannot reach it is passed over.
        let sure = hope.map(|hope| self.at(nodes, replicas, hope.batch, hope.accumulation))?;
        self.candidates(least, replicas, |batch, accumulation| {
            if self.at_most(replicas, batch, accumulation, exchange_s) < sure * (1.0 - ROUNDING) {
                return;
            }
            let goodput = self.at(nodes, replicas, batch, accumulation);
            let choice = Choice { goodput, batch, accumulation };
            if better(choice, &best) {
                best = Some(choice);
            }
        });
        best.filter(|best| best.goodput > 0.0)
    }

    /// The best batches for many shapes, into a list that is used again.
    pub fn best_batches(&self, shapes: &[(u32, u32)], into: &mut Vec<Option<Choice>>) {
        into.clear();
        into.extend(shapes.iter().map(|(nodes, replicas)| self.best_batch(*nodes, *replicas)));
    }

    /// What goodput cannot exceed: as if the shorter of gradient and exchange were hidden wholly.
    fn at_most(&self, replicas: u32, batch: u32, accumulation: u32, exchange_s: f64) -> f64 {
        let gradient_s = self.throughput.gradient_s(f64::from(batch));
        let step_s = f64::from(accumulation) * gradient_s + gradient_s.max(exchange_s);
        let total = f64::from(replicas) * f64::from(batch) * f64::from(accumulation + 1);
        let efficiency = self.noise.efficiency(total / f64::from(self.limits.initial_batch));
        total / step_s * efficiency
    }

    /// Go over all batches of the grid that are allowed, each once in a row.
    fn candidates(&self, least: u32, replicas: u32, mut each: impl FnMut(u32, u32)) {
        let Limits { initial_batch, batch_max, atomic_min, atomic_max, accumulates } = self.limits;
        let (initial, alone) = (f64::from(initial_batch), replicas == 1);
        let ratio = f64::from(batch_max) / f64::from(least);
        let step = ratio.powf(1.0 / f64::from(CANDIDATES - 1));
        let mut total = f64::from(least);
        let mut last = None;
        for index in 0..CANDIDATES {
            if index == CANDIDATES - 1 {
                total = f64::from(batch_max);
            }
            let own = total / f64::from(replicas);
            total *= step;
            let (batch, accumulation) = if accumulates {
                let mut passes = (own / f64::from(atomic_max) - ROUNDING).ceil().max(1.0);
                // One gradient by itself does not tell its noise.
                if alone && own > initial + ROUNDING {
                    passes = passes.max(2.0);
                }
                ((own / passes - ROUNDING).ceil(), passes as u32 - 1)
            } else if alone {
                (initial, 0)
            } else {
                ((own - ROUNDING).ceil(), 0)
            };
            let batch = batch as u32;
            let is_allowed = (atomic_min..=atomic_max).contains(&batch);
            if is_allowed && last != Some((batch, accumulation)) {
                each(batch, accumulation);
                last = Some((batch, accumulation));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Goodput {
        Goodput {
            throughput: Throughput {
                gradient_s: 0.1,
                gradient_per_example_s: 0.001,
                across_s: 0.2,
                across_per_replica_s: 0.01,
                within_s: 0.05,
                within_per_replica_s: 0.001,
                overlap: 1.5,
            },
            noise: Noise { square: 1.0, variance: 4.0 },
            limits: Limits {
                initial_batch: 128,
                batch_max: 4096,
                atomic_min: 32,
                atomic_max: 512,
                accumulates: true,
            },
        }
    }

    #[test]
    fn a_gain_lies_between_one_and_the_ratio() {
        let noise = Noise { square: 1.0, variance: 4.0 };
        assert_eq!(noise.gain(1.0), 1.0);
        assert!((noise.gain(4.0) - 2.5).abs() < 1e-12);
        assert_eq!(Noise { square: 0.0, variance: 1.0 }.gain(8.0), 8.0, "all noise");
        assert_eq!(Noise { square: 1.0, variance: 0.0 }.gain(8.0), 1.0, "no noise");
        assert_eq!(Noise { square: 0.0, variance: 0.0 }.gain(8.0), 1.0, "nothing known");
    }

    /// What is passed over cannot be the best: the plain search over all candidates agrees.
    #[test]
    fn nothing_better_is_passed_over() {
        for (nodes, replicas) in [(1, 1), (1, 2), (1, 4), (2, 8), (4, 16), (8, 32)] {
            for overlap in [1.0, 1.5, 9.0] {
                let mut goodput = example();
                goodput.throughput.overlap = overlap;
                let least = 128.max(32 * replicas);
                let mut plain: Option<Choice> = None;
                goodput.candidates(least, replicas, |batch, accumulation| {
                    let worth = goodput.at(nodes, replicas, batch, accumulation);
                    if plain.is_none_or(|plain| worth > plain.goodput) {
                        plain = Some(Choice { goodput: worth, batch, accumulation });
                    }
                });
                assert_eq!(goodput.best_batch(nodes, replicas), plain);
            }
        }
    }

    #[test]
    fn no_batch_is_better_than_a_forbidden_one() {
        let mut goodput = example();
        assert_eq!(goodput.best_batch(16, 129), None, "129 times 32 is above the limit");
        goodput.limits.accumulates = false;
        let alone = goodput.best_batch(1, 1).expect("the initial batch fits");
        assert_eq!((alone.batch, alone.accumulation), (128, 0), "its noise cannot be told");
    }
}
