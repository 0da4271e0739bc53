//! A policy of groups: jobs in order, those considered, their groups and where these go.

use super::candidates::candidates;
use super::form::{Forming, form};
use super::settle::settle;
use heeler_engine::{Cadence, Job, Note, Phase, Policy, Predict, Ties, Untried, View};
use heeler_model::{JobId, Plan, Reason, Run, Scope, Span, Time, Wait};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;

/// Who comes first.
pub enum Rank {
    /// Who has the least GPU time left, as a predictor says.
    Left(Box<dyn Predict>),
    /// Who has had the least GPU time.
    Served,
}

/// What it remembers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Books {
    /// Jobs as they stood after the last decision, in worlds where that settles ties.
    line: Vec<JobId>,
    /// Who is among them.
    inside: BTreeSet<JobId>,
    /// Whether something happened since the last decision.
    stirred: bool,
    /// When that was.
    decided: Option<Time>,
    /// Whether a decision is being taken.
    deciding: bool,
    /// Jobs that gave way in a decision and have not come back yet.
    gave_way: BTreeSet<JobId>,
}

/// A policy of groups.
pub struct Groups {
    rank: Rank,
    forming: Forming,
    cadence: Cadence,
    books: Books,
}

impl Groups {
    /// Groups of jobs in an order.
    pub fn new(rank: Rank, forming: Forming, cadence: Cadence) -> Groups {
        Groups { rank, forming, cadence, books: Books::default() }
    }

    /// GPU time that a job has left, or has had, microseconds.
    fn key(&self, job: &Job, view: &View) -> i64 {
        let gpus = job.spec.demand.asked().max(1);
        let Rank::Left(predict) = &self.rank else {
            let run = job.attained_at(view.now()).micros();
            return run.saturating_mul(u64::from(gpus)).min(i64::MAX as u64) as i64;
        };
        let declared = view.rules().untried == Untried::Declared && job.started.is_none();
        let told = job.spec.declared.filter(|_| declared).map(|span| span.micros() as f64);
        // By its pace alone: how fast it is in its present group says nothing of its length.
        let pace = job.spec.nominal_pace * job.tempo.pace;
        let left = || Some((predict.work(job, view)? - job.progress.done_at(view.now())) / pace);
        match told.or_else(left) {
            Some(left) => (left.max(0.0) * f64::from(gpus)).round() as i64,
            None => i64::MAX,
        }
    }

    /// Jobs that may run, the first first.
    fn order(&self, view: &View) -> Vec<JobId> {
        let counts = |job: &Job| job.leaving.is_none() && job.phase != Phase::Blocked;
        let keyed = |job: &Job| (self.key(job, view), job.id);
        if view.rules().ties == Ties::Previous {
            let jobs = self.books.line.iter().filter_map(|id| view.jobs().get(*id));
            let mut line: Vec<(i64, JobId)> = jobs.filter(|job| counts(job)).map(keyed).collect();
            line.sort_by_key(|(key, _)| *key);
            return line.into_iter().map(|(_, id)| id).collect();
        }
        let jobs = view.jobs().iter().filter(|job| counts(job));
        let mut line: Vec<(i64, Time, JobId)> =
            jobs.map(|job| (self.key(job, view), job.submitted, job.id)).collect();
        line.sort_unstable();
        line.into_iter().map(|(_, _, id)| id).collect()
    }

    /// When the round is over.
    fn round_over(&self, every: Span) -> Time {
        let each = every.micros().max(1);
        let rounds = self.books.decided.map_or(0, |at| at.micros() / each + 1);
        Time::from_micros(rounds.saturating_mul(each))
    }

    fn keep_in_line(&mut self, id: JobId, view: &View) {
        if view.rules().ties == Ties::Previous && self.books.inside.insert(id) {
            self.books.line.push(id);
        }
    }

    /// Jobs stand in the order of this decision, the largest in front.
    fn line_up(&mut self, view: &View) {
        let mut line = self.order(view);
        line.sort_by_key(|id| std::cmp::Reverse(view.job(*id).spec.demand.asked()));
        let ranked: BTreeSet<JobId> = line.iter().copied().collect();
        line.extend(self.books.line.iter().filter(|id| !ranked.contains(id)));
        self.books.line = line;
    }

