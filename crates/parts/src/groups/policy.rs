//! A policy of groups: jobs in order, those considered, their groups and where these go.

use super::candidates::candidates;
use super::form::{Forming, form};
use super::known::Kinds;
use super::queues::Queues;
use super::settle::{Fate, settle};
use heeler_engine::{Cadence, Calibration, Job, Note, Phase, Policy, Predict, Ties, Untried, View};
use heeler_model::{JobId, Plan, Reason, Span, Stop, Time, Wait};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// Who comes first.
pub enum Rank {
    /// Who has the least GPU time left, as a predictor says.
    Left(Box<dyn Predict>),
    /// Who has had the least GPU time.
    Served,
    /// Who has had less GPU time than the first of these limits, than the second, and so on.
    Queues(Vec<Span>),
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
    /// Jobs by queue, where there are queues.
    #[serde(default)]
    queues: Queues,
}

/// A policy of groups.
pub struct Groups {
    rank: Rank,
    forming: Forming,
    cadence: Cadence,
    books: Books,
    /// What has been worked out of groups; no part of what it remembers.
    kinds: RefCell<Kinds>,
}

impl Groups {
    /// Groups of jobs in an order.
    pub fn new(rank: Rank, forming: Forming, cadence: Cadence) -> Groups {
        Groups { rank, forming, cadence, books: Books::default(), kinds: RefCell::default() }
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

    /// Jobs that may run, the first first, and where they stand.
    fn order(&self, view: &View) -> Vec<(i64, JobId)> {
        let counts = |job: &Job| job.leaving.is_none() && job.phase != Phase::Blocked;
        let keyed = |job: &Job| (self.key(job, view), job.id);
        if let Rank::Queues(_) = &self.rank {
            let jobs = self.books.queues.order().filter_map(|id| view.jobs().get(id));
            return (0..).zip(jobs.filter(|job| counts(job)).map(|job| job.id)).collect();
        }
        if view.rules().ties == Ties::Previous {
            let jobs = self.books.line.iter().filter_map(|id| view.jobs().get(*id));
            let mut line: Vec<(i64, JobId)> = jobs.filter(|job| counts(job)).map(keyed).collect();
            line.sort_by_key(|(key, _)| *key);
            return line;
        }
        let jobs = view.jobs().iter().filter(|job| counts(job));
        let mut line: Vec<(i64, Time, JobId)> =
            jobs.map(|job| (self.key(job, view), job.submitted, job.id)).collect();
        line.sort_unstable();
        line.into_iter().map(|(key, _, id)| (key, id)).collect()
    }

    /// Whoever has GPUs and is not to run loses them.
    fn stop_others(&self, stays: &[bool], view: &View, plan: &mut Plan) {
        let place = |id: JobId| view.jobs().place(id).expect("the job is not done");
        let mut reasons = vec![Reason::Rearranged; stays.len()];
        for wait in &plan.wait {
            reasons[place(wait.job)] = wait.reason;
        }
        for job in view.jobs().iter().filter(|job| job.is_placed()) {
            let at = place(job.id);
            if !stays[at] {
                plan.stop.push(Stop { job: job.id, reason: reasons[at] });
            }
        }
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
        let mut line: Vec<JobId> = match &self.rank {
            Rank::Queues(_) => self.books.line.clone(),
            _ => self.order(view).into_iter().map(|(_, id)| id).collect(),
        };
        line.retain(|id| view.jobs().get(*id).is_some());
        line.sort_by_key(|id| std::cmp::Reverse(view.job(*id).spec.demand.asked()));
        let ranked: BTreeSet<JobId> = line.iter().copied().collect();
        line.extend(self.books.line.iter().filter(|id| !ranked.contains(id)));
        self.books.line = line;
    }

    /// When the next job has had enough.
    fn next_demotion(&self, view: &View) -> Option<Time> {
        let Rank::Queues(limits) = &self.rank else { return None };
        self.books.queues.next(limits, view)
    }

    /// Who has had enough goes on to the next queue.
    fn demote(&mut self, view: &View) {
        let Rank::Queues(limits) = &self.rank else { return };
        let queues = &mut self.books.queues;
        match view.rules().ties {
            Ties::Previous => {
                let jobs = self.books.line.iter().filter_map(|id| view.jobs().get(*id));
                queues.demote(jobs, limits, view);
            }
            Ties::Submitted => queues.demote(view.jobs().iter(), limits, view),
        }
    }

    fn joined(&mut self, id: JobId, view: &View) {
        self.keep_in_line(id, view);
        if let Rank::Queues(limits) = &self.rank {
            self.books.queues.enter(id, limits);
        }
        // Who was told to give way was thought of then. Were it thought of again as soon as it has
        // been saved, those with little service would take turns without end.
        self.books.stirred |= !self.books.gave_way.remove(&id);
    }
}

impl Policy for Groups {
    fn plan(&self, view: &View) -> Plan {
        let place = |id: JobId| view.jobs().place(id).expect("the job is not done");
        let mut keys = vec![i64::MAX; view.jobs().places()];
        let mut order = Vec::with_capacity(view.jobs().len());
        for (key, id) in self.order(view) {
            keys[place(id)] = key;
            order.push(id);
        }
        let mut found = candidates(&order, self.forming.most, view);
        let mut kinds = self.kinds.borrow_mut();
        kinds.tidy();
        let groups = form(&found.batches, &self.forming, &mut kinds, |id| keys[place(id)], view);
        let mut settled = settle(&groups, view);
        let mut plan = Plan::none();
        let mut stays = vec![false; keys.len()];
        for (ahead, id) in order.iter().enumerate() {
            let reason = match settled.take(*id, view) {
                Fate::Stays => {
                    stays[place(*id)] = true;
                    continue;
                }
                Fate::Runs(assignment) => {
                    stays[place(*id)] = true;
                    plan.start(*id, assignment);
                    continue;
                }
                Fate::Waits(reason) => Some(reason),
                Fate::Out => found.refused.remove(id),
            };
            let behind = Reason::Behind { ahead: ahead as u32, first: order[0] };
            // Who waits for its turn need not be told, unless somebody asks.
            let turn = reason.is_none() && !view.job(*id).is_placed();
            if turn && !view.wants_all_verdicts() {
                continue;
            }
            plan.wait.push(Wait { job: *id, reason: reason.unwrap_or(behind) });
        }
        self.stop_others(&stays, view, &mut plan);
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
                self.books.queues.leave(*id);
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
                if let Rank::Queues(limits) = &self.rank {
                    self.books.queues.enter(*id, limits);
                }
                self.books.gave_way.remove(id);
            }
            Note::Changed => self.books.stirred = true,
            Note::Decided => {
                if view.rules().ties == Ties::Previous {
                    self.line_up(view);
                }
                self.books.queues.settle(view);
                self.books.stirred = false;
                self.books.deciding = false;
                self.books.decided = Some(view.now());
                // Whom somebody holds back no decision thinks of.
                self.books.gave_way.retain(|id| view.job(*id).held.is_none());
            }
            Note::Deciding => {
                self.books.deciding = true;
                self.demote(view);
            }
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
            Cadence::Event => {
                let now = view.now();
                self.books.stirred || self.next_demotion(view).is_some_and(|at| at <= now)
            }
            Cadence::Round(every) => {
                !view.jobs().is_empty() && view.now() >= self.round_over(every)
            }
        }
    }

    fn wake(&self, view: &View) -> Option<Time> {
        match self.cadence {
            Cadence::Event => self.next_demotion(view).map(|at| at.max(view.now())),
            Cadence::Round(every) => {
                let over = self.round_over(every).max(view.now());
                (!view.jobs().is_empty()).then_some(over)
            }
        }
    }

    fn packs(&self) -> bool {
        self.forming.most > 1
    }

    fn calibrations(&self) -> Vec<Calibration> {
        match &self.rank {
            Rank::Left(predict) => predict.calibration().into_iter().collect(),
            Rank::Served | Rank::Queues(_) => Vec::new(),
        }
    }

    fn save(&self) -> Value {
        let predict = match &self.rank {
            Rank::Left(predict) => predict.save(),
            Rank::Served | Rank::Queues(_) => Value::Null,
        };
        serde_json::to_value((&self.books, predict)).expect("plain data")
    }

    fn restore(&mut self, saved: &Value, _view: &View) -> Result<(), String> {
        let saved: (Books, Value) =
            serde_json::from_value(saved.clone()).map_err(|error| error.to_string())?;
        self.books = saved.0;
        match &mut self.rank {
            Rank::Left(predict) => predict.restore(&saved.1),
            Rank::Served | Rank::Queues(_) => Ok(()),
        }
    }

    fn fork(&self) -> Box<dyn Policy> {
        let rank = match &self.rank {
            Rank::Left(predict) => Rank::Left(predict.fork()),
            Rank::Served => Rank::Served,
            Rank::Queues(limits) => Rank::Queues(limits.clone()),
        };
        let (forming, books) = (self.forming.clone(), self.books.clone());
        let kinds = RefCell::default();
        Box::new(Groups { rank, forming, cadence: self.cadence, books, kinds })
    }
}
