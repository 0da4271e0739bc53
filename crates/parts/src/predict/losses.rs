//! What jobs reported of their loss, and the curves that fit it: how far a loss will have fallen
//! after more work, and how sure that is. Scores count as losses below zero. Curves are judged by
//! what a job reports once it has done as much work again as they were drawn through.

use super::Tally;
use heeler_engine::{Calibration, Job, Note, View};
use heeler_model::{JobId, Report};
use heeler_solve::{Falling, LOSSES_MIN, fit_falling};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// So many losses of a job are kept: the first, and the latest.
const KEPT: usize = 48;

/// Standard deviations around a curve within which losses are said to lie.
const STATED: f64 = 2.0;

/// The furthest that a job is taken to go, in times of the work between two of its reports.
const REPORTS_AHEAD: u32 = 200;

/// What jobs reported of their loss.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Losses {
    jobs: BTreeMap<JobId, Seen>,
    /// How near curves came to what was reported later.
    #[serde(default)]
    tally: Tally,
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
    /// The curve that is judged next, and after how much work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    said: Option<(f64, Falling)>,
}

impl Seen {
    /// Compare a loss with what was said of it when half of that work was done.
    fn judge(&mut self, done: f64, loss: f64, tally: &mut Tally) {
        let Some((_, curve)) = self.said.take_if(|(due, _)| *due <= done) else { return };
        let said = curve.at(done);
        // Scores are losses below zero, and are compared as scores.
        let sign = if self.scores { -1.0 } else { 1.0 };
        tally.note(Some(sign * said), sign * loss);
        tally.note_stated((loss - said).abs() <= STATED * curve.error);
    }

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
        if self.said.is_none() {
            self.said = self.curve.map(|curve| (2.0 * done, curve));
        }
    }

    /// Whether so much was seen that a loss without a curve is one that does not fall.
    fn is_enough(&self) -> bool {
        self.losses.len() >= LOSSES_MIN
    }

    /// Work in all by which the loss falls by less than a part of all it falls, from one report to
    /// the next; none, if it has no curve.
    fn settles(&self, part: f64, done: f64) -> Option<f64> {
        let curve = self.curve?;
        let (highest, last) = (self.losses.first()?.1, self.losses.last()?.0);
        // Between the first report and the next that is kept many may have been forgotten.
        let each = (last - self.losses.get(1)?.0) / (self.losses.len() - 2).max(1) as f64;
        let small = part * (highest - curve.level).max(0.0);
        let ahead = (0..REPORTS_AHEAD).map(|report| done + each * f64::from(report));
        let settled = |done: &f64| curve.at(*done) - curve.at(done + each) < small;
        let most = done + each * f64::from(REPORTS_AHEAD);
        (each > 0.0).then(|| ahead.into_iter().find(settled).unwrap_or(most))
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
        seen.judge(done, loss, &mut self.tally);
        seen.enter(done, loss);
        Some(job)
    }

    /// The part of the most it ever fell by which a job's loss is taken to fall from so much work
    /// done to so much; none, if too little was seen. A loss that stands still or rises is taken to
    /// go on so: it falls by nothing.
    pub fn falls(&self, job: JobId, from: f64, to: f64) -> Option<f64> {
        let seen = self.jobs.get(&job).filter(|seen| seen.is_enough())?;
        let Some(curve) = seen.curve else { return Some(0.0) };
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

    /// Work in all by the time a job's loss falls by less than a part of all it falls from one
    /// report to the next; none, if too little was seen, or if it does not fall.
    pub fn settles(&self, job: &Job, part: f64, view: &View) -> Option<f64> {
        self.jobs.get(&job.id)?.settles(part, job.progress.done_at(view.now()))
    }

    /// How far losses lie from the curve of a job, relative to how far it falls.
    pub fn uncertainty(&self, job: JobId) -> Option<f64> {
        let seen = self.jobs.get(&job)?;
        let curve = seen.curve?;
        let falls = seen.losses.first()?.1 - curve.level;
        Some(curve.error / falls.max(f64::MIN_POSITIVE))
    }

    /// How near curves came to losses after as much work again, and how often these were as near
    /// as the curves themselves said.
    pub fn calibration(&self) -> Calibration {
        self.tally.calibration("curve", "loss, after as much work again")
    }

    /// Fit all curves anew, after they were read back.
    pub fn fit_again(&mut self) {
        self.jobs.values_mut().for_each(|seen| seen.curve = fit_falling(&seen.losses));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A job that reported so many losses after an hour of work each, the last of them now.
    fn seen(reports: u32, loss: impl Fn(f64) -> f64) -> Seen {
        let mut seen = Seen::default();
        for report in 1..=reports {
            let done = 3600.0 * f64::from(report);
            seen.enter(done, loss(done / 3600.0));
        }
        seen
    }

    /// A loss of 4 ÷ (1 + n/100) + 1 after n reports falls by less than a thousandth of the whole
    /// from one to the next when (1 + n/100)² is 10, after 216.
    #[test]
    fn however_often_it_reports_a_loss_settles_at_the_same_work() {
        for reports in [20, 40, 47, 48, 49, 60, 100, 150, 200] {
            let seen = seen(reports, |n| 4.0 / (1.0 + n / 100.0) + 1.0);
            assert_eq!(seen.losses.len(), (reports as usize).min(KEPT));
            let settles = seen.settles(0.001, 3600.0 * f64::from(reports)).expect("it falls");
            let after = settles / 3600.0;
            assert!((210.0..=222.0).contains(&after), "{after} by {reports} reports");
        }
        // Who has gone on for longer has settled.
        let late = seen(700, |n| 4.0 / (1.0 + n / 100.0) + 1.0);
        assert_eq!(late.settles(0.001, 700.0 * 3600.0), Some(700.0 * 3600.0));
    }

    #[test]
    fn who_was_seen_enough_and_does_not_fall_falls_by_nothing() {
        let mut losses = Losses::default();
        let falls = |losses: &Losses| losses.falls(JobId(0), 1e6, 2e6);
        for (reports, said) in [(3, None), (4, Some(0.0)), (200, Some(0.0))] {
            for loss in [|_| 2.0, |n: f64| n] {
                losses.jobs.insert(JobId(0), seen(reports, loss));
                assert_eq!(falls(&losses), said, "{reports} reports");
                assert_eq!(losses.gain_from_last(JobId(0), 1e6), said, "{reports} reports");
            }
        }
        losses.jobs.insert(JobId(0), seen(4, |n| 4.0 / n));
        assert!(falls(&losses).is_some_and(|falls| falls > 0.0));
    }

    /// Of a loss that falls along its curve what is said comes true. Of one that stands still from
    /// the twentieth report on, what was said at the sixteenth is too small, and outside of what
    /// was stated.
    #[test]
    fn curves_are_judged_by_what_is_reported_after_as_much_work_again() {
        let judged = |reports: u32, loss: fn(f64) -> f64| {
            let (mut seen, mut tally) = (Seen::default(), Tally::default());
            for report in 1..=reports {
                let (done, loss) = (3600.0 * f64::from(report), loss(f64::from(report)));
                seen.judge(done, loss, &mut tally);
                seen.enter(done, loss);
            }
            tally.calibration("curve", "loss")
        };
        // The first curve is there after four reports, and is judged after eight.
        assert_eq!(judged(7, |n| 4.0 / n).seen, 0);
        let wavy = |n: f64| 4.0 / (1.0 + n / 10.0) + 1.0 + 0.01 * (n * 2.4).sin();
        let sound = judged(64, wavy);
        assert_eq!(sound.seen, 4, "after 8, 16, 32 and 64");
        assert!(sound.factor < 1.1, "{sound:?}");
        let stands = judged(32, |n| 4.0 / (1.0 + n.min(20.0) / 10.0) + 1.0);
        assert!(stands.factor > 1.01 && stands.within_stated < Some(1.0), "{stands:?}");
    }
}
