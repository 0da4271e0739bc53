//! Multi-level feedback queues over attained service, as in Tiresias (Gu et al., NSDI 2019, §4):
//! a job enters the first queue and moves down one when its service reaches the queue's limit.
//! Inside a queue running jobs come first, so that nobody is stopped for an equal; then those who
//! wait, in the order they came, except that a job that was stopped waits in front. A job that has
//! waited much longer than it ran goes back to the first queue.

use heeler_engine::{Job, Key, Line, Note, Order, Phase, Service, View};
use heeler_model::{JobId, Span, Time};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// What counts as service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Served {
    /// Time on GPUs, whatever their number.
    Time,
    /// Time × GPUs: the second dimension of 2D-LAS.
    #[default]
    GpuTime,
}

impl Served {
    /// Whether GPUs count.
    pub fn by_gpu(self) -> bool {
        self == Served::GpuTime
    }
}

/// Where a job stands inside its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Row {
    Running,
    Waiting,
    /// It came into this queue in the decision that is being taken, behind everybody.
    Entered,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Standing {
    queue: usize,
    row: Row,
    seat: i64,
    /// Service by the last time it went back to the first queue.
    base: Service,
    /// Time it has waited since then, not counting before it first ran.
    waited: Span,
    waits_since: Time,
}

/// Multi-level feedback queues.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Mlfq {
    /// Service at which a job leaves each queue but the last.
    limits: Vec<Span>,
    served: Served,
    /// A job that has waited so many thousandths of the time it ran goes back to the first queue.
    promote_milli: Option<u64>,
    /// Whether jobs stand in a queue as they came into it, whether they run or not.
    #[serde(default)]
    as_entered: bool,
    /// Whether they stand in it as they were submitted, then.
    #[serde(default)]
    as_submitted: bool,
    standings: BTreeMap<JobId, Standing>,
    /// Jobs in the row `Entered`.
    entered: Vec<JobId>,
    /// Counts entries, for seats among those who wait.
    entries: i64,
    /// Counts starts, for seats among those who run.
    starts: i64,
    /// Counts decisions, for seats in front of those who wait.
    decisions: i64,
}

impl Mlfq {
    /// Queues with these limits.
    pub fn new(limits: Vec<Span>, served: Served, promote_milli: Option<u64>) -> Mlfq {
        Mlfq {
            limits,
            served,
            promote_milli,
            as_entered: false,
            as_submitted: false,
            standings: BTreeMap::new(),
            entered: Vec::new(),
            entries: 0,
            starts: 0,
            decisions: 0,
        }
    }

    /// The same queues, in which jobs stand as they came into them, whether they run or not.
    #[must_use]
    pub fn as_entered(self, as_entered: bool) -> Mlfq {
        Mlfq { as_entered, ..self }
    }

    /// The same queues, in which jobs stand as they were submitted, whether they run or not.
    #[must_use]
    pub fn as_submitted(self) -> Mlfq {
        Mlfq { as_entered: true, as_submitted: true, ..self }
    }

    fn enter(&mut self, id: JobId, queue: usize) {
        self.entries += 1;
        let seat = self.entries;
        let standing = self.standings.get_mut(&id).expect("a job that enters is known");
        (standing.queue, standing.row, standing.seat) = (queue, Row::Entered, seat);
        self.entered.push(id);
    }

    fn joined(&mut self, id: JobId, view: &View) {
        if self.standings.contains_key(&id) {
            return;
        }
        let standing = Standing {
            queue: 0,
            row: Row::Entered,
            seat: 0,
            base: view.service(view.job(id)),
            waited: Span::ZERO,
            waits_since: view.now(),
        };
        self.standings.insert(id, standing);
        self.enter(id, 0);
    }

    fn placed(&mut self, id: JobId, view: &View) {
        let ran = self.has_run(id, view);
        let Some(standing) = self.standings.get_mut(&id) else { return };
        if ran {
            standing.waited += view.now().since(standing.waits_since);
        }
        self.sit_with_the_running(id);
    }

    fn sit_with_the_running(&mut self, id: JobId) {
        if self.as_entered {
            return;
        }
        self.starts += 1;
        if let Some(standing) = self.standings.get_mut(&id) {
            (standing.row, standing.seat) = (Row::Running, self.starts);
        }
    }

    fn paused(&mut self, id: JobId, view: &View) {
        let Some(standing) = self.standings.get_mut(&id) else { return };
        standing.waits_since = view.now();
        if self.as_entered {
            return;
        }
        match standing.row {
            // In front of all who wait; those stopped together keep their order.
            Row::Running => standing.seat -= (self.decisions + 1) << 32,
            Row::Waiting => return,
            // It has just come down into this queue: behind all who wait.
            Row::Entered => {}
        }
        standing.row = Row::Waiting;
    }

