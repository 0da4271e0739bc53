//! Who takes part in which study, what became of each trial, and who of them waits or runs. A
//! scheduler of trials says how they stand; this keeps the books.

use super::rungs::{Ladder, Rungs};
use heeler_engine::{Job, Note, Phase, View};
use heeler_model::{JobId, Reason, StudyId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// How a trial stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It may go on until its next rung.
    #[default]
    Going,
    /// It waits at a rung until it is among the best there.
    Paused(usize),
    /// It does not go on: it was not among the best at a rung, or has had all its iterations.
    Over(Option<usize>),
}

/// Whether a trial has GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seat {
    Waiting,
    Placed,
    /// It is being saved.
    Leaving,
}

/// A trial that is not done.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// How it stands.
    pub standing: Standing,
    /// Whether it has never run.
    pub fresh: bool,
    seat: Seat,
}

impl Trial {
    /// Whether it could start, if it may.
    pub fn is_waiting(&self) -> bool {
        self.seat == Seat::Waiting
    }

    /// Whether it does nothing and is not about to.
    fn rests(&self) -> bool {
        self.is_waiting() && matches!(self.standing, Standing::Paused(_))
    }
}

/// The trials of one study.
#[derive(Clone, Debug, Default)]
pub struct Study {
    /// What was recorded at its rungs, of trials that are done, too.
    pub rungs: Rungs,
    trials: BTreeMap<JobId, Trial>,
    /// Trials that have GPUs or are promised some.
    placed: usize,
    fresh_waiting: usize,
    resting: usize,
    /// Trials that have GPUs and may not go on.
    halting: BTreeSet<JobId>,
    over: BTreeSet<JobId>,
}

impl Study {
    /// A trial that is not done.
    pub fn trial(&self, job: JobId) -> Option<&Trial> {
        self.trials.get(&job)
    }

    /// How many trials have GPUs or are promised some.
    pub fn placed(&self) -> usize {
        self.placed
    }

    /// How many trials wait that have never run.
    pub fn fresh_waiting(&self) -> usize {
        self.fresh_waiting
    }

    /// Trials that have GPUs and may not go on.
    pub fn halting(&self) -> impl Iterator<Item = JobId> {
        self.halting.iter().copied()
    }

    /// Trials that do not go on.
    pub fn over(&self) -> impl Iterator<Item = JobId> {
        self.over.iter().copied()
    }

    /// Whether a trial is among the best of a rung by now.
    pub fn is_best(&self, ladder: Ladder, rung: usize, job: JobId) -> bool {
        let reached = self.rungs.rung(rung);
        reached.place(job).is_some_and(|place| place < ladder.keeps(reached.len()))
    }

    /// Why a trial does not go on, if it does not.
    pub fn why(&self, ladder: Ladder, job: JobId) -> Option<Reason> {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let standing = self.trials.get(&job)?.standing;
        let (Standing::Paused(number) | Standing::Over(Some(number))) = standing else {
            let complete = Reason::TrialComplete { iterations: ladder.most.unwrap_or(0) };
            return (standing == Standing::Over(None)).then_some(complete);
        };
        let reached = self.rungs.rung(number);
        let (rung, of) = (ladder.iterations(number), count(reached.len()));
        let rank = count(reached.place(job)? + 1);
        Some(match standing {
            Standing::Over(_) => Reason::StoppedAtRung { rung, rank, of },
            _ => Reason::PausedAtRung { rung, rank, of, keeps: count(ladder.keeps(reached.len())) },
        })
    }

    /// The same for a trial that does not go on for good.
    pub fn why_over(&self, ladder: Ladder, job: JobId) -> Option<Reason> {
        Some(match self.why(ladder, job)? {
            Reason::PausedAtRung { rung, rank, of, .. } => Reason::StoppedAtRung { rung, rank, of },
            other => other,
        })
    }

    /// Paused trials that are among the best of their rung by now and could start, the highest rung
    /// first.
    pub fn promotable(&self, ladder: Ladder) -> impl Iterator<Item = (usize, JobId)> {
        let waits = |rung: usize, job: JobId| {
            let paused = |trial: &Trial| trial.standing == Standing::Paused(rung);
            self.trials.get(&job).is_some_and(|trial| paused(trial) && trial.is_waiting())
        };
        self.rungs.best(ladder).filter(move |(rung, job)| waits(*rung, *job))
    }

    /// The trials that are left, if none runs and none goes on unless others come.
    pub fn at_rest(&self, ladder: Ladder) -> impl Iterator<Item = JobId> {
        let rests = self.resting == self.trials.len() && self.promotable(ladder).next().is_none();
        self.trials.keys().filter(move |_| rests).copied()
    }

