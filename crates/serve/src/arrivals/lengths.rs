//! How long questions to a language model are, and how long its answers.

use crate::card::Mistake;
use crate::random::Draws;
use serde::{Deserialize, Serialize};

/// Tokens of questions and answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum LengthsCard {
    /// Always the same.
    #[serde(rename_all = "kebab-case")]
    Fixed {
        /// Tokens of every question.
        prompt: u32,
        /// Tokens of every answer.
        output: u32,
    },
    /// Log-normal, one independent of the other.
    #[serde(rename_all = "kebab-case")]
    LogNormal {
        /// Mean tokens of a question.
        prompt_mean: f64,
        /// Their coefficient of variation.
        prompt_cv: f64,
        /// Mean tokens of an answer.
        output_mean: f64,
        /// Their coefficient of variation.
        output_cv: f64,
        /// No question or answer is longer than this.
        most: u32,
    },
    /// One of these pairs of question and answer, each as likely as the others.
    Pairs(Vec<(u32, u32)>),
}

impl LengthsCard {
    pub(super) fn check(&self) -> Result<(), Mistake> {
        let positive = |value: f64| value.is_finite() && value > 0.0;
        match self {
            LengthsCard::Fixed { prompt, output } => {
                let expected = "one token or more of each";
                Mistake::unless(*prompt > 0 && *output > 0, "fixed", expected)
            }
            LengthsCard::LogNormal { prompt_mean, prompt_cv, output_mean, output_cv, most } => {
                let means = positive(*prompt_mean) && positive(*output_mean);
                Mistake::unless(means, "log-normal", "means above zero")?;
                let spread = |cv: f64| (0.0..=100.0).contains(&cv);
                let cvs = spread(*prompt_cv) && spread(*output_cv);
                Mistake::unless(cvs, "log-normal", "coefficients of variation from 0 to 100")?;
                Mistake::unless(*most > 0, "log-normal.most", "one token or more")
            }
            LengthsCard::Pairs(pairs) => {
                let right = pairs.iter().all(|(prompt, output)| *prompt > 0 && *output > 0);
                let expected = "one or more pairs of tokens, all above zero";
                Mistake::unless(right && !pairs.is_empty(), "pairs", expected)
            }
        }
    }

    pub(super) fn draw(&self, draws: &mut Draws) -> (u32, u32) {
        match self {
            LengthsCard::Fixed { prompt, output } => (*prompt, *output),
            LengthsCard::LogNormal { prompt_mean, prompt_cv, output_mean, output_cv, most } => {
                let mut tokens = |mean: f64, cv: f64| {
                    let drawn = (mean * draws.log_normal(cv)).round() as u32;
                    drawn.clamp(1, *most)
                };
                (tokens(*prompt_mean, *prompt_cv), tokens(*output_mean, *output_cv))
            }
            LengthsCard::Pairs(pairs) => pairs[draws.below(pairs.len() as u64) as usize],
        }
    }
}
