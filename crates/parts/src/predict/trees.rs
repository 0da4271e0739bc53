//! Boosted trees that are trained, again and again, on the jobs that have ended so far. Owner and
//! name enter as the mean run time of what had ended when the job came, so that no job is described
//! by itself.

use super::past::{Past, Sum};
use super::{Facts, Learner};
use heeler_solve::boost::{Boosting, Forest};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Jobs that are trained on: the latest so many.
const WINDOW: usize = 2048;
/// With fewer, nothing is said.
const FEWEST: usize = 40;
/// The trees are grown anew when so many have ended since, for each that they were grown on.
const ANEW: f64 = 0.25;

const BOOSTING: Boosting =
    Boosting { trees: 40, depth: 4, rate: 0.15, leaf_min: 5, bins: 32, smooth: 1.0 };

/// A job as the trees see it: see [`Trees::row`].
type Row = [f32; 9];

/// Boosted trees on the jobs so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trees {
    past: Past,
    /// The latest jobs, and the logarithms of how long they ran.
    jobs: VecDeque<(Row, f32)>,
    /// Jobs that have ended since the trees were grown.
    since: usize,
    forest: Option<Forest>,
}

/// The logarithm of a time, or something smaller than all of them.
fn log_s(seconds: Option<f64>) -> f32 {
    seconds.filter(|seconds| *seconds > 0.0).map_or(-20.0, |seconds| seconds.ln() as f32)
}

impl Trees {
    /// Size, what stands beside each GPU, what was declared, day and hour, and how long jobs of the
    /// owner and of the name ran.
    fn row(&self, facts: &Facts) -> Row {
        let owner = self.past.owner(facts.owner);
        let named = self.past.named(facts);
        let same = named.map(|named| named.with(facts.gpus)).filter(|sum| sum.jobs > 0);
        [
            facts.gpus as f32,
            facts.cpu_milli as f32,
            facts.gpu_memory_mb as f32,
            log_s(Some(facts.declared_s)),
            (facts.week_s / 86_400) as f32,
            (facts.week_s % 86_400 / 3600) as f32,
            log_s(owner.and_then(|owner| owner.jobs.all.mean_s())),
            log_s(same.or(named.map(|named| named.all)).and_then(Sum::mean_s)),
            facts.priority as f32,
        ]
    }

    fn grow(&mut self) {
        let rows: Vec<&[f32]> = self.jobs.iter().map(|(row, _)| &row[..]).collect();
        let aims: Vec<f32> = self.jobs.iter().map(|(_, aim)| *aim).collect();
        self.forest = Some(Forest::grow(&rows, &aims, &BOOSTING));
        self.since = 0;
    }
}

impl Learner for Trees {
    type Noted = Row;

    fn guess(&self, facts: &Facts) -> (Option<f64>, Row) {
        let row = self.row(facts);
        let guess = self.forest.as_ref().map(|forest| f64::from(forest.value(&row)).exp());
        (guess, row)
    }

    fn learn(&mut self, facts: &Facts, noted: &Row, seconds: f64) {
        self.past.learn(facts, seconds);
        self.jobs.push_back((*noted, seconds.ln() as f32));
        if self.jobs.len() > WINDOW {
            self.jobs.pop_front();
        }
        self.since += 1;
        let enough = (self.jobs.len() as f64 * ANEW).max(FEWEST as f64);
        if self.since as f64 >= enough {
            self.grow();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heeler_model::TenantId;

    /// Two owners, one of whom runs jobs by the size of which they can be told apart. They come in
    /// no order, or the means so far would tell which is next.
    fn job(index: u64) -> (Facts, f64) {
        let mixed = index.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let tenant = TenantId((mixed % 2) as u16);
        let gpus = if (mixed / 2).is_multiple_of(3) { 8 } else { 1 };
        let seconds = match (tenant.0, gpus) {
            (0, 8) => 4000.0,
            (0, _) => 40.0,
            _ => 400.0,
        };
        (Facts { owner: tenant.into(), gpus, ..Facts::default() }, seconds)
    }

    #[test]
    fn trees_tell_apart_what_means_cannot() {
        let mut trees = Trees::default();
        assert_eq!(trees.guess(&job(0).0).0, None);
        for index in 0..400 {
            let (facts, seconds) = job(index);
            let (_, noted) = trees.guess(&facts);
            trees.learn(&facts, &noted, seconds);
        }
        for index in 0..12 {
            let (facts, seconds) = job(index);
            let guess = trees.guess(&facts).0.expect("enough was seen");
            assert!((guess / seconds).ln().abs() < 0.2, "{facts:?}: {guess} for {seconds}");
        }
    }
}
