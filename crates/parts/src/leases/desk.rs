//! The lease desk: a policy that keeps a ledger of promises, decides anew when a lease begins,
//! looks at new jobs every so often and hands out idle GPUs a little more often. What a paper
//! brings of its own (estimates, classes, what to do within a lease) are its `LeaseRules`.

use super::ledger::{Admission, Entry, Ledger, Standing};
use super::profile::{Measured, Profile};
use super::programme::FirstLease;
use super::seats::{Seat, Seated, seat_all};
use crate::place::LocalSearch;
use heeler_engine::{Calibration, Idle, Job, Note, Phase, Policy, Predict, View, Want};
use heeler_model::{JobId, KindId, KindSet, Plan, Reason, Run, Scope, Span, Time, Wait};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::cmp::Reverse;

/// What a paper brings of its own.
pub trait LeaseRules: Send {
    /// How many leases a job still needs on a kind of GPU, if one can tell.
    fn needs(&self, job: &Job, kind: KindId, lease: Span, view: &View) -> Option<u32>;

    /// What to do with the lease that begins.
    fn aim(&self, ledger: &Ledger) -> FirstLease;

    /// Whenever new jobs were looked at: change how jobs stand until the present lease ends.
    fn within(&self, ledger: &mut Ledger, end: Time, view: &View);

    /// Where a job stands among those who may use what nobody holds: smaller first. None if it may
    /// not.
    fn rank(&self, job: &Job, entry: &Entry, view: &View) -> Option<(u8, i64)>;

    /// Who says how long jobs are, if anybody does. The loop lets it learn and keeps what it knows.
    fn predictor(&self) -> Option<&dyn Predict> {
        None
    }

    /// The same, to learn.
    fn predictor_mut(&mut self) -> Option<&mut dyn Predict> {
        None
    }

    /// A copy.
    fn fork(&self) -> Box<dyn LeaseRules>;
}

/// What can be set.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// Leases and how they are promised.
    pub leases: Admission,
    /// How often new jobs are looked at.
    pub admission: Span,
    /// How often idle GPUs are handed out.
    pub tick: Span,
    /// Moves looked at when leases are decided on.
    pub moves: u32,
    /// How batches are placed.
    pub place: LocalSearch,
    /// How jobs are measured before anything is promised to them.
    pub profile: Profile,
}

/// What it remembers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Books {
    ledger: Ledger,
    /// When it last decided.
    decided: Option<Time>,
    /// Whether a lease began then.
    renewed: bool,
    /// Whether it looked at new jobs then.
    looking: bool,
    /// When it last looked at new jobs, counted in times of looking.
    looked: Option<u64>,
    /// What was measured.
    #[serde(default)]
    measured: Measured,
    /// What the predictor knows; only while it is saved.
    #[serde(default)]
    predict: Value,
}

/// The policy.
pub struct Desk {
    terms: Terms,
    rules: Box<dyn LeaseRules>,
    books: Books,
}

/// Which of the spans of a length a time is in.
fn number(length: Span, at: Time) -> u64 {
    at.micros() / length.micros().max(1)
}

/// When the next span of a length begins.
fn next(length: Span, at: Time) -> Time {
    Time::from_micros((number(length, at) + 1) * length.micros().max(1))
}

impl Desk {
    /// A desk with these rules.
    pub fn new(terms: Terms, rules: Box<dyn LeaseRules>) -> Desk {
        Desk { terms, rules, books: Books::default() }
    }

    /// When the present lease ends.
    fn end(&self) -> Time {
        self.terms.leases.start(self.books.ledger.lease + 1)
    }

    fn decide(&mut self, view: &View) {
        let terms = self.terms;
        let mut ledger = std::mem::take(&mut self.books.ledger);
        ledger.kept = terms.profile.gpus;
        terms.profile.follow(&mut ledger, &mut self.books.measured, view);
        let rules = &self.rules;
        let needs = |job: &Job, kind| rules.needs(job, kind, terms.leases.lease, view);
        let lease = number(terms.leases.lease, view.now());
        self.books.renewed = lease > ledger.lease;
        if self.books.renewed {
            let aim = rules.aim(&ledger);
            ledger.renew(lease, aim, terms.moves, &needs, view);
        }
        let looks = number(terms.admission, view.now());
        self.books.looking = self.books.looked != Some(looks);
        if self.books.looking {
            self.books.looked = Some(looks);
            ledger.trim(&needs, view);
            ledger.admit_all(terms.leases, &needs, view);
            rules.within(&mut ledger, next(terms.leases.lease, view.now()), view);
        }
        self.books.ledger = ledger;
    }

    /// Holders of the lease, then who is promised to end in it, then the others by rank; those who
    /// run go on until the next lease.
    fn seats(&self, view: &View) -> Vec<Seat> {
        let backwards = view.rules().idle == Idle::WorstFirst && !self.books.looking;
        let measured = self.terms.profile.seats(&self.books.ledger, view);
        let mut ranked = Vec::new();
        for (id, entry) in &self.books.ledger.entries {
            let job = view.state().job(*id);
            if job.leaving.is_some() || job.phase == Phase::Blocked {
                continue;
            }
            let mut want = Want::as_asked(job);
            let settled = !self.books.renewed && job.is_placed();
            let key = match (entry.holds, entry.forced) {
                _ if measured.contains(id) => Some((0, false, (0, 0))),
                (true, _) => Some((0, false, (0, 0))),
                (_, true) => Some((1, false, (0, 0))),
                _ => self.rules.rank(job, entry, view).map(|(class, among)| match backwards {
                    true if !settled => (2, true, (u8::MAX - class, !among)),
                    _ => (2, !settled, (class, among)),
                }),
            };
            let Some(key) = key else { continue };
            let lease = (key.0 < 2 && !measured.contains(id)).then(|| self.end());
            if lease.is_some() {
                want.demand.kinds = KindSet::only(entry.pool);
            }
            ranked.push((key, job.submitted, Seat { job: *id, want, lease }));
        }
        // Large gangs have the hardest time; holders all fit, whoever comes first.
        let size = |seat: &Seat, class: u8| if class < 2 { seat.want.gpus } else { 0 };
        ranked.sort_by_key(|(key, submitted, seat)| {
            (key.0, Reverse(size(seat, key.0)), *key, *submitted, seat.job)
        });
        ranked.into_iter().map(|(_, _, seat)| seat).collect()
    }

