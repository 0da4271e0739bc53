//! How much time a job still needs that changes its batch on the way, told from the regimes of the
//! epochs that are over: the posterior of Shockwave (Zheng et al., NSDI 2023, §5). A Dirichlet
//! distribution begins with every regime as likely as another, and every epoch that is seen counts
//! as one of its regime.

use serde::{Deserialize, Serialize};

/// What was seen of a job's epochs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Epochs {
    /// Epochs that are over, by regime.
    pub seen: Vec<f64>,
    /// The regime of the present one.
    pub regime: usize,
}

impl Epochs {
    /// So many epochs are over, and the job is in a regime. Those that were not heard of were in
    /// the regime that was heard of last.
    pub fn reach(&mut self, epochs: f64, regime: usize) {
        let more = epochs - self.done();
        self.seen.resize(self.seen.len().max(self.regime + 1), 0.0);
        self.seen[self.regime] += more.max(0.0);
        self.regime = regime;
    }

    /// Epochs that are over.
    pub fn done(&self) -> f64 {
        self.seen.iter().sum()
    }

    /// Seen epochs of a regime, and the present one.
    fn observed(&self, regime: usize) -> f64 {
        let present = if regime == self.regime { 1.0 } else { 0.0 };
        self.seen.get(regime).copied().unwrap_or(0.0) + present
    }

    /// Seconds that the epochs took which are over.
    pub fn past_s(&self, epoch_s: &[f64]) -> f64 {
        self.seen.iter().zip(epoch_s).map(|(seen, each)| seen * each).sum()
    }

    /// Seconds of an epoch so far, in the mean, the present one included.
    pub fn mean_s(&self, epoch_s: &[f64]) -> f64 {
        let (mut epochs, mut seconds) = (0.0, 0.0);
        for (regime, each) in epoch_s.iter().enumerate() {
            epochs += self.observed(regime);
            seconds += self.observed(regime) * each;
        }
        if epochs > 0.0 { seconds / epochs } else { epoch_s.first().copied().unwrap_or(1.0) }
    }

    /// Seconds that the rest will take, of so many epochs in all.
    pub fn left_s(&self, all: f64, epoch_s: &[f64]) -> f64 {
        let remaining = all - self.done();
        if remaining <= 0.0 || epoch_s.is_empty() {
            return 1.0;
        }
        let prior = all / epoch_s.len() as f64;
        let regimes = 0..epoch_s.len();
        let seen: f64 = regimes.clone().map(|regime| self.observed(regime)).sum();
        let (mut epochs, mut seconds) = (0.0, 0.0);
        for (regime, each) in epoch_s.iter().enumerate() {
            let observed = self.observed(regime);
            let expected = all * (prior + observed) / (all + seen);
            // Those that are over are taken off, one by one, as long as there is a whole one.
            let left = expected - observed.min(expected.floor());
            epochs += left;
            seconds += left * each;
        }
        // It is known how many are left, whatever was expected of each regime.
        let counted = (epochs + 1.0).floor().max(remaining);
        seconds * remaining / counted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_regime_leaves_what_is_left() {
        let mut epochs = Epochs::default();
        assert!((epochs.left_s(10.0, &[60.0]) - 540.0).abs() < 61.0);
        epochs.reach(4.0, 0);
        let left = epochs.left_s(10.0, &[60.0]);
        assert!((left - 300.0).abs() <= 60.0, "{left}");
        assert_eq!((epochs.past_s(&[60.0]), epochs.mean_s(&[60.0])), (240.0, 60.0));
        epochs.reach(10.0, 0);
        assert_eq!(epochs.left_s(10.0, &[60.0]), 1.0);
    }

    #[test]
    fn what_is_seen_makes_itself_likely() {
        // Epochs of 100 s and of 10 s are as likely at first; then only long ones are seen.
        let each = [100.0, 10.0];
        let mut epochs = Epochs::default();
        let mut before = epochs.left_s(40.0, &each) / 40.0;
        assert!((50.0..56.0).contains(&before), "{before}");
        for done in [10.0, 20.0, 30.0] {
            epochs.reach(done, 0);
            let mean = epochs.mean_s(&each);
            assert_eq!(mean, 100.0);
            before = epochs.left_s(40.0, &each) / (40.0 - done);
        }
        assert!(before < 100.0, "short ones may still come: {before}");
        epochs.reach(31.0, 1);
        assert_eq!(epochs.seen, [31.0], "the last one was still long");
        assert!(epochs.mean_s(&each) < 100.0);
    }
}
