//! Whose turn it is in a study, whatever the order of the recipe: a paused trial that is among the
//! best by now, the highest rung first; then new configurations; then whoever is left.

use super::rungs::Ladder;
use super::studies::{Standing, Studies, Study};
use heeler_engine::{Door, Job};
use heeler_model::{JobId, Reason, StudyId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What becomes of paused trials once a study has nothing better to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Leftover {
    /// They are over.
    #[default]
    End,
    /// They go on, in the order of the recipe.
    Resume,
}

/// Whose turn it is in one study.
struct Turn {
    /// Paused trials that are to go on and have not been tried, the highest rung first.
    first: Vec<(usize, JobId)>,
    /// New configurations that wait.
    fresh: usize,
    /// Trials that have GPUs.
    placed: usize,
}

/// A door that lets trials in when it is their turn.
pub struct Turns<'a> {
    studies: &'a Studies,
    ladder: Ladder,
    leftover: Leftover,
    workers: Option<u32>,
    turns: BTreeMap<StudyId, Turn>,
    /// Trials that this plan has given GPUs to, and those it has taken them from.
    come: BTreeSet<JobId>,
    gone: BTreeSet<JobId>,
    reopened: bool,
}

impl<'a> Turns<'a> {
    /// A door for one plan. Of each study no more than so many workers run at a time.
    pub fn new(
        studies: &'a Studies,
        ladder: Ladder,
        leftover: Leftover,
        workers: Option<u32>,
    ) -> Turns<'a> {
        let (come, gone) = (BTreeSet::new(), BTreeSet::new());
        let turns = BTreeMap::new();
        Turns { studies, ladder, leftover, workers, turns, come, gone, reopened: false }
    }

    /// Whether a trial has GPUs in this plan, so that it can only want more of them.
    fn has_gpus(&self, job: &Job) -> bool {
        self.come.contains(&job.id) || (job.is_placed() && !self.gone.contains(&job.id))
    }

    fn turn(&mut self, job: &Job) -> Option<(&'a Study, &mut Turn)> {
        let id = job.spec.study()?;
        let study = self.studies.get(id)?;
        let turn = self.turns.entry(id).or_insert_with(|| Turn {
            first: study.promotable(self.ladder).collect(),
            fresh: study.fresh_waiting(),
            placed: study.placed(),
        });
        Some((study, turn))
    }
}

impl Door for Turns<'_> {
    fn ask(&mut self, job: &Job, _milli: u64) -> Result<(), Reason> {
        let (ladder, leftover, workers) = (self.ladder, self.leftover, self.workers);
        let runs = self.has_gpus(job);
        let Some((study, turn)) = self.turn(job).filter(|_| !runs) else { return Ok(()) };
        let Some(trial) = study.trial(job.id) else { return Ok(()) };
        let highest = turn.first.first().copied();
        let after = |(_, first)| Reason::AfterTrials { trials: turn.first.len() as u32, first };
        let allowed = match trial.standing {
            Standing::Going if trial.fresh => highest.map_or(Ok(()), |first| Err(after(first))),
            Standing::Going => Ok(()),
            Standing::Paused(rung) if study.is_best(ladder, rung, job.id) => {
                let higher = highest.filter(|(highest, _)| *highest > rung);
                higher.map_or(Ok(()), |first| Err(after(first)))
            }
            Standing::Paused(_)
                if leftover == Leftover::Resume && highest.is_none() && turn.fresh == 0 =>
            {
                Ok(())
            }
            Standing::Paused(_) | Standing::Over(_) => {
                study.why(ladder, job.id).map_or(Ok(()), Err)
            }
        };
        allowed?;
        // It has its turn, whether it fits or not, and is in nobody's way any more.
        let before = turn.first.len();
        turn.first.retain(|(_, other)| *other != job.id);
        let tried = turn.first.len() < before;
        let full = workers.filter(|workers| turn.placed >= *workers as usize);
        self.reopened |= tried;
        full.map_or(Ok(()), |workers| Err(Reason::StudyFull { workers }))
    }

    fn entered(&mut self, job: &Job, _milli: u64) {
        let runs = self.has_gpus(job);
        let Some((study, turn)) = self.turn(job).filter(|_| !runs) else { return };
        turn.placed += 1;
        if study.trial(job.id).is_some_and(|trial| trial.fresh && trial.is_waiting()) {
            turn.fresh = turn.fresh.saturating_sub(1);
            let last = turn.fresh == 0;
            self.reopened |= last;
        }
        self.come.insert(job.id);
        self.gone.remove(&job.id);
    }

    fn left(&mut self, job: &Job, _milli: u64) {
        if let Some((_, turn)) = self.turn(job) {
            turn.placed = turn.placed.saturating_sub(1);
            self.come.remove(&job.id);
            self.gone.insert(job.id);
        }
    }

    fn reopened(&mut self) -> bool {
        std::mem::take(&mut self.reopened)
    }
}