    fn joined(&mut self, id: JobId, view: &View) {
        self.keep_in_line(id, view);
        // Who was told to give way was thought of then. Were it thought of again as soon as it has
        // been saved, those with little service would take turns without end.
        self.books.stirred |= !self.books.gave_way.remove(&id);
    }
}

impl Policy for Groups {
    fn plan(&self, view: &View) -> Plan {
        let order = self.order(view);
        let mut found = candidates(&order, self.forming.most, view);
        let key = |id| self.key(view.job(id), view);
        let groups = form(&found.batches, &self.forming, key, view);
        let mut settled = settle(&groups, view);
        let mut plan = Plan { scope: Scope::Whole, ..Plan::none() };
        for (place, id) in order.iter().enumerate() {
            if let Some(assignment) = settled.runs.remove(id) {
                plan.run.push(Run { job: *id, assignment, lease: None });
                continue;
            }
            let reason = settled.refused.remove(id).or_else(|| found.refused.remove(id));
            let behind = Reason::Behind { ahead: place as u32, first: order[0] };
            plan.wait.push(Wait { job: *id, reason: reason.unwrap_or(behind) });
        }
        plan
    }

    fn observe(&mut self, note: &Note, view: &View) {
        if let Rank::Left(predict) = &mut self.rank {
            predict.observe(note, view);
        }
        match note {
            Note::Joined(id) => self.joined(*id, view),
            Note::Left(id) => {
                if self.books.inside.remove(id) {
                    self.books.line.retain(|other| other != id);
                }
                self.books.gave_way.remove(id);
                self.books.stirred = true;
            }
            Note::Paused(id) => {
                self.books.gave_way.remove(id);
                if self.books.deciding {
                    self.books.gave_way.insert(*id);
                }
            }
            Note::Placed(id) => {
                self.keep_in_line(*id, view);
                self.books.gave_way.remove(id);
            }
            Note::Changed => self.books.stirred = true,
            Note::Decided => {
                if view.rules().ties == Ties::Previous {
                    self.line_up(view);
                }
                self.books.stirred = false;
                self.books.deciding = false;
                self.books.decided = Some(view.now());
                // Whom somebody holds back no decision thinks of.
                self.books.gave_way.retain(|id| view.job(*id).held.is_none());
            }
            Note::Deciding => self.books.deciding = true,
            Note::Began(_)
            | Note::Progressed(_)
            | Note::Reported { .. }
            | Note::Ran { .. }
            | Note::Load { .. }
            | Note::RoundOver { .. } => {}
        }
    }

    fn is_due(&self, view: &View) -> bool {
        match self.cadence {
            Cadence::Event => self.books.stirred,
            Cadence::Round(every) => {
                !view.jobs().is_empty() && view.now() >= self.round_over(every)
            }
        }
    }

    fn wake(&self, view: &View) -> Option<Time> {
        match self.cadence {
            Cadence::Event => None,
            Cadence::Round(every) => {
                let over = self.round_over(every).max(view.now());
                (!view.jobs().is_empty()).then_some(over)
            }
        }
    }

    fn packs(&self) -> bool {
        self.forming.most > 1
    }

    fn save(&self) -> Value {
        let predict = match &self.rank {
            Rank::Left(predict) => predict.save(),
            Rank::Served => Value::Null,
        };
        serde_json::to_value((&self.books, predict)).expect("plain data")
    }

    fn restore(&mut self, saved: &Value, _view: &View) -> Result<(), String> {
        let saved: (Books, Value) =
            serde_json::from_value(saved.clone()).map_err(|error| error.to_string())?;
        self.books = saved.0;
        match &mut self.rank {
            Rank::Left(predict) => predict.restore(&saved.1),
            Rank::Served => Ok(()),
        }
    }

    fn fork(&self) -> Box<dyn Policy> {
        let rank = match &self.rank {
            Rank::Left(predict) => Rank::Left(predict.fork()),
            Rank::Served => Rank::Served,
        };
        let (forming, books) = (self.forming.clone(), self.books.clone());
        Box::new(Groups { rank, forming, cadence: self.cadence, books })
    }
}
