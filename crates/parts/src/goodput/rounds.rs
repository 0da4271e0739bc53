//! Rounds in which every job is given a shape or waits. What shapes is for an `Allot` to say; this
//! keeps the books: what jobs reported, how often they were started again, and when a round is due.

use super::learned::Learned;
use super::settle::{counts, settle};
use super::shapes::Shape;
use heeler_engine::{Calibration, Job, Note, Phase, Policy, Predict, RoundClock, View};
use heeler_model::{JobId, Plan, Reason, Span, Stop, Time};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// A job to be given a shape.
pub struct Candidate<'a> {
    /// The job.
    pub job: &'a Job,
    /// What it has reported.
    pub learned: &'a Learned,
    /// The shape it has.
    pub current: Option<Shape>,
    /// Whether it must keep that, because it is just starting there.
    pub pinned: bool,
    /// How often it was started again.
    pub restarts: u32,
}

/// How shapes become GPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Settling {
    /// The largest first, each where it just fits.
    #[default]
    Close,
    /// The smallest first, each on the nodes with most room.
    MostRoom,
    /// The smallest first, each in even parts on as few nodes as possible.
    Even,
}

/// Who gets which shape.
pub trait Allot: Send {
    /// A shape for each job, or none, in the same order.
    fn allot(&self, jobs: &[Candidate], view: &View) -> Vec<Option<Shape>>;

    /// A round of this length begins: decide what has to be remembered.
    fn begin(&mut self, _round: Span, _view: &View) {}

    /// Learn.
    fn observe(&mut self, _note: &Note, _view: &View) {}

    /// Who says how long jobs are, if anybody does. The loop lets it learn and keeps what it knows.
    fn predictor(&self) -> Option<&dyn Predict> {
        None
    }

    /// The same, to learn.
    fn predictor_mut(&mut self) -> Option<&mut dyn Predict> {
        None
    }

    /// How well whatever it goes by has done.
    fn calibration(&self) -> Option<Calibration> {
        self.predictor().and_then(Predict::calibration)
    }

    /// How shapes become GPUs.
    fn settling(&self) -> Settling {
        Settling::Close
    }

    /// A job is about to be forgotten.
    fn left(&mut self, _job: JobId) {}

    /// Jobs that are over.
    fn ends(&self, _view: &View) -> Vec<Stop> {
        Vec::new()
    }

    /// Why a job has no shape now, if there is more to say than that others have the GPUs.
    fn why(&self, _job: &Job, _view: &View) -> Option<Reason> {
        None
    }

    /// What it remembers.
    fn save(&self) -> Value {
        Value::Null
    }

    /// Remember what was saved.
    ///
    /// # Errors
    ///
    /// If it was saved by something else.
    fn restore(&mut self, _saved: &Value) -> Result<(), String> {
        Ok(())
    }

    /// A copy.
    fn fork(&self) -> Box<dyn Allot>;
}

/// What is remembered of a job.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Book {
    learned: Learned,
    /// The shape it has, unless it was stopped since.
    last: Option<Shape>,
    starts: u32,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Books {
    jobs: BTreeMap<JobId, Book>,
    decided: Option<Time>,
    round_over: bool,
    /// What those who give shapes remember; only while it is saved.
    #[serde(default)]
    allot: Value,
    /// And what their predictor does.
    #[serde(default)]
    predict: Value,
}

/// Rounds in which every job is given a shape or waits.
pub struct ShapeRounds {
    allot: Box<dyn Allot>,
    round: Span,
    books: Books,
}

impl ShapeRounds {
    /// Rounds of a length, at whole multiples of it.
    pub fn new(allot: Box<dyn Allot>, round: Span) -> ShapeRounds {
        ShapeRounds { allot, round, books: Books::default() }
    }

    /// The next end of a round, or now, if one ends now that was not decided on.
    fn next_round(&self, now: Time) -> Time {
        let length = self.round.micros().max(1);
        let rounds = now.micros().div_ceil(length);
        let next = Time::from_micros(rounds * length);
        match self.books.decided == Some(next) {
            true => Time::from_micros((rounds + 1) * length),
            false => next,
        }
    }

    fn placed(&mut self, id: JobId, view: &View) {
        let fleet = view.fleet();
        let shape = view.job(id).assignment.as_ref().and_then(|on| Shape::of(on, &fleet));
        let book = self.books.jobs.entry(id).or_default();
        // Other GPUs in the same shape are no start: the policy did not ask for them.
        if !book.last.zip(shape).is_some_and(|(last, shape)| last.is_like(shape)) {
            book.starts += 1;
            book.last = shape;
        }
    }
}

