//! Shares of a large cluster, found in parts: jobs are dealt into groups, each group shares its
//! part of every kind of GPU, and the rows are put together (POP, Narayanan et al., SOSP 2021).

use super::{Due, Shares};
use heeler_engine::{Job, Predict, View};
use heeler_solve::{Pair, in_groups};
use serde_json::Value;

/// Groups are drawn by this and the number of a job.
const SEED: u64 = 47;

/// Any shares, found in parts.
pub struct InParts {
    inner: Box<dyn Shares>,
    parts: u32,
}

impl InParts {
    /// Shares that are found for so many groups of jobs, each by itself.
    pub fn new(inner: Box<dyn Shares>, parts: u32) -> InParts {
        InParts { inner, parts }
    }
}

impl Shares for InParts {
    fn shares(&self, jobs: &[&Job], places: &[f64], view: &View) -> Due {
        let numbers: Vec<u64> = jobs.iter().map(|job| u64::from(job.id.0)).collect();
        let mut pairs = Vec::new();
        let alone = in_groups(&numbers, SEED, self.parts as usize, |group, part| {
            let members: Vec<&Job> = group.iter().map(|position| jobs[*position]).collect();
            let own: Vec<f64> = places.iter().map(|places| places * part).collect();
            let due = self.inner.shares(&members, &own, view);
            pairs.extend(due.pairs.into_iter().map(|pair| {
                let rows = (group[pair.rows.0], group[pair.rows.1]);
                Pair { rows, ..pair }
            }));
            due.alone
        });
        Due { alone, pairs }
    }

    fn packs(&self) -> bool {
        self.inner.packs()
    }

    fn settle(&mut self, jobs: &[&Job], places: &[f64], view: &View) {
        self.inner.settle(jobs, places, view);
    }

    fn predictor(&self) -> Option<&dyn Predict> {
        self.inner.predictor()
    }

    fn predictor_mut(&mut self) -> Option<&mut dyn Predict> {
        self.inner.predictor_mut()
    }

    fn save(&self) -> Value {
        self.inner.save()
    }

    fn restore(&mut self, saved: &Value) -> Result<(), String> {
        self.inner.restore(saved)
    }

    fn fork(&self) -> Box<dyn Shares> {
        Box::new(InParts { inner: self.inner.fork(), parts: self.parts })
    }
}
