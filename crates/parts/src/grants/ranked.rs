//! Offers by score: the party with the smallest score is next, with the first of its jobs; what it
//! is given changes its score. This is progressive filling, whatever the score.

use super::{Among, Floor, Offer, Party, Turns};
use heeler_engine::{Job, View};
use heeler_model::JobId;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What a party has been given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Given {
    /// Thousandths of GPUs.
    pub(super) milli: i64,
    /// Thousandths of CPU cores.
    pub(super) cpu_milli: i64,
    /// Host memory, MB.
    pub(super) memory_mb: i64,
    /// How many jobs of it were given something …
    pub(super) jobs: i64,
    /// … and how many of them in this plan.
    pub(super) fresh: i64,
}

impl Given {
    /// What a job asks for.
    pub(super) fn to(job: &Job) -> Given {
        let demand = &job.spec.demand;
        let times = i64::from(job.gpus().max(1));
        Given {
            milli: job.milli() as i64,
            cpu_milli: times * i64::from(demand.cpu_milli),
            memory_mb: times * i64::from(demand.memory_mb),
            jobs: 1,
            fresh: 0,
        }
    }

    pub(super) fn add(&mut self, more: Given) {
        self.milli += more.milli;
        self.cpu_milli += more.cpu_milli;
        self.memory_mb += more.memory_mb;
        self.jobs += more.jobs;
        self.fresh += more.fresh;
    }
}

/// The score of a party that has been given something and would next have a job run: the smallest
/// is next. Ties go to who came first.
pub(super) type Score<'a> = Box<dyn FnMut(Party, Given, &Job) -> i64 + 'a>;

struct Queue<'a> {
    party: Party,
    jobs: VecDeque<&'a Job>,
    given: Given,
}

/// Offers by score.
pub(super) struct Ranked<'a> {
    queues: Vec<Queue<'a>>,
    order: BTreeSet<(i64, JobId, usize)>,
    score: Score<'a>,
}

impl<'a> Ranked<'a> {
    /// Parties by score, and jobs of one by a key.
    pub(super) fn new(
        floor: &Floor<'a>,
        among: Among,
        key: impl Fn(&Job) -> i64,
        score: Score<'a>,
    ) -> Ranked<'a> {
        let mut asking = floor.asking.clone();
        asking.sort_by_cached_key(|job| (key(job), job.submitted, job.id));
        let mut queues: BTreeMap<Party, Queue> = BTreeMap::new();
        for job in asking {
            let party = among.party(job);
            let new = || Queue { party, jobs: VecDeque::new(), given: Given::default() };
            queues.entry(party).or_insert_with(new).jobs.push_back(job);
        }
        for job in &floor.keeping {
            if let Some(queue) = queues.get_mut(&among.party(job)) {
                queue.given.add(Given::to(job));
            }
        }
        let queues = queues.into_values().collect();
        let mut ranked = Ranked { queues, order: BTreeSet::new(), score };
        (0..ranked.queues.len()).for_each(|index| ranked.enter(index));
        ranked
    }

    fn enter(&mut self, index: usize) {
        let queue = &self.queues[index];
        if let Some(next) = queue.jobs.front() {
            let score = (self.score)(queue.party, queue.given, next);
            self.order.insert((score, next.id, index));
        }
    }

    fn advance(&mut self, took: bool) {
        let (.., index) = self.order.pop_first().expect("an offer was made");
        let queue = &mut self.queues[index];
        let job = queue.jobs.pop_front().expect("the offer was its first job");
        if took {
            queue.given.add(Given { fresh: 1, ..Given::to(job) });
        }
        self.enter(index);
    }
}

impl Turns for Ranked<'_> {
    fn next(&mut self) -> Option<Offer> {
        let (_, job, index) = self.order.first()?;
        let next = self.queues[*index].jobs.front().expect("a queue in order has a job");
        Some(Offer { job: *job, kinds: next.spec.demand.kinds })
    }

    fn took(&mut self) {
        self.advance(true);
    }

    fn passed(&mut self) {
        self.advance(false);
    }
}

/// A value per unit of weight, in millionths, as far as numbers go.
pub(super) fn per(value: i128, weight: i128) -> i64 {
    let scaled = value.saturating_mul(1_000_000) / weight.max(1);
    scaled.clamp(i128::from(i64::MIN / 4), i128::from(i64::MAX / 4)) as i64
}

/// Jobs in order of submission.
pub(super) fn as_submitted(_job: &Job) -> i64 {
    0
}

/// Whoever has waited longest first; of those who run, who has run longest last.
pub(super) fn longest_waiting(view: &View) -> impl Fn(&Job) -> i64 + use<> {
    let now = view.now();
    move |job| {
        let since = job.since.micros() as i64;
        if job.is_placed() { 2 * now.micros() as i64 - since } else { since }
    }
}
