//! What is remembered of each job: small, because there may be millions.

use heeler_model::{JobId, ModelId, Span, TenantId, Time};

/// How a job ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// It has not.
    #[default]
    Unfinished,
    /// It did its work.
    Finished,
    /// It could never run as asked.
    Unrunnable,
    /// A job it must follow never finished.
    Stranded,
    /// The recipe declared it over: a trial that was not worth finishing.
    StoppedEarly,
    /// The recipe would not take it: it was declared over before it ran, and is no trial.
    TurnedAway,
    /// The world gave it up after too many failed rounds.
    Dropped,
    /// It was a replica of a service that has ended.
    Served,
}

/// One job: as it was submitted, what it has done, and what became of it.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// When it was submitted.
    pub submitted: Time,
    /// When it first got GPUs.
    pub started: Option<Time>,
    /// When it ended.
    pub ended: Option<Time>,
    /// True work, in its own units.
    pub work: f64,
    /// Work done by `from`.
    pub done: f64,
    /// Work it would keep if a node broke.
    pub safe: f64,
    /// When `pace` begins to count.
    pub from: Time,
    /// Units per microsecond.
    pub pace: f64,
    /// Since when it has what it has.
    pub held_since: Time,
    /// GPU time held by `counted`, thousandths of a GPU × microseconds. A GPU that several jobs are
    /// on is held once.
    pub held_milli: f64,
    /// Of that, time at which it made progress that it kept.
    pub useful_milli: f64,
    /// Since when it holds as much as it does.
    pub counted: Time,
    /// Equal-share time of the cluster when it was submitted, and over its life in the end.
    pub equal_share: f64,
    /// Job-seconds of the cluster when it was submitted, and over its life in the end.
    pub contention: f64,
    /// When it should have ended.
    pub deadline: Option<Time>,
    /// When it was promised to end.
    pub promised: Option<Time>,
    /// Part of what ending in time was worth that it did not get.
    pub value_lost: f32,
    /// Time without any GPU.
    pub waited: Span,
    /// Run time if it were alone, at the size it asked for.
    pub alone: Span,
    /// How fast it is with an equal part of every kind of GPU, as a part of how fast it would be
    /// alone, where kinds differ.
    pub evenly: Option<f32>,
    /// Thousandths of GPUs it holds now: all that it asked for of those it is on, or its part of
    /// those where others are, too.
    pub milli: f64,
    /// GPUs it asked for.
    pub gpus: u32,
    /// Changes whenever a scheduled finish becomes void.
    pub stamp: u32,
    /// The engine's number of its assignment.
    pub generation: u32,
    /// How often it was stopped for another job.
    pub preemptions: u32,
    /// How often it was moved or resized.
    pub moves: u32,
    /// How often a node broke under it.
    pub losses: u16,
    /// Its tenant.
    pub tenant: TenantId,
    /// Its model.
    pub model: ModelId,
    /// Whether it is a replica of a service, which is not counted among the jobs.
    pub serves: bool,
    /// What became of it.
    pub outcome: Outcome,
}

impl Record {
    /// Time from submission to end.
    pub fn completion(&self) -> Option<Span> {
        Some(self.ended?.since(self.submitted))
    }

    /// Work done by a time.
    pub fn done_at(&self, at: Time) -> f64 {
        (self.done + self.pace * at.since(self.from).micros() as f64).min(self.work)
    }

    /// GPU time held by a time, thousandths of a GPU × microseconds.
    pub fn held_milli_at(&self, at: Time) -> f64 {
        self.held_milli + self.milli * at.since(self.counted).micros() as f64
    }

    /// Of that, time at which it made progress that it has not lost.
    pub fn useful_milli_at(&self, at: Time) -> f64 {
        let works = self.milli > 0.0 && self.pace > 0.0;
        self.useful_milli + if works { self.useful_since_start(at) } else { 0.0 }
    }

    /// Useful GPU time by a time since the job began or held another part of its GPUs.
    pub(crate) fn useful_since_start(&self, at: Time) -> f64 {
        at.since(self.from.max(self.counted)).micros() as f64 * self.milli
    }

    /// From now on it holds so many thousandths of GPUs.
    pub(crate) fn holds(&mut self, milli: f64, now: Time) {
        (self.useful_milli, self.held_milli) = (self.useful_milli_at(now), self.held_milli_at(now));
        (self.milli, self.counted) = (milli, now);
    }

    /// Time without any GPU by a time.
    pub fn waited_by(&self, at: Time) -> Span {
        let waits = self.milli == 0.0 && self.ended.is_none();
        self.waited + if waits { at.since(self.held_since) } else { Span::ZERO }
    }

    /// When it will have done its work, if nothing changes: to the nearest microsecond.
    pub fn finish(&self) -> Time {
        self.from + Span::from_micros(((self.work - self.done) / self.pace).round() as u64)
    }
}

/// Where no record is.
const NOWHERE: u32 = u32::MAX;

/// Records by job number.
#[derive(Clone, Debug, Default)]
pub struct Records {
    records: Vec<Record>,
    /// Where the record of each job is; empty where all jobs have one, in the order of their
    /// numbers. A simulation that goes on from elsewhere knows only of jobs that were not done.
    places: Vec<u32>,
}

impl Records {
    /// Records for jobs from a number on.
    pub(crate) fn from_number(next: u32) -> Records {
        Records { records: Vec::new(), places: vec![NOWHERE; next as usize] }
    }

    /// Add the record of the next job.
    pub fn push(&mut self, record: Record) -> JobId {
        let place = self.records.len() as u32;
        self.records.push(record);
        if self.places.is_empty() {
            return JobId(place);
        }
        self.places.push(place);
        JobId(self.places.len() as u32 - 1)
    }

    /// Add the record of a job whose number was used before.
    pub(crate) fn insert(&mut self, job: JobId, record: Record) {
        self.places[job.index()] = self.records.len() as u32;
        self.records.push(record);
    }

    /// All of them, in the order they were added.
    pub fn all(&self) -> &[Record] {
        &self.records
    }

    /// All of them with their numbers, in the order of those.
    pub fn iter(&self) -> impl Iterator<Item = (JobId, &Record)> {
        let jobs = (0..self.used()).map(JobId);
        jobs.filter_map(|job| Some((job, self.get(job)?)))
    }

    /// How many job numbers were used.
    pub fn used(&self) -> u32 {
        self.places.len().max(self.records.len()) as u32
    }

    /// The record of a job, if there is one.
    pub fn get(&self, job: JobId) -> Option<&Record> {
        self.records.get(self.place(job)?)
    }

    fn place(&self, job: JobId) -> Option<usize> {
        match self.places.is_empty() {
            true => Some(job.index()),
            false => self.places.get(job.index()).map(|place| *place as usize),
        }
    }
}

impl std::ops::Index<JobId> for Records {
    type Output = Record;
    fn index(&self, job: JobId) -> &Record {
        &self.records[self.place(job).expect("the job's number was used")]
    }
}

impl std::ops::IndexMut<JobId> for Records {
    fn index_mut(&mut self, job: JobId) -> &mut Record {
        let place = self.place(job).expect("the job's number was used");
        &mut self.records[place]
    }
}
