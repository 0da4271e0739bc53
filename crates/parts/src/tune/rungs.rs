//! Rungs of successive halving: after so many iterations trials are compared, and the best go on.
//! Jamieson and Talwalkar (2016) halve everybody at once; Li et al. (MLSys 2020) whoever is there.

use heeler_model::JobId;
use serde::{Deserialize, Serialize};

/// After how many iterations trials are compared: `first`, `first`·η, `first`·η², …
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ladder {
    /// Iterations of the first rung.
    pub first: u32,
    /// One of so many goes on, and has so many times as many iterations until the next rung.
    pub eta: u32,
    /// The most iterations of a trial, if they are limited: there is no rung from there on.
    pub most: Option<u32>,
}

impl Ladder {
    /// Iterations of a rung, counted from zero.
    pub fn iterations(&self, rung: usize) -> u32 {
        let rungs = u32::try_from(rung).unwrap_or(u32::MAX);
        self.first.saturating_mul(self.eta.saturating_pow(rungs))
    }

    /// The highest rung that so many iterations reach.
    pub fn reached(&self, iterations: u32) -> Option<usize> {
        let there = |rung: &usize| {
            let at = self.iterations(*rung);
            at <= iterations && self.most.is_none_or(|most| at < most) && at < u32::MAX
        };
        // A factor of one would be the same rung again and again.
        let rungs = if self.eta > 1 { 32 } else { 1 };
        (0..rungs).take_while(there).last()
    }

    /// How many of those who reached a rung go on.
    pub fn keeps(&self, reached: usize) -> usize {
        reached / self.eta.max(1) as usize
    }
}

/// A score that was recorded at a rung.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Entry {
    job: JobId,
    score: f64,
}

/// Those who reached a rung, the best first; of equals, who came first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rung(Vec<Entry>);

impl Rung {
    /// How many reached it.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nobody has reached it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Record a score and say its place. What is not a number is worse than all that is.
    pub fn record(&mut self, job: JobId, score: f64) -> usize {
        let score = if score.is_nan() { f64::MIN } else { score.clamp(f64::MIN, f64::MAX) };
        let place = self.0.partition_point(|entry| entry.score >= score);
        self.0.insert(place, Entry { job, score });
        place
    }

    /// A trial's place, the best being zero, if it reached the rung.
    pub fn place(&self, job: JobId) -> Option<usize> {
        self.0.iter().position(|entry| entry.job == job)
    }

    /// The best so many.
    pub fn best(&self, count: usize) -> impl Iterator<Item = JobId> {
        self.0.iter().take(count).map(|entry| entry.job)
    }

    /// The score that leaves one of η at or above it: between two scores it is drawn straight.
    pub fn cut_off(&self, eta: u32) -> Option<f64> {
        let last = self.0.len().checked_sub(1)?;
        let from_best = last as f64 / f64::from(eta.max(1));
        let above = self.0[from_best.floor() as usize].score;
        let below = self.0[from_best.ceil() as usize].score;
        Some(above + (below - above) * from_best.fract())
    }
}

/// The rungs of one study.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rungs(Vec<Rung>);

impl Rungs {
    /// A rung, counted from zero.
    pub fn rung(&self, rung: usize) -> &Rung {
        const NOBODY: &Rung = &Rung(Vec::new());
        self.0.get(rung).unwrap_or(NOBODY)
    }

    /// A rung, to record a score there.
    pub fn rung_mut(&mut self, rung: usize) -> &mut Rung {
        if self.0.len() <= rung {
            self.0.resize_with(rung + 1, Rung::default);
        }
        &mut self.0[rung]
    }

    /// Those among the best of each rung, the highest rung first.
    pub fn best(&self, ladder: Ladder) -> impl Iterator<Item = (usize, JobId)> {
        self.0.iter().enumerate().rev().flat_map(move |(number, rung)| {
            rung.best(ladder.keeps(rung.len())).map(move |job| (number, job))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rung(scores: &[f64]) -> Rung {
        let mut rung = Rung::default();
        for (index, score) in scores.iter().enumerate() {
            rung.record(JobId(index as u32), *score);
        }
        rung
    }

    #[test]
    fn rungs_are_powers_of_eta() {
        let ladder = Ladder { first: 1, eta: 4, most: Some(200) };
        let reached = |iterations| ladder.reached(iterations).map(|rung| ladder.iterations(rung));
        assert_eq!(reached(0), None);
        assert_eq!(
            [1, 3, 4, 15, 16, 63, 64, 199].map(reached).map(Option::unwrap),
            [1, 1, 4, 4, 16, 16, 64, 64]
        );
        // At the most iterations a trial is done: there is nothing left to decide.
        assert_eq!(Ladder { most: Some(64), ..ladder }.reached(64), Some(2));
        assert_eq!(Ladder { most: None, ..ladder }.reached(u32::MAX), Some(15));
        assert_eq!(Ladder { eta: 1, ..ladder }.reached(50), Some(0));
        assert_eq!(Ladder { first: 3, eta: 2, most: None }.reached(13), Some(2));
    }

    /// The example in the documentation of Ray Tune's and HyperSched's schedulers.
    #[test]
    fn scores_two_and_four_are_cut_off_at_three() {
        assert_eq!(rung(&[]).cut_off(2), None);
        assert_eq!(rung(&[2.0, 4.0]).cut_off(2), Some(3.0));
        assert_eq!(rung(&[2.0, 4.0, 1.0]).cut_off(2), Some(2.0));
        assert_eq!(rung(&[1.0, 2.0, 3.0, 4.0, 5.0]).cut_off(4), Some(4.0));
    }

    #[test]
    fn one_of_eta_is_among_the_best() {
        let ladder = Ladder { first: 1, eta: 3, most: None };
        let keeps: Vec<usize> = (0..8).map(|reached| ladder.keeps(reached)).collect();
        assert_eq!(keeps, [0, 0, 0, 1, 1, 1, 2, 2]);
        let rung = rung(&[0.3, 0.9, 0.5, 0.9, 0.1, 0.7]);
        assert_eq!(rung.best(3).map(|job| job.0).collect::<Vec<_>>(), [1, 3, 5]);
        assert_eq!(rung.place(JobId(2)), Some(3));
        assert_eq!(rung.place(JobId(9)), None);
    }

    #[test]
    fn a_score_that_is_no_number_is_the_worst_and_can_be_saved() {
        let rung = rung(&[f64::NAN, 0.2, f64::NEG_INFINITY]);
        assert_eq!(rung.place(JobId(1)), Some(0));
        let saved = serde_json::to_value(&rung).expect("a rung can be saved");
        assert_eq!(serde_json::from_value::<Rung>(saved).expect("and restored"), rung);
    }

    #[test]
    fn the_highest_rung_comes_first() {
        let ladder = Ladder { first: 1, eta: 2, most: None };
        let mut rungs = Rungs::default();
        for (job, score) in [(0, 0.1), (1, 0.4), (2, 0.3), (3, 0.2)] {
            rungs.rung_mut(0).record(JobId(job), score);
        }
        rungs.rung_mut(1).record(JobId(1), 0.5);
        rungs.rung_mut(1).record(JobId(2), 0.6);
        let best: Vec<(usize, u32)> = rungs.best(ladder).map(|(rung, job)| (rung, job.0)).collect();
        assert_eq!(best, [(1, 2), (0, 1), (0, 2)]);
        assert!(rungs.rung(7).is_empty());
    }
}
