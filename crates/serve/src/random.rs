//! Random numbers by counter: the draws for a thing depend on its key alone, never on what was
//! drawn for others. So a trace that is cut, or another policy, sees the same requests.

/// The random numbers of one thing.
#[derive(Clone, Copy, Debug)]
pub struct Draws(u64);

/// The random numbers that belong to the `index`-th thing of a stream.
#[inline]
pub fn draws(seed: u64, stream: u64, index: u64) -> Draws {
    // Odd multipliers keep neighbouring keys apart; mixing twice removes what they share.
    let key = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ mix(stream.wrapping_mul(0xd1b5_4a32_d192_ed03).wrapping_add(0x8cb9_2ba7_2f3d_8dd7));
    Draws(mix(key ^ mix(index.wrapping_mul(0xa076_1d64_78bd_642f).wrapping_add(key))))
}

/// The finaliser of SplitMix64.
#[inline]
fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

impl Draws {
    /// Sixty-four random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number above zero and at most one.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A whole number below `bound`, which is not zero.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// From the exponential distribution of mean one.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        -self.unit().ln()
    }

    /// From the normal distribution of mean zero and deviation one, by Marsaglia's polar method.
    pub fn normal(&mut self) -> f64 {
        loop {
            let x = 2.0 * self.unit() - 1.0;
            let y = 2.0 * self.unit() - 1.0;
            let square = x * x + y * y;
            if square < 1.0 && square > 0.0 {
                return x * (-2.0 * square.ln() / square).sqrt();
            }
        }
    }

    /// From the log-normal distribution of mean one and this coefficient of variation.
    pub fn log_normal(&mut self, cv: f64) -> f64 {
        let variance = (1.0 + cv * cv).ln();
        (self.normal() * variance.sqrt() - variance / 2.0).exp()
    }

    /// From the gamma distribution of mean one and this coefficient of variation, by Marsaglia and
    /// Tsang's method; one is the exponential distribution, zero is always one.
    pub fn gamma(&mut self, cv: f64) -> f64 {
        if cv == 1.0 {
            return self.exponential();
        }
        if cv <= 0.0 {
            return 1.0;
        }
        let shape = 1.0 / (cv * cv);
        // Below one the method does not work; one more in the shape is taken back by a power.
        let (used, boost) =
            if shape < 1.0 { (shape + 1.0, self.unit().powf(1.0 / shape)) } else { (shape, 1.0) };
        let d = used - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let v = 1.0 + c * x;
            if v <= 0.0 {
                continue;
            }
            let v = v * v * v;
            let u = self.unit();
            if u.ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return d * v * boost / shape;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(mut draw: impl FnMut(u64) -> f64) -> (f64, f64) {
        let count = 200_000;
        let values: Vec<f64> = (0..count).map(&mut draw).collect();
        let mean = values.iter().sum::<f64>() / count as f64;
        let square = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / count as f64;
        (mean, square.sqrt())
    }

    #[test]
    fn distributions_have_their_moments() {
        for cv in [0.0, 0.5, 1.0, 2.0, 4.0] {
            let (mean, deviation) = moments(|index| draws(7, 3, index).gamma(cv));
            assert!((mean - 1.0).abs() < 0.03, "gamma of cv {cv}: mean {mean}");
            assert!((deviation - cv).abs() < 0.06 * (1.0 + cv), "cv {cv}: deviation {deviation}");
        }
        let (mean, deviation) = moments(|index| draws(7, 3, index).log_normal(0.5));
        assert!((mean - 1.0).abs() < 0.01 && (deviation - 0.5).abs() < 0.02);
        let (mean, deviation) = moments(|index| draws(7, 3, index).normal());
        assert!(mean.abs() < 0.01 && (deviation - 1.0).abs() < 0.01);
    }

    #[test]
    fn draws_depend_on_their_key_alone() {
        let first = |seed, stream, index| draws(seed, stream, index).bits();
        assert_eq!(first(1, 2, 3), first(1, 2, 3));
        let others = [first(2, 2, 3), first(1, 3, 3), first(1, 2, 4), first(1, 3, 2)];
        assert!(!others.contains(&first(1, 2, 3)));
    }

    #[test]
    fn neighbours_are_not_alike() {
        // Of 64 bits, half should differ between the draws of neighbouring keys.
        let differing = |a: u64, b: u64| (a ^ b).count_ones();
        let pairs = (0..1_000).map(|i| differing(draws(1, 1, i).bits(), draws(1, 1, i + 1).bits()));
        let mean = pairs.sum::<u32>() as f64 / 1_000.0;
        assert!((31.0..33.0).contains(&mean), "{mean}");
    }
}
