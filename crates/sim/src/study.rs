//! Studies in the simulated world: trials report the scores of their curves when an iteration is
//! over, and what came of each study is remembered.

use crate::queue::Happening;
use crate::record::Record;
use crate::simulation::Simulation;
use crate::workload::{Curve, Trial};
use heeler_model::{Event, Generation, JobId, Report, Span, StudyId, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A score that was better than all before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Best {
    /// When it was reported.
    pub at: Time,
    /// The score.
    pub score: f64,
    /// By which trial.
    pub job: JobId,
}

/// What came of a study so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StudyRecord {
    /// What it is called.
    pub name: String,
    /// Its trials.
    pub trials: Vec<JobId>,
    /// Iterations that were reported.
    pub iterations: u64,
    /// How often a trial was paused at a rung.
    pub pauses: u64,
    /// How often a paused trial went on.
    pub promotions: u64,
    /// The best score, each time it was beaten.
    pub best: Vec<Best>,
}

impl StudyRecord {
    /// The best score that was reported by a time.
    pub fn best_by(&self, at: Time) -> Option<f64> {
        self.best.iter().take_while(|best| best.at <= at).last().map(|best| best.score)
    }
}

/// What is yet to come of a trial.
#[derive(Clone, Debug)]
struct Ahead {
    study: StudyId,
    curve: Arc<Curve>,
    /// Iterations reported so far.
    reported: u32,
    paused: bool,
}

/// All studies, and what their trials have yet to report.
#[derive(Clone, Debug, Default)]
pub(crate) struct Studies {
    records: BTreeMap<StudyId, StudyRecord>,
    trials: BTreeMap<JobId, Ahead>,
}

impl Studies {
    pub(crate) fn records(&self) -> impl Iterator<Item = &StudyRecord> {
        self.records.values()
    }

    pub(crate) fn joins(&mut self, job: JobId, study: StudyId, trial: Trial) {
        let record = self.records.entry(study).or_default();
        record.name = trial.study.to_string();
        record.trials.push(job);
        let curve = Arc::new(trial.curve);
        self.trials.insert(job, Ahead { study, curve, reported: 0, paused: false });
    }

    /// Whether a job is a trial that is not over.
    pub(crate) fn has(&self, job: JobId) -> bool {
        self.trials.contains_key(&job)
    }

    pub(crate) fn leaves(&mut self, job: JobId) {
        self.trials.remove(&job);
    }

    /// A trial was stopped at a rung, or goes on.
    pub(crate) fn pauses(&mut self, job: JobId, paused: bool) {
        let Some(trial) = self.trials.get_mut(&job) else { return };
        let record = self.records.entry(trial.study).or_default();
        record.pauses += u64::from(paused);
        record.promotions += u64::from(trial.paused && !paused);
        trial.paused = paused;
    }

    /// When a running trial reports next, if nothing changes.
    fn next_report(&self, job: JobId, record: &Record) -> Option<Time> {
        let next = f64::from(self.trials.get(&job)?.reported + 1);
        if next > record.work || record.pace <= 0.0 {
            return None;
        }
        let left = ((next - record.done) / record.pace).round().max(0.0);
        Some(record.from + Span::from_micros(left as u64))
    }
}

impl Simulation {
    /// Expect the next report of a running job, if it is a trial.
    pub(crate) fn expect_report(&mut self, job: JobId) {
        let record = &self.records[job];
        if let Some(at) = self.studies.next_report(job, record) {
            self.queue.push(at, Happening::Score(job, record.stamp));
        }
    }

    /// An iteration of a trial is over.
    pub(crate) fn report(&mut self, job: JobId) {
        let Some(trial) = self.studies.trials.get_mut(&job) else { return };
        trial.reported += 1;
        let (iteration, value) = (trial.reported, trial.curve.score(trial.reported));
        let study = self.studies.records.entry(trial.study).or_default();
        study.iterations += 1;
        if study.best.last().is_none_or(|best| value > best.score) {
            study.best.push(Best { at: self.now, score: value, job });
        }
        let generation = Generation(self.records[job].generation);
        let report = Report::Score { iteration, value };
        self.engine.observe(self.now, Event::Reported { job, generation, report });
        self.expect_report(job);
    }

    /// What came of each study so far.
    pub fn studies(&self) -> impl Iterator<Item = &StudyRecord> {
        self.studies.records()
    }
}
