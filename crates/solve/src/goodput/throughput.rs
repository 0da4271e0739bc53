//! How long steps of data-parallel training take, by seven parameters: a gradient costs something
//! fixed and something per example, an exchange something fixed and something per replica, and
//! the two overlap more or less.

/// Less than any time that matters, where logarithms need more than nothing.
pub(super) const TINY: f64 = 1e-8;

/// How long steps take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Throughput {
    /// Seconds of every pass forward and backward.
    pub gradient_s: f64,
    /// Seconds more for every example in it.
    pub gradient_per_example_s: f64,
    /// Seconds of an exchange across nodes.
    pub across_s: f64,
    /// Seconds more for every replica beyond two.
    pub across_per_replica_s: f64,
    /// Seconds of an exchange within a node.
    pub within_s: f64,
    /// Seconds more for every replica beyond two.
    pub within_per_replica_s: f64,
    /// How much gradients and exchanges overlap: at 1 not at all, at 10 almost wholly.
    pub overlap: f64,
}

impl Throughput {
    /// Seconds of one pass forward and backward over a batch on one replica.
    pub fn gradient_s(&self, batch: f64) -> f64 {
        self.gradient_s + self.gradient_per_example_s * batch
    }

    /// Seconds in which replicas on so many nodes exchange their gradients.
    pub fn exchange_s(&self, nodes: u32, replicas: u32) -> f64 {
        let beyond = (f64::from(replicas) - 2.0).max(TINY);
        match (nodes, replicas) {
            (2.., _) => self.across_s + self.across_per_replica_s * beyond,
            (_, 2..) => self.within_s + self.within_per_replica_s * beyond,
            _ => TINY + TINY * beyond,
        }
    }

    /// Seconds of a gradient and an exchange that overlap.
    pub fn overlapped_s(&self, gradient_s: f64, exchange_s: f64) -> f64 {
        // In units of the longer one, so that powers neither overflow nor vanish.
        let (long, short) = (gradient_s.max(exchange_s), gradient_s.min(exchange_s));
        if long <= 0.0 {
            return 0.0;
        }
        long * (1.0 + (short / long).powf(self.overlap)).powf(1.0 / self.overlap)
    }

    /// Seconds of a step of the optimiser: passes without an exchange, then one with it.
    pub fn step_s(&self, nodes: u32, replicas: u32, batch: f64, accumulation: u32) -> f64 {
        let gradient_s = self.gradient_s(batch);
        let exchange_s = self.exchange_s(nodes, replicas);
        f64::from(accumulation) * gradient_s + self.overlapped_s(gradient_s, exchange_s)
    }

    /// Examples per second.
    pub fn examples_per_s(&self, nodes: u32, replicas: u32, batch: u32, accumulation: u32) -> f64 {
        let examples = f64::from(replicas) * f64::from(batch) * f64::from(accumulation + 1);
        examples / self.step_s(nodes, replicas, f64::from(batch), accumulation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Throughput = Throughput {
        gradient_s: 0.1,
        gradient_per_example_s: 0.01,
        across_s: 0.3,
        across_per_replica_s: 0.02,
        within_s: 0.05,
        within_per_replica_s: 0.005,
        overlap: 1.0,
    };

    #[test]
    fn times_add_up() {
        assert!((PLAIN.gradient_s(10.0) - 0.2).abs() < 1e-12);
        assert!(PLAIN.exchange_s(1, 1) < 2e-8, "alone there is nothing to exchange");
        assert!((PLAIN.exchange_s(1, 4) - 0.06).abs() < 1e-9);
        assert!((PLAIN.exchange_s(2, 4) - 0.34).abs() < 1e-9);
        assert!((PLAIN.step_s(2, 4, 10.0, 0) - 0.54).abs() < 1e-9);
        assert!((PLAIN.step_s(2, 4, 10.0, 2) - 0.94).abs() < 1e-9);
        assert!((PLAIN.examples_per_s(2, 4, 10, 2) - 120.0 / 0.94).abs() < 1e-5);
    }

    #[test]
    fn what_overlaps_wholly_takes_as_long_as_the_longer() {
        let hidden = Throughput { overlap: 10.0, ..PLAIN };
        assert!((hidden.overlapped_s(0.2, 0.02) - 0.2).abs() < 1e-9);
        assert!(hidden.overlapped_s(1e-300, 1e-300) > 0.0);
    }
}
