//! Who comes first in a round: the orders that Synergy's authors tried their rule with.

use super::measure::{Give, Measure, speed};
use heeler_engine::{Job, Predict, View};
use serde::{Deserialize, Serialize};

/// Who comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rank {
    /// Who came first.
    #[default]
    Fifo,
    /// Who has the least time left.
    Srtf,
    /// Who has had the least GPU time.
    Las,
    /// Who would end soonest compared with running alone from the start.
    FinishTime,
    /// Who wants the smallest part of what there is least of for it.
    DominantShare,
    /// Who wants the smallest parts of everything for the shortest time.
    Tetris,
}

impl Rank {
    /// Whether it asks how long jobs run.
    pub fn asks(self) -> bool {
        matches!(self, Rank::Srtf | Rank::FinishTime | Rank::Tetris)
    }
}

/// An order with all that it asks.
pub struct Ranking {
    /// Who comes first.
    pub rank: Rank,
    /// What jobs get, which makes them faster or slower.
    pub give: Give,
    /// Who says how long jobs run.
    pub predict: Box<dyn Predict>,
}

/// Of a ratio so many decimals count.
const DECIMALS: f64 = 1e12;

impl Ranking {
    /// Smaller comes first; of whom nothing is known comes last.
    pub(super) fn key(&self, job: &Job, measure: &Measure, view: &View) -> i64 {
        let parts = || measure.parts(job);
        let key = match self.rank {
            Rank::Fifo => Some(0.0),
            Rank::Las => return view.service(job).milli.min(i64::MAX as u64) as i64,
            Rank::Srtf => self.left_s(job, measure, view).map(|left_s| left_s * 1e6),
            Rank::DominantShare => Some(parts().into_iter().fold(0.0, f64::max) * DECIMALS),
            Rank::Tetris => {
                let left_s = self.left_s(job, measure, view);
                left_s.map(|left_s| parts().into_iter().sum::<f64>() * left_s * 1e6)
            }
            Rank::FinishTime => self.left_s(job, measure, view).and_then(|left_s| {
                let alone_s = self.alone_s(job, view)? / speed(job, measure.proportional(job));
                let gone_s = view.now().since(job.submitted).secs_f64();
                Some((gone_s + left_s) / alone_s.max(f64::MIN_POSITIVE) * DECIMALS)
            }),
        };
        key.filter(|key| key.is_finite()).map_or(i64::MAX, |key| key.round() as i64)
    }

    /// How long a job runs at its nominal pace.
    fn alone_s(&self, job: &Job, view: &View) -> Option<f64> {
        let per_second = job.spec.nominal_pace * job.tempo.pace * 1e6;
        Some(self.predict.work(job, view)? / per_second)
    }

    /// How long a job runs yet: with what it has, or with what it would like to have.
    fn left_s(&self, job: &Job, measure: &Measure, view: &View) -> Option<f64> {
        let wanted = measure.wanted(job, self.give);
        let on = job.assignment.as_ref();
        let with = on.map_or(wanted, |on| on.portion.unwrap_or(job.spec.demand.portion()));
        // Who was slower for a round though it had no more than its share is not ranked so.
        let with = if measure.plain(job, wanted) == Some(with) { wanted } else { with };
        let left = self.predict.work(job, view)? - job.progress.done_at(view.now());
        let per_second = job.spec.nominal_pace * job.tempo.pace * 1e6;
        Some(left.max(0.0) / per_second / speed(job, with))
    }
}