impl Policy for ShapeRounds {
    fn plan(&self, view: &View) -> Plan {
        let nothing = Book::default();
        let (now, fleet) = (view.now(), view.fleet());
        let ends = self.allot.ends(view);
        let over = |job: &Job| ends.iter().any(|end| end.job == job.id);
        let jobs = view.jobs().iter().filter(|job| counts(job) && !over(job));
        // Jobs and books are both by number, so one walk over the books finds them all.
        let mut books = self.books.jobs.iter().peekable();
        let mut candidate = |job: &'_ Job| {
            while books.next_if(|(id, _)| **id < job.id).is_some() {}
            let book = books.next_if(|(id, _)| **id == job.id).map_or(&nothing, |(_, book)| book);
            let current = job.assignment.as_ref().and_then(|on| Shape::of(on, &fleet));
            let up = |on: &heeler_model::Assignment| {
                on.placement.slices().iter().all(|slice| fleet.is_up(slice.node))
            };
            let stays = job.assignment.as_ref().is_some_and(up);
            let pinned = stays && (job.phase != Phase::Running || job.progress.from > now);
            (book, current, pinned)
        };
        let mut candidates = Vec::new();
        let mut all = Vec::new();
        for job in jobs {
            all.push((job.id, None));
            if job.spec.demand.asked() > 0 {
                let (book, current, pinned) = candidate(job);
                let (learned, restarts) = (&book.learned, book.starts.saturating_sub(1));
                candidates.push(Candidate { job, learned, current, pinned, restarts });
            }
        }
        drop(fleet);
        let given = self.allot.allot(&candidates, view);
        let mut given = candidates.iter().map(|candidate| candidate.job.id).zip(given).peekable();
        for (id, shape) in &mut all {
            *shape = given.next_if(|(of, _)| of == id).and_then(|(_, shape)| shape);
        }
        let mut plan = settle(&all, self.next_round(now), self.allot.settling(), view);
        let more =
            |reason: Reason| matches!(reason, Reason::PutOff { .. } | Reason::NotEnoughFree { .. });
        for wait in plan.wait.iter_mut().filter(|wait| more(wait.reason)) {
            let said = self.allot.why(view.state().job(wait.job), view);
            wait.reason = said.unwrap_or(wait.reason);
        }
        plan.end = ends;
        plan
    }

    fn observe(&mut self, note: &Note, view: &View) {
        self.allot.observe(note, view);
        if let Some(predict) = self.allot.predictor_mut() {
            predict.observe(note, view);
        }
        match note {
            Note::Joined(id) => self.books.jobs.entry(*id).or_default().last = None,
            Note::Placed(id) => self.placed(*id, view),
            Note::Left(id) => {
                self.books.jobs.remove(id);
                self.allot.left(*id);
            }
            Note::Reported { job, report } => {
                let fleet = view.fleet();
                let on = view.job(*job).assignment.as_ref();
                if let Some(shape) = on.and_then(|on| Shape::of(on, &fleet)) {
                    let book = self.books.jobs.entry(*job).or_default();
                    book.learned.observe(shape.kind, report);
                }
            }
            Note::RoundOver { .. } => self.books.round_over = true,
            Note::Deciding => {
                self.books.jobs.values_mut().for_each(|book| book.learned.refit());
                if self.is_due(view) {
                    self.allot.begin(self.round, view);
                }
            }
            Note::Decided => {
                self.books.round_over = false;
                self.books.decided = Some(view.now());
            }
            Note::Began(_)
            | Note::Paused(_)
            | Note::Progressed(_)
            | Note::Ran { .. }
            | Note::Load { .. }
            | Note::Scattered(_)
            | Note::Changed => {}
        }
    }

    fn is_due(&self, view: &View) -> bool {
        match view.rules().rounds {
            RoundClock::World => self.books.round_over,
            RoundClock::Recipe | RoundClock::Multiples => {
                !view.jobs().is_empty() && self.next_round(view.now()) == view.now()
            }
        }
    }

    fn wake(&self, view: &View) -> Option<Time> {
        let recipe = view.rules().rounds != RoundClock::World;
        (recipe && !view.jobs().is_empty()).then(|| self.next_round(view.now()))
    }

    fn calibrations(&self) -> Vec<Calibration> {
        self.allot.calibration().into_iter().collect()
    }

    fn save(&self) -> Value {
        let predict = self.allot.predictor().map_or(Value::Null, Predict::save);
        let books = Books { allot: self.allot.save(), predict, ..self.books.clone() };
        serde_json::to_value(&books).expect("plain data")
    }

    fn restore(&mut self, saved: &Value, _view: &View) -> Result<(), String> {
        self.books = serde_json::from_value(saved.clone()).map_err(|error| error.to_string())?;
        self.books.jobs.values_mut().for_each(|book| book.learned.fit_again());
        self.allot.restore(&std::mem::take(&mut self.books.allot))?;
        let known = std::mem::take(&mut self.books.predict);
        match self.allot.predictor_mut().filter(|_| !known.is_null()) {
            Some(predict) => predict.restore(&known),
            None => Ok(()),
        }
    }

    fn fork(&self) -> Box<dyn Policy> {
        Box::new(ShapeRounds {
            allot: self.allot.fork(),
            round: self.round,
            books: self.books.clone(),
        })
    }
}
