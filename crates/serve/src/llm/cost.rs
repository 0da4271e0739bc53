//! What steps cost, in whole picoseconds. Integers make a sum of steps exactly equal to the steps
//! one by one, so it does not matter where a run of them is cut.

use super::card::{DecodeCard, LlmCard, PrefillCard};
use serde::{Deserialize, Serialize};

/// Picoseconds in a nanosecond.
pub(super) const NS: u64 = 1_000;

const PS_PER_MS: f64 = 1e9;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Costs {
    prefill: PrefillCard,
    small: Decode,
    large: Decode,
    /// From how many requests on a batch is large.
    large_from: u32,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Decode {
    fixed_ps: u64,
    per_token_ps: u64,
    per_request_ps: u64,
}

impl Decode {
    fn new(card: &DecodeCard) -> Decode {
        let ps = |ms: f64| (ms * PS_PER_MS).round() as u64;
        Decode {
            fixed_ps: ps(card.fixed_ms),
            per_token_ps: ps(card.per_context_token_ms),
            per_request_ps: ps(card.per_request_ms),
        }
    }
}

/// Steps that follow one another without a change of the batch: the first takes `first_ps`, and
/// each takes `more_ps` more than the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Run {
    pub(super) first_ps: u64,
    pub(super) more_ps: u64,
}

impl Run {
    /// How long so many steps take.
    #[inline]
    pub(super) fn of(self, steps: u64) -> u64 {
        let pairs = if steps.is_multiple_of(2) {
            (steps / 2).saturating_mul(steps.saturating_sub(1))
        } else {
            steps.saturating_mul((steps - 1) / 2)
        };
        self.first_ps.saturating_mul(steps).saturating_add(self.more_ps.saturating_mul(pairs))
    }

    /// The fewest steps that take at least this long, and one at least.
    #[inline]
    pub(super) fn reaching(self, span_ps: u64) -> u64 {
        // more/2 n² + (first - more/2) n = span, in the form that loses no digits.
        let half = self.more_ps as f64 / 2.0;
        let linear = self.first_ps as f64 - half;
        let span = span_ps as f64;
        let root = (linear * linear + 4.0 * half * span).sqrt();
        let mut steps = ((2.0 * span / (linear + root)) as u64).max(1);
        // Floating point may be off by one either way; the integers decide.
        while self.of(steps) < span_ps {
            steps += 1;
        }
        while steps > 1 && self.of(steps - 1) >= span_ps {
            steps -= 1;
        }
        steps
    }

    /// The same, each step longer by a factor.
    pub(super) fn times(self, factor: f64) -> Run {
        let scale = |ps: u64| (ps as f64 * factor).round() as u64;
        Run { first_ps: scale(self.first_ps), more_ps: scale(self.more_ps) }
    }
}

impl Costs {
    pub(super) fn new(card: &LlmCard) -> Costs {
        let small = Decode::new(&card.decode);
        let large = card.decode_large.map(|large| (large.from, Decode::new(&large.decode)));
        let (large_from, large) = large.unwrap_or((u32::MAX, small));
        Costs { prefill: card.prefill, small, large, large_from }
    }

    /// Steps that write a token for each of so many requests, with so much read and written before.
    #[inline]
    pub(super) fn decode(&self, requests: u64, context: u64) -> Run {
        let cost = if requests < u64::from(self.large_from) { &self.small } else { &self.large };
        let first_ps = cost.fixed_ps + cost.per_request_ps * requests + cost.per_token_ps * context;
        // A model that takes no time would never let time go on.
        Run { first_ps: first_ps.max(1), more_ps: cost.per_token_ps * requests }
    }

    /// A step that reads prompts: tokens in all, and the sum of the squares of each.
    pub(super) fn prefill(&self, tokens: u64, squares: f64) -> u64 {
        self.pieces(self.prefill.fixed_ms, tokens, squares)
    }

    /// A step that reads pieces of prompts beside writing. The fixed part is paid once.
    pub(super) fn mixed(&self, run: Run, requests: u64, tokens: u64, squares: f64) -> u64 {
        let decode = if requests < u64::from(self.large_from) { &self.small } else { &self.large };
        let fixed_ms = decode.fixed_ps as f64 / PS_PER_MS;
        if requests == 0 {
            return self.prefill(tokens, squares);
        }
        run.first_ps + self.pieces((self.prefill.fixed_ms - fixed_ms).max(0.0), tokens, squares)
    }

    fn pieces(&self, fixed_ms: f64, tokens: u64, squares: f64) -> u64 {
        let PrefillCard { per_token_ms, per_square_ms, .. } = self.prefill;
        let ms = fixed_ms + per_token_ms * tokens as f64 + per_square_ms * squares;
        ((ms * PS_PER_MS).round() as u64).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_the_sum_of_its_steps() {
        let run = Run { first_ps: 23_475_041, more_ps: 17_788 };
        let mut sum = 0;
        for steps in 0..2_000 {
            assert_eq!(run.of(steps), sum);
            sum += run.first_ps + steps * run.more_ps;
        }
    }

    #[test]
    fn the_first_boundary_at_or_after_a_moment() {
        for run in [Run { first_ps: 7, more_ps: 0 }, Run { first_ps: 1, more_ps: 5 }] {
            for span in 0..500 {
                let steps = run.reaching(span);
                assert!(run.of(steps) >= span && (steps == 1 || run.of(steps - 1) < span));
            }
        }
        let long = Run { first_ps: 23_475_041_008, more_ps: 17_788_034 };
        for steps in [1, 2, 99, 12_345, 1_000_000] {
            assert_eq!(long.reaching(long.of(steps)), steps);
            assert_eq!(long.reaching(long.of(steps) + 1), steps + 1);
        }
    }
}
