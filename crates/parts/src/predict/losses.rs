//! What jobs reported of their loss, and the curves that fit it: how far a loss will have fallen
//! after more work, and how sure that is. Scores count as losses below zero.

use heeler_engine::{Job, Note, View};
use heeler_model::{JobId, Report};
use heeler_solve::{Falling, fit_falling};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// So many losses of a job are kept: the first, and the latest.
const KEPT: usize = 48;

/// The furthest that a job is taken to go, in times of the work between two of its reports.
const REPORTS_AHEAD: u32 = 200;

/// What jobs reported of their loss.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Losses {
    jobs: BTreeMap<JobId, Seen>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Seen {
    /// Work done, and the loss then.
    losses: Vec<(f64, f64)>,
    /// The most that the loss fell from one report to the next.
    steepest: f64,
    /// Whether it reports scores, which mean the same for all.
    #[serde(default)]
    scores: bool,
    #[serde(skip)]
    curve: Option<Falling>,
}

impl Seen {
    fn enter(&mut self, done: f64, loss: f64) {
        if let Some((last, before)) = self.losses.last().copied() {
            // A job that was set back reports some of its losses twice.
            if done <= last {
                self.losses.retain(|(earlier, _)| *earlier < done);
            }
            self.steepest = self.steepest.max(before - loss);
        }
        self.losses.push((done, loss));
        if self.losses.len() > KEPT {
            self.losses.remove(1);
        }
        self.curve = fit_falling(&self.losses);
    }
}

impl Losses {
    /// Take note. Says which job there is news of.
    pub fn observe(&mut self, note: &Note, view: &View) -> Option<JobId> {
        let (job, loss, scores) = match *note {
            Note::Reported { job, report: Report::Loss { value } } => (job, value, false),
            Note::Reported { job, report: Report::Score { value, .. } } => (job, -value, true),
            Note::Left(job) => {
                self.jobs.remove(&job);
                return None;
            }
            _ => return None,
        };
        let done = view.jobs().get(job)?.progress.done_at(view.now());
        if !loss.is_finite() || done <= 0.0 {
            return None;
        }
        let seen = self.jobs.entry(job).or_default();
        seen.scores = scores;
        seen.enter(done, loss);
        Some(job)
    }

    /// The part of the most it ever fell by which a job's loss is taken to fall from so much work
    /// done to so much; none, if too little was seen.
    pub fn falls(&self, job: JobId, from: f64, to: f64) -> Option<f64> {
        let seen = self.jobs.get(&job)?;
        let curve = seen.curve?;
        let scale = seen.steepest.max(f64::MIN_POSITIVE);
        Some((curve.at(from) - curve.at(to)).max(0.0) / scale)
    }

    /// What a job gains by so much more work than when it last reported: how far its score is
    /// taken to rise, or its loss to fall, which is a part of the most it ever fell.
    pub fn gain_from_last(&self, job: JobId, more: f64) -> Option<f64> {
        let seen = self.jobs.get(&job)?;
        let (last, _) = *seen.losses.last()?;
        let curve = seen.curve.filter(|_| seen.scores);
        let rise = curve.map(|curve| (curve.at(last) - curve.at(last + more)).max(0.0));
        rise.or_else(|| self.falls(job, last, last + more))
    }

    /// Work in all by the time a job's loss falls by less than a part of what it has fallen so far
    /// from one report to the next; none, if too little was seen.
    pub fn settles(&self, job: &Job, part: f64, view: &View) -> Option<f64> {
        let seen = self.jobs.get(&job.id)?;
        let curve = seen.curve?;
        let ((first, highest), (last, _)) = (*seen.losses.first()?, *seen.losses.last()?);
        let each = (last - first) / (seen.losses.len() - 1).max(1) as f64;
        let done = job.progress.done_at(view.now());
        let small = part * (highest - curve.level).max(0.0);
        let ahead = (0..REPORTS_AHEAD).map(|report| done + each * f64::from(report));
        let settled = |done: &f64| curve.at(*done) - curve.at(done + each) < small;
        let most = done + each * f64::from(REPORTS_AHEAD);
        (each > 0.0).then(|| ahead.into_iter().find(settled).unwrap_or(most))
    }

    /// How far losses lie from the curve of a job, relative to how far it falls.
    pub fn uncertainty(&self, job: JobId) -> Option<f64> {
        let seen = self.jobs.get(&job)?;
        let curve = seen.curve?;
        let falls = seen.losses.first()?.1 - curve.level;
        Some(curve.error / falls.max(f64::MIN_POSITIVE))
    }

    /// Fit all curves anew, after they were read back.
    pub fn fit_again(&mut self) {
        self.jobs.values_mut().for_each(|seen| seen.curve = fit_falling(&seen.losses));
    }
}