    /// Whether a job has run since it was last in the first queue.
    fn has_run(&self, id: JobId, view: &View) -> bool {
        let Some(standing) = self.standings.get(&id) else { return false };
        view.service(view.job(id)).since(standing.base).run > Span::ZERO
    }

    /// How long a job has to wait to go back to the first queue, if it ever does.
    fn patience(&self, job: &Job, standing: &Standing, view: &View) -> Option<Span> {
        let promote = self.promote_milli?;
        let ran = view.service(job).since(standing.base).run;
        let waits = matches!(job.phase, Phase::Waiting | Phase::Stopping);
        let patience =
            Span::from_micros((ran.micros() as u128 * u128::from(promote) / 1000) as u64);
        (waits && standing.queue > 0 && ran > Span::ZERO).then(|| view.whole_ticks(patience))
    }

    /// Everybody who came in finds a seat.
    fn settle(&mut self) -> Vec<JobId> {
        self.decisions += 1;
        let entered = std::mem::take(&mut self.entered);
        for id in &entered {
            let Some(standing) = self.standings.get_mut(id) else { continue };
            if standing.row == Row::Entered {
                standing.row = Row::Waiting;
            }
        }
        entered
    }
}

impl Order for Mlfq {
    fn line(&self, job: &Job, _view: &View) -> Line {
        let Some(standing) = self.standings.get(&job.id) else { return Line::default() };
        let row = if self.as_entered { Row::Waiting } else { standing.row };
        let major = standing.queue as i64 * 3 + row as i64;
        let minor = if self.as_submitted { 0 } else { standing.seat };
        Line { key: Key { major, minor }, slope: 0 }
    }

    fn bends(&self, job: &Job, view: &View) -> Option<Time> {
        let standing = self.standings.get(&job.id)?;
        if job.is_running() {
            let limit = *self.limits.get(standing.queue)?;
            let served = view.service(job).since(standing.base);
            return Some(view.when_served(job, served, limit, self.served.by_gpu()));
        }
        let patience = self.patience(job, standing, view)?;
        let waited = standing.waited + view.now().since(standing.waits_since);
        let missing = patience.saturating_sub(waited);
        (!missing.is_zero()).then(|| view.now() + missing)
    }

    fn bend(&mut self, job: &Job, view: &View) {
        let Some(standing) = self.standings.get(&job.id).copied() else { return };
        let service = view.service(job);
        if job.is_running() {
            let counted = service.since(standing.base).counted(self.served.by_gpu());
            let limit = self.limits.get(standing.queue);
            if limit.is_some_and(|limit| counted >= limit.micros() * 1000) {
                let running = standing.row == Row::Running || self.as_entered;
                self.enter(job.id, standing.queue + 1);
                debug_assert!(running, "only a running job comes down");
            }
            return;
        }
        let waited = standing.waited + view.now().since(standing.waits_since);
        if self.patience(job, &standing, view).is_some_and(|patience| waited >= patience) {
            let standing = self.standings.get_mut(&job.id).expect("it was there a moment ago");
            standing.base = service;
            standing.waited = Span::ZERO;
            standing.waits_since = view.now();
            self.enter(job.id, 0);
        }
    }

    fn observe(&mut self, note: &Note, view: &View) -> Vec<JobId> {
        match *note {
            Note::Joined(id) => self.joined(id, view),
            Note::Placed(id) => self.placed(id, view),
            Note::Paused(id) => self.paused(id, view),
            Note::Left(id) => {
                self.standings.remove(&id);
            }
            Note::Decided => {
                // Those who came down and run on sit behind all who run.
                for id in self.entered.clone() {
                    let came_down = self.standings.get(&id).is_some_and(|s| s.row == Row::Entered);
                    if came_down && view.jobs().get(id).is_some_and(Job::is_placed) {
                        self.sit_with_the_running(id);
                    }
                }
                return self.settle();
            }
            _ => {}
        }
        Vec::new()
    }

    fn save(&self) -> Value {
        serde_json::to_value(self).expect("plain data")
    }

    fn restore(&mut self, saved: &Value) -> Result<(), String> {
        *self = serde_json::from_value(saved.clone()).map_err(|error| error.to_string())?;
        Ok(())
    }

    fn fork(&self) -> Box<dyn Order> {
        Box::new(self.clone())
    }
}
