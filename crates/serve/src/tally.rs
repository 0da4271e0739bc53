//! How cells count: what happened to requests, and how long replicas were there and at work.

use crate::Summary;
use serde::{Deserialize, Serialize};

/// What became of a request that was answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Answer {
    /// When it came.
    pub at_ns: u64,
    /// When its first token was there; of models without tokens the same as its end.
    pub first_ns: u64,
    /// When it was answered.
    pub end_ns: u64,
}

/// Counts of a cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Tally {
    pub(crate) summary: Summary,
    /// Every answer, if somebody wants them all.
    answers: Option<Vec<Answer>>,
    /// Replicas that are there.
    present: u64,
    /// Replicas that are at work.
    busy: u64,
    /// Until when their time is counted.
    mark_ns: u64,
}

impl Tally {
    pub(crate) fn new(from_ns: u64) -> Tally {
        let summary = Summary { from_ns, to_ns: from_ns, ..Summary::default() };
        Tally { summary, answers: None, present: 0, busy: 0, mark_ns: from_ns }
    }

    /// Keep every answer from now on.
    pub(crate) fn keep_answers(&mut self) {
        self.answers.get_or_insert_default();
    }

    pub(crate) fn answers(&self) -> &[Answer] {
        self.answers.as_deref().unwrap_or_default()
    }

    /// Count the time of replicas up to now; before their number changes, and before a look.
    #[inline]
    pub(crate) fn mark(&mut self, now_ns: u64) {
        let span = now_ns - self.mark_ns;
        self.summary.busy_ns += self.busy * span;
        self.summary.held_ns += self.present * span;
        self.mark_ns = now_ns;
    }

    /// So many replicas come, or go.
    pub(crate) fn present(&mut self, now_ns: u64, change: i64) {
        self.mark(now_ns);
        self.present = self.present.strict_add_signed(change);
    }

    /// A replica begins to work, or stops.
    #[inline]
    pub(crate) fn busy(&mut self, now_ns: u64, change: i64) {
        self.mark(now_ns);
        self.busy = self.busy.wrapping_add_signed(change);
    }

    /// A request was answered.
    #[inline]
    pub(crate) fn answer(&mut self, at_ns: u64, end_ns: u64, target_ns: u64) {
        let latency_ns = end_ns - at_ns;
        self.summary.answered += 1;
        self.summary.late += u64::from(latency_ns > target_ns);
        self.summary.latency.add(latency_ns);
        self.keep(Answer { at_ns, first_ns: end_ns, end_ns });
    }

    /// Keep an answer if all are wanted.
    #[inline]
    pub(crate) fn keep(&mut self, answer: Answer) {
        if let Some(answers) = &mut self.answers {
            answers.push(answer);
        }
    }

    /// Hand over the counts and begin anew.
    pub(crate) fn look(&mut self, now_ns: u64, waiting: u64, running: u64) -> Summary {
        self.mark(now_ns);
        let next = Summary { from_ns: now_ns, to_ns: now_ns, ..Summary::default() };
        let mut summary = std::mem::replace(&mut self.summary, next);
        summary.to_ns = now_ns;
        summary.waiting = waiting;
        summary.running = running;
        summary
    }
}