    /// Let a trial stand differently.
    pub fn set(&mut self, job: JobId, standing: Standing) {
        if let Some(trial) = self.trials.get(&job) {
            self.enter(job, Some(Trial { standing, ..*trial }));
        }
    }

    /// Enter what is known of a trial now; nothing, if it is done.
    fn enter(&mut self, job: JobId, now: Option<Trial>) {
        let before = match now {
            Some(trial) => self.trials.insert(job, trial),
            None => self.trials.remove(&job),
        };
        self.halting.remove(&job);
        self.over.remove(&job);
        if let Some(trial) = before {
            self.placed -= usize::from(trial.seat == Seat::Placed);
            self.fresh_waiting -= usize::from(trial.fresh && trial.is_waiting());
            self.resting -= usize::from(trial.rests());
        }
        let Some(trial) = now else { return };
        self.placed += usize::from(trial.seat == Seat::Placed);
        self.fresh_waiting += usize::from(trial.fresh && trial.is_waiting());
        self.resting += usize::from(trial.rests());
        match trial.standing {
            Standing::Paused(_) if trial.seat == Seat::Placed => drop(self.halting.insert(job)),
            Standing::Over(_) => drop(self.over.insert(job)),
            _ => {}
        }
    }

    fn sit(&mut self, job: &Job, seat: Seat) {
        let fresh = job.started.is_none();
        let before = self.trials.get(&job.id).map_or(Standing::Going, |trial| trial.standing);
        // Whoever is let in goes on.
        let starts = seat == Seat::Placed && !self.halting.contains(&job.id);
        let standing = match before {
            Standing::Paused(_) if starts => Standing::Going,
            standing => standing,
        };
        self.enter(job.id, Some(Trial { standing, fresh, seat }));
    }
}

/// All studies.
#[derive(Clone, Debug, Default)]
pub struct Studies(BTreeMap<StudyId, Study>);

/// A study as it is saved; who waits and runs is known otherwise.
#[derive(Serialize, Deserialize)]
struct Saved {
    rungs: Rungs,
    standing: BTreeMap<JobId, Standing>,
}

impl Studies {
    /// A study that has had trials.
    pub fn get(&self, study: StudyId) -> Option<&Study> {
        self.0.get(&study)
    }

    /// The study that a job is a trial of.
    pub fn of_mut(&mut self, job: &Job) -> Option<&mut Study> {
        Some(self.0.entry(job.spec.study()?).or_default())
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Study> {
        self.0.values()
    }

    /// Follow who waits, runs and is done.
    pub fn observe(&mut self, note: &Note, view: &View) {
        let (id, seat) = match *note {
            Note::Joined(id) => (id, Some(Seat::Waiting)),
            Note::Placed(id) | Note::Began(id) => (id, Some(Seat::Placed)),
            Note::Paused(id) => (id, Some(Seat::Leaving)),
            Note::Left(id) => (id, None),
            _ => return,
        };
        let job = view.job(id);
        let Some(study) = self.of_mut(job) else { return };
        match seat {
            Some(seat) => study.sit(job, seat),
            None => study.enter(id, None),
        }
    }

    /// What cannot be seen from the jobs.
    pub fn save(&self) -> Value {
        let saved = self.0.iter().map(|(id, study)| {
            let standing = study.trials.iter().map(|(job, trial)| (*job, trial.standing));
            (*id, Saved { rungs: study.rungs.clone(), standing: standing.collect() })
        });
        let saved: BTreeMap<StudyId, Saved> = saved.collect();
        serde_json::to_value(saved).expect("numbers and names can be saved")
    }

    /// Remember what was saved.
    pub fn restore(&mut self, saved: &Value, view: &View) -> Result<(), String> {
        let mut saved: BTreeMap<StudyId, Saved> =
            serde_json::from_value(saved.clone()).map_err(|error| error.to_string())?;
        self.0.clear();
        for (id, saved) in &mut saved {
            let rungs = std::mem::take(&mut saved.rungs);
            self.0.insert(*id, Study { rungs, ..Study::default() });
        }
        for job in view.jobs().iter().filter(|job| job.phase != Phase::Blocked) {
            let Some(study) = job.spec.study() else { continue };
            let seat = match job.phase {
                _ if job.is_placed() => Seat::Placed,
                Phase::Waiting => Seat::Waiting,
                _ => Seat::Leaving,
            };
            let known = saved.get(&study).and_then(|saved| saved.standing.get(&job.id));
            let standing = known.copied().unwrap_or_default();
            let trial = Trial { standing, fresh: job.started.is_none(), seat };
            self.0.entry(study).or_default().enter(job.id, Some(trial));
        }
        Ok(())
    }
}
