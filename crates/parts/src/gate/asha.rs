//! Asynchronous successive halving (Li et al., MLSys 2020): a trial that reaches a rung goes on if
//! its score is among the best there by now. Whoever is paused goes on as soon as it is, before any
//! new configuration starts; the order of the recipe need not know of it.

use crate::tune::{Ladder, Leftover, Standing, Studies, Study, Turns};
use heeler_engine::{Door, Gate, Job, Note, View};
use heeler_model::{Report, Stop};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What becomes of a trial that is not among the best.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// It is paused, and goes on when it is.
    #[default]
    Promote,
    /// It is over. The first to come to a rung always goes on.
    Stop,
}

/// Asynchronous successive halving.
#[derive(Clone, Debug)]
pub struct Asha {
    ladder: Ladder,
    variant: Variant,
    leftover: Leftover,
    /// How many trials of a study may run at a time.
    workers: Option<u32>,
    studies: Studies,
}

impl Asha {
    /// Before any trial.
    pub fn new(ladder: Ladder, variant: Variant, leftover: Leftover, workers: Option<u32>) -> Asha {
        Asha { ladder, variant, leftover, workers, studies: Studies::default() }
    }

    /// A trial reports a score. Says whether that decides anything.
    fn reported(&mut self, job: &Job, iteration: u32, score: f64) -> bool {
        let ladder = self.ladder;
        let Some(study) = self.studies.of_mut(job) else { return false };
        if ladder.most.is_some_and(|most| iteration >= most) {
            study.set(job.id, Standing::Over(None));
            return true;
        }
        let Some(rung) = ladder.reached(iteration) else { return false };
        if study.rungs.rung(rung).place(job.id).is_some() {
            return false;
        }
        let cut_off = study.rungs.rung(rung).cut_off(ladder.eta);
        let reached = study.rungs.rung_mut(rung);
        let place = reached.record(job.id, score);
        let standing = match self.variant {
            Variant::Promote if place < ladder.keeps(reached.len()) => Standing::Going,
            Variant::Promote => Standing::Paused(rung),
            Variant::Stop if cut_off.is_none_or(|cut_off| score >= cut_off) => Standing::Going,
            Variant::Stop => Standing::Over(Some(rung)),
        };
        study.set(job.id, standing);
        true
    }
}

impl Gate for Asha {
    fn open<'a>(&'a self, _view: &View<'a>) -> Box<dyn Door + 'a> {
        Box::new(Turns::new(&self.studies, self.ladder, self.leftover, self.workers))
    }

    fn stops(&self, view: &View) -> Vec<Stop> {
        let stop = |study: &Study, job| Some(Stop { job, reason: study.why(self.ladder, job)? });
        let studies = self.studies.iter();
        let halting = studies.flat_map(|study| study.halting().map(move |job| (study, job)));
        let there = halting.filter(|(_, job)| view.job(*job).is_placed());
        there.filter_map(|(study, job)| stop(study, job)).collect()
    }

    fn ends(&self, view: &View) -> Vec<Stop> {
        let mut ends = Vec::new();
        for study in self.studies.iter() {
            let over = study.over().filter(|job| view.job(*job).leaving.is_none());
            let rests = study.at_rest(self.ladder).filter(|_| self.leftover == Leftover::End);
            let why = |job| Some(Stop { job, reason: study.why_over(self.ladder, job)? });
            ends.extend(over.chain(rests).filter_map(why));
        }
        ends
    }

    fn class(&self, job: &Job) -> u64 {
        // New configurations fare alike; whoever has run has a place of its own.
        match job.spec.study() {
            None => 0,
            Some(study) if job.started.is_none() => 2 * (u64::from(study.0) + 1),
            Some(_) => 2 * u64::from(job.id.0) + 1,
        }
    }

    fn observe(&mut self, note: &Note, view: &View) -> bool {
        self.studies.observe(note, view);
        match *note {
            Note::Reported { job, report: Report::Score { iteration, value } } => {
                self.reported(view.job(job), iteration, value)
            }
            _ => false,
        }
    }

    fn save(&self) -> Value {
        self.studies.save()
    }

    fn restore(&mut self, saved: &Value, view: &View) -> Result<(), String> {
        self.studies.restore(saved, view)
    }

    fn fork(&self) -> Box<dyn Gate> {
        Box::new(self.clone())
    }
}