    /// Why a job waits.
    fn verdict(&self, id: JobId, refused: Option<Reason>, view: &View) -> Reason {
        let entry = &self.books.ledger.entries[&id];
        let answer = entry.answer;
        if let Some(reason @ Reason::OverLimit { .. }) = refused {
            return reason;
        }
        let said = match (entry.standing, answer) {
            (Standing::Arrived, _) => {
                Some(Reason::RoundNotOver { until: next(self.terms.admission, view.now()) })
            }
            (Standing::Promised, Some(answer)) => {
                let by = answer.by().unwrap_or(answer.asked);
                let from = entry.leases.first().map(|lease| self.terms.leases.start(*lease));
                from.map(|from| Reason::Leased { from, by })
            }
            (Standing::Refused, Some(answer)) => {
                let (asked, offered) = (answer.asked, answer.offered);
                Some(Reason::DeadlineNotFeasible { asked, offered })
            }
            (Standing::Lost, Some(answer)) => Some(Reason::DeadlineLost { asked: answer.asked }),
            _ => None,
        };
        let later = Reason::RoundNotOver { until: next(self.terms.tick, view.now()) };
        let before = view.state().job(id).noted.map(|noted| noted.reason);
        said.or(refused).or(before).unwrap_or(later)
    }

    /// Everybody as they are, between two decisions.
    fn as_it_is(view: &View) -> Seated {
        let run = |job: &Job| {
            Some(Run { job: job.id, assignment: job.assignment.clone()?, lease: job.lease })
        };
        Seated { runs: view.jobs().iter().filter_map(run).collect(), ..Seated::default() }
    }
}

impl Policy for Desk {
    fn plan(&self, view: &View) -> Plan {
        let seated = match self.is_due(view) {
            true => seat_all(&self.seats(view), self.terms.place, view),
            false => Desk::as_it_is(view),
        };
        let mut plan = Plan { scope: Scope::Whole, run: seated.runs, ..Plan::none() };
        let running: std::collections::BTreeSet<JobId> =
            plan.run.iter().map(|run| run.job).collect();
        for (id, entry) in &self.books.ledger.entries {
            let job = view.state().job(*id);
            if let Some(answer) = entry.answer.filter(|answer| job.promise != Some(*answer)) {
                plan.promise.push(answer);
            }
            if !running.contains(id) {
                let reason = self.verdict(*id, seated.refused.get(id).copied(), view);
                plan.wait.push(Wait { job: *id, reason });
            }
        }
        plan
    }

    fn observe(&mut self, note: &Note, view: &View) {
        if let Some(predict) = self.rules.predictor_mut() {
            predict.observe(note, view);
        }
        match note {
            // Who runs when this recipe takes over never joined the queue.
            Note::Joined(id) | Note::Placed(id) => {
                let ledger = &mut self.books.ledger;
                if ledger.entries.is_empty() {
                    // It has not been looked for anybody since there was somebody.
                    let before = view.now().minus(Span::from_micros(1));
                    self.books.looked =
                        (view.now() > Time::ZERO).then(|| number(self.terms.admission, before));
                }
                ledger.entries.entry(*id).or_default();
            }
            Note::Left(id) => {
                self.books.ledger.entries.remove(id);
            }
            Note::Deciding if self.is_due(view) => self.decide(view),
            Note::Decided => self.books.decided = Some(view.now()),
            _ => {}
        }
    }

    fn is_due(&self, view: &View) -> bool {
        let on_time = view.now().micros().is_multiple_of(self.terms.tick.micros().max(1));
        on_time && self.books.decided != Some(view.now()) && !view.jobs().is_empty()
    }

    fn wake(&self, view: &View) -> Option<Time> {
        let measures = self.books.ledger.entries.values().any(|e| e.standing == Standing::Profiled);
        let often = view.waiting() > 0 || measures;
        let length = if often { self.terms.tick } else { self.terms.leases.lease };
        (!view.jobs().is_empty()).then(|| next(length, view.now()))
    }

    fn calibrations(&self) -> Vec<Calibration> {
        self.rules.predictor().and_then(Predict::calibration).into_iter().collect()
    }

    fn save(&self) -> Value {
        let predict = self.rules.predictor().map_or(Value::Null, Predict::save);
        let books = Books { predict, ..self.books.clone() };
        serde_json::to_value(&books).expect("plain data")
    }

    fn restore(&mut self, saved: &Value, _view: &View) -> Result<(), String> {
        self.books = serde_json::from_value(saved.clone()).map_err(|error| error.to_string())?;
        let known = std::mem::take(&mut self.books.predict);
        match self.rules.predictor_mut().filter(|_| !known.is_null()) {
            Some(predict) => predict.restore(&known),
            None => Ok(()),
        }
    }

    fn fork(&self) -> Box<dyn Policy> {
        Box::new(Desk { terms: self.terms, rules: self.rules.fork(), books: self.books.clone() })
    }
}
