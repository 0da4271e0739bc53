//! A policy of groups: jobs in order, those considered, their groups and where these go.

use super::candidates::candidates;
use super::form::{Forming, form};
use super::known::Kinds;
use super::queues::Queues;
use super::settle::{Fate, settle};
use super::standing::Line;
use heeler_engine::{Cadence, Calibration, Job, Note, Phase, Policy, Predict, Ties, Untried, View};
use heeler_model::{JobId, Plan, Reason, Span, Stop, Time, Wait};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

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
    /// Jobs as they stand in the decision being taken. Once they have started, they would stand
    /// elsewhere in worlds where those that never ran are as long as their owners say.
    #[serde(default)]
    standing: Vec<JobId>,
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
    /// Where sorting begins; no part of it either.
    last: RefCell<Last>,
}

/// All jobs as they stood in the last decision.
#[derive(Default)]
struct Last {
    order: Vec<JobId>,
    /// Numbers of jobs that had been used by then.
    seen: u32,
}

impl Groups {
    /// Groups of jobs in an order.
    pub fn new(rank: Rank, forming: Forming, cadence: Cadence) -> Groups {
        let (kinds, last) = (RefCell::default(), RefCell::default());
        Groups { rank, forming, cadence, books: Books::default(), kinds, last }
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
            Some(left) => rounded(left.max(0.0) * f64::from(gpus)),
            None => i64::MAX,
        }
    }

    /// Jobs that may run, the first first, each with its key.
    fn order<'a>(&self, view: &View<'a>) -> Vec<(i64, &'a Job)> {
        let table = view.state().jobs();
        let counts = |job: &&Job| job.leaving.is_none() && job.phase != Phase::Blocked;
        if let Rank::Queues(_) = &self.rank {
            let jobs = self.books.queues.order().filter_map(|id| table.get(id));
            return (0..).zip(jobs.filter(counts)).collect();
        }
        let keyed = |job: &'a Job| (self.key(job, view), job);
        if view.rules().ties == Ties::Previous {
            let jobs = self.books.line.iter().filter_map(|id| table.get(*id));
            let mut line: Vec<(i64, &Job)> = jobs.filter(counts).map(keyed).collect();
            line.sort_by_key(|(key, _)| *key);
            return line;
        }
        // Little changes from one decision to the next, so sorting begins with the last order.
        let mut last = self.last.borrow_mut();
        let new = (last.seen..table.used()).map(JobId);
        let jobs = last.order.iter().copied().chain(new).filter_map(|id| table.get(id));
        let mut line: Vec<(i64, &Job)> = Vec::with_capacity(table.len());
        line.extend(jobs.map(keyed));
        line.sort_by(|(one, first), (other, second)| {
            let came = |job: &Job| (job.submitted, job.id);
            one.cmp(other).then_with(|| came(first).cmp(&came(second)))
        });
        last.order.clear();
        last.order.extend(line.iter().map(|(_, job)| job.id));
        last.seen = table.used();
        line.retain(|(_, job)| counts(job));
        line
    }

    /// Whoever has GPUs and is not to run loses them.
    fn stop_others(&self, stays: &[bool], view: &View, plan: &mut Plan) {
        let place = |id: JobId| view.jobs().place(id).expect("the job is not done");
        let mut reasons: BTreeMap<JobId, Reason> = BTreeMap::new();
        for wait in &plan.wait {
            if view.job(wait.job).is_placed() {
                reasons.insert(wait.job, wait.reason);
            }
        }
        for job in view.jobs().iter().filter(|job| job.is_placed() && !stays[place(job.id)]) {
            let reason = reasons.get(&job.id).copied().unwrap_or(Reason::Rearranged);
            plan.stop.push(Stop { job: job.id, reason });
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

    /// Jobs stand in the order of the decision that was taken, the largest in front.
    fn line_up(&mut self, view: &View) {
        let mut line = std::mem::take(&mut self.books.standing);
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

/// A number that is not below zero, rounded. It is asked for every job in every decision.
fn rounded(number: f64) -> i64 {
    let whole = number as i64;
    whole.saturating_add(i64::from(number - whole as f64 >= 0.5))
}

impl Policy for Groups {
    fn plan(&self, view: &View) -> Plan {
        let mut kinds = self.kinds.borrow_mut();
        kinds.tidy();
        let line = Line::of(&self.order(view), &mut kinds, view);
        let mut found = candidates(&line.jobs, &kinds, self.forming.most, view);
        let groups = form(&found.batches, &self.forming, &line, &mut kinds, view);
        let settled = settle(&groups, &line, view);
        let mut plan = Plan::none();
        let mut stays = vec![false; view.jobs().places()];
        for (ahead, standing) in line.jobs.iter().enumerate() {
            let reason = match settled.fates[standing.place as usize] {
                Fate::Stays => {
                    stays[standing.place as usize] = true;
                    continue;
                }
                Fate::Runs(given) => {
                    stays[standing.place as usize] = true;
                    plan.start(standing.id, settled.given[given as usize].clone());
                    continue;
                }
                Fate::Waits(why) => Some(settled.reasons[why as usize]),
                Fate::Out => found.refused.remove(&(ahead as u32)),
            };
            // Who waits for its turn need not be told, unless somebody asks.
            let turn = reason.is_none() && !standing.job.is_placed();
            if turn && !view.wants_all_verdicts() {
                continue;
            }
            let behind = Reason::Behind { ahead: ahead as u32, first: line.jobs[0].id };
            plan.wait.push(Wait { job: standing.id, reason: reason.unwrap_or(behind) });
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
                if view.rules().ties == Ties::Previous {
                    self.books.standing = match &self.rank {
                        Rank::Queues(_) => self.books.line.clone(),
                        _ => self.order(view).into_iter().map(|(_, job)| job.id).collect(),
                    };
                }
            }
            Note::Began(_)
            | Note::Progressed(_)
            | Note::Reported { .. }
            | Note::Ran { .. }
            | Note::Load { .. }
            | Note::Scattered(_)
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
        (self.kinds, self.last) = (RefCell::default(), RefCell::default());
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
        let (kinds, last) = (RefCell::default(), RefCell::default());
        Box::new(Groups { rank, forming, cadence: self.cadence, books, kinds, last })
    }
}
