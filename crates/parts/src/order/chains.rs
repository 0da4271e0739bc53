//! Longest chain first: jobs on which much hangs come first, counted in GPU time of the heaviest
//! chain of jobs that begins with them (in the spirit of Graphene, OSDI 2016: what is long and hard
//! to pack first, and what it holds up). Alone, the job with most GPU time is first.

use heeler_engine::{Calibration, Job, Key, Line, Note, Order, Predict, View};
use heeler_model::JobId;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Longest chain first.
pub struct Chains {
    /// Who says how much work jobs are.
    pub predict: Box<dyn Predict>,
    books: Books,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Books {
    /// Who follows a job that is not done.
    followers: BTreeMap<JobId, Vec<JobId>>,
    /// GPU time of the heaviest chain behind a job, without its own.
    behind: BTreeMap<JobId, i64>,
    /// Jobs up to this number were looked at.
    seen: u32,
    predict: Value,
}

impl Chains {
    /// Longest chain first, by what a predictor says.
    pub fn new(predict: Box<dyn Predict>) -> Chains {
        Chains { predict, books: Books::default() }
    }

    /// GPU time of a job in microseconds at the size and pace it asked for.
    fn own(&self, job: &Job, view: &View) -> i64 {
        let work = self.predict.work(job, view).unwrap_or(0.0);
        let micros = work / job.spec.nominal_pace.max(f64::MIN_POSITIVE);
        (micros * f64::from(job.spec.demand.asked().max(1))).clamp(0.0, 1e17) as i64
    }

    /// Look at jobs that came since, and count anew what is behind those they follow.
    fn look(&mut self, view: &View) -> Vec<JobId> {
        let mut moved = BTreeSet::new();
        let used = view.jobs().used();
        for job in (self.books.seen..used).filter_map(|number| view.jobs().get(JobId(number))) {
            for before in job.spec.after() {
                self.books.followers.entry(*before).or_default().push(job.id);
                moved.insert(*before);
            }
        }
        self.books.seen = self.books.seen.max(used);
        let mut front: Vec<JobId> = moved.iter().copied().collect();
        while let Some(id) = front.pop() {
            let Some(job) = view.jobs().get(id) else { continue };
            let behind = self.heaviest(id, view);
            if self.books.behind.insert(id, behind) != Some(behind) {
                moved.insert(id);
                front.extend(job.spec.after());
            }
        }
        moved.into_iter().filter(|id| view.jobs().get(*id).is_some()).collect()
    }

    fn heaviest(&self, id: JobId, view: &View) -> i64 {
        let followers = self.books.followers.get(&id).map_or(&[][..], Vec::as_slice);
        let chain = |follower: &JobId| {
            let job = view.jobs().get(*follower)?;
            let behind = self.books.behind.get(follower).copied().unwrap_or(0);
            Some(self.own(job, view).saturating_add(behind))
        };
        followers.iter().filter_map(chain).max().unwrap_or(0)
    }
}

impl Order for Chains {
    fn line(&self, job: &Job, view: &View) -> Line {
        let behind = self.books.behind.get(&job.id).copied().unwrap_or(0);
        Line { key: Key::of(-(self.own(job, view).saturating_add(behind))), slope: 0 }
    }

    fn observe(&mut self, note: &Note, view: &View) -> Vec<JobId> {
        self.predict.observe(note, view);
        match note {
            Note::Deciding => self.look(view),
            Note::Left(id) => {
                self.books.followers.remove(id);
                self.books.behind.remove(id);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn calibration(&self) -> Option<Calibration> {
        self.predict.calibration()
    }

    fn save(&self) -> Value {
        let books = Books { predict: self.predict.save(), ..self.books.clone() };
        serde_json::to_value(books).expect("plain data")
    }

    fn restore(&mut self, saved: &Value) -> Result<(), String> {
        self.books = serde_json::from_value(saved.clone()).map_err(|error| error.to_string())?;
        self.predict.restore(&std::mem::take(&mut self.books.predict))
    }

    fn fork(&self) -> Box<dyn Order> {
        Box::new(Chains { predict: self.predict.fork(), books: self.books.clone() })
    }
}
