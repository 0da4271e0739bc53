//! What came of studies: how good their best trial was when, and what that took.

use super::GPU_HOUR;
use crate::record::{Outcome, Record};
use crate::simulation::Simulation;
use heeler_model::Time;
use serde::{Deserialize, Serialize};

/// The best score of a study from some time on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BestScore {
    /// From when on, seconds.
    pub from_s: f64,
    /// The score.
    pub score: f64,
    /// The trial that reported it.
    pub trial: String,
}

/// What came of a study.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StudySummary {
    /// What it is called.
    pub name: String,
    /// Trials that were submitted.
    pub trials: usize,
    /// Trials that ran at all.
    pub started: usize,
    /// Trials that had all their iterations.
    pub finished: usize,
    /// Trials that were not worth finishing.
    pub stopped_early: usize,
    /// How often a trial was paused at a rung.
    pub pauses: u64,
    /// How often a paused trial went on.
    pub promotions: u64,
    /// Iterations of all trials together.
    pub iterations: u64,
    /// GPU time that its trials held, hours.
    pub gpu_hours: f64,
    /// The best score.
    pub best: Option<f64>,
    /// The best score, each time it was beaten.
    pub best_over_time: Vec<BestScore>,
}

pub(super) fn of(simulation: &Simulation) -> Vec<StudySummary> {
    let now = simulation.now();
    let of_study = |study: &crate::study::StudyRecord| {
        let records: Vec<&Record> =
            study.trials.iter().map(|job| &simulation.records()[*job]).collect();
        let count = |outcome: Outcome| records.iter().filter(|r| r.outcome == outcome).count();
        let held: f64 = records.iter().map(|record| record.held_milli_at(now)).sum();
        let best = |best: &crate::study::Best| BestScore {
            from_s: Time::secs_f64(best.at),
            score: best.score,
            trial: simulation.name(best.job),
        };
        StudySummary {
            name: study.name.clone(),
            trials: records.len(),
            started: records.iter().filter(|record| record.started.is_some()).count(),
            finished: count(Outcome::Finished),
            stopped_early: count(Outcome::StoppedEarly),
            pauses: study.pauses,
            promotions: study.promotions,
            iterations: study.iterations,
            gpu_hours: held / GPU_HOUR,
            best: study.best.last().map(|best| best.score),
            best_over_time: study.best.iter().map(best).collect(),
        }
    };
    simulation.studies().map(of_study).collect()
}
