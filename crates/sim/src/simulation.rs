//! The simulator: a thin loop that feeds the engine with what happens in a modelled world, in
//! virtual time. Idle time costs nothing; a job costs a handful of events.

use crate::entitled::TenantShare;
use crate::letting::Letting;
use crate::loans::{Ledger, Loan};
use crate::losses::Losing;
use crate::names::JobNames;
use crate::neighbours::Neighbours;
use crate::phases::Phasing;
use crate::queue::{Happening, Queue};
use crate::record::{Outcome, Records};
use crate::report::Occupancy;
use crate::rounds::Rounds;
use crate::services::Serving;
use crate::study::Studies;
use crate::timeline::{Level, Timeline};
use crate::training::Trainee;
use crate::watch::Watch;
use crate::workload::{Arrivals, TraceJob};
use crate::world::World;
use heeler_engine::{Engine, Step};
use heeler_model::{Action, Assignment, Cluster, Event, JobId, NodeId, Reason, Span, Tier, Time};
use heeler_recipes::Card;
use std::collections::BTreeMap;
use std::sync::Arc;

/// So many decisions in a row may leave a cluster empty that has jobs waiting before it is taken
/// that they never start.
const IDLE_MOMENTS_MAX: u32 = 1000;

/// A simulation that can be run, stopped, asked and forked.
pub struct Simulation {
    pub(crate) engine: Engine,
    pub(crate) world: World,
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) arrivals: Box<dyn Arrivals>,
    pub(crate) next: Option<TraceJob>,
    pub(crate) records: Records,
    pub(crate) names: JobNames,
    pub(crate) watch: Watch,
    pub(crate) ledger: Ledger,
    pub(crate) now: Time,
    pub(crate) rounds: Rounds,
    pub(crate) queue: Queue,
    pub(crate) studies: Studies,
    pub(crate) step: Step,
    pub(crate) wake: Option<Time>,
    pub(crate) seed: u64,
    /// Decisions in a row after which nothing ran and nothing was to come.
    pub(crate) idle_moments: u32,
    /// Moments that counted as events though the recipe only looked.
    pub(crate) looks: usize,
    /// Start costs of unfinished jobs that have their own.
    pub(crate) start_costs: BTreeMap<JobId, Span>,
    /// Who shares GPUs with whom.
    pub(crate) neighbours: Neighbours,
    /// What jobs had last, in worlds where it matters.
    pub(crate) last_on: BTreeMap<JobId, Assignment>,
    /// Running jobs, in worlds where every event concerns them.
    pub(crate) running: Vec<JobId>,
    /// Services beside the jobs.
    pub(crate) services: Vec<Serving>,
    /// Events that answer an action at the same moment.
    pub(crate) answers: Vec<Event>,
    /// What happens at this moment, but after the decision.
    pub(crate) deferred: Vec<Happening>,
    /// Unfinished jobs of which profiles were measured.
    pub(crate) trainees: BTreeMap<JobId, Trainee>,
    /// Unfinished jobs that report losses.
    pub(crate) losing: Losing,
    /// Unfinished jobs that change their batch on the way.
    pub(crate) phasing: Phasing,
    /// How many jobs will be let start at some time.
    pub(crate) to_release: u32,
    /// Who is let start when.
    pub(crate) letting: Letting,
}

impl Simulation {
    /// A simulation at time zero.
    pub fn new(
        engine: Engine,
        world: World,
        cluster: Arc<Cluster>,
        mut arrivals: Box<dyn Arrivals>,
        seed: u64,
    ) -> Simulation {
        let mut queue = Queue::default();
        if let Some(failures) = &world.failures {
            for index in 0..cluster.nodes.len() as u32 {
                let node = NodeId(index);
                let holds = failures.holds(seed, node, Time::ZERO);
                queue.push(Time::ZERO + holds, Happening::Break(node));
            }
        }
        let next = arrivals.next_job();
        // Nothing is looked at before there is anybody: a trace may begin at any date.
        let first = next.as_ref().map_or(Time::ZERO, |job| job.submit);
        Simulation {
            watch: Watch::new(&cluster).beginning_at(first),
            ledger: Ledger::new(&cluster),
            neighbours: Neighbours::new(&cluster),
            rounds: Rounds::new(world.quirks.shuffled_kinds_seed),
            engine,
            world,
            cluster,
            arrivals,
            next,
            records: Records::default(),
            names: JobNames::default(),
            now: Time::ZERO,
            queue,
            studies: Studies::default(),
            step: Step::default(),
            wake: None,
            seed,
            idle_moments: 0,
            looks: 0,
            start_costs: BTreeMap::new(),
            last_on: BTreeMap::new(),
            running: Vec::new(),
            services: Vec::new(),
            answers: Vec::new(),
            deferred: Vec::new(),
            trainees: BTreeMap::new(),
            losing: Losing::new(),
            phasing: Phasing::new(),
            to_release: 0,
            letting: Letting::default(),
        }
    }

    /// A simulation of a recipe at time zero.
    pub fn of_recipe(
        card: &Card,
        world: World,
        cluster: Arc<Cluster>,
        arrivals: Box<dyn Arrivals>,
        seed: u64,
    ) -> Simulation {
        let cluster = match &world.sharing.table {
            None => cluster,
            Some(table) => {
                let pairs = table.known(world.sharing.mechanism);
                Arc::new(Cluster { pairs, ..(*cluster).clone() })
            }
        };
        let engine = Engine::new(cluster.clone(), card.build(), world.rules, seed);
        Simulation::new(engine, world, cluster, arrivals, seed)
    }

    /// Keep a record of who runs where from now on, for reports. Its size is bounded, however many
    /// jobs there are.
    pub fn keep_segments(&mut self) {
        self.watch.keep_segments(&self.cluster, &self.records);
    }

    /// Run until nothing happens any more.
    pub fn run(&mut self) {
        while self.advance(Time::MAX) {}
        self.close();
    }

    /// Run to the end, and let somebody look every so many moments.
    pub fn run_watched(&mut self, every: u32, look: impl FnMut(&Simulation)) {
        self.advance_watched(Time::MAX, every, look);
        self.close();
    }

    /// Run until a time, and stand there. What happens at that time has happened.
    pub fn run_until(&mut self, until: Time) {
        self.run_until_watched(until, u32::MAX, |_| {});
    }

    /// Run until a time, stand there, and let somebody look every so many moments.
    pub fn run_until_watched(&mut self, until: Time, every: u32, look: impl FnMut(&Simulation)) {
        self.advance_watched(until, every, look);
        if until < Time::MAX && until > self.now {
            self.watch.until(until);
            self.ledger.until(until);
            self.now = until;
        }
    }

    fn advance_watched(&mut self, until: Time, every: u32, mut look: impl FnMut(&Simulation)) {
        let mut moments = 0;
        while self.advance(until) {
            moments += 1;
            if moments == every {
                moments = 0;
                look(self);
            }
        }
    }

    /// Deal with the next moment at which something happens, if it comes by `until`.
    pub fn advance(&mut self, until: Time) -> bool {
        if let Some(length_s) = self.world.quirks.whole_units_per_round_s {
            return self.advance_round(length_s, until);
        }
        let arrival = self.next.as_ref().map(|job| self.world.round_over(job.submit));
        let records = &self.records;
        self.queue.skip(|what| is_void(records, what));
        let happening = if self.is_over() { None } else { self.queue.next_at() };
        let Some(at) = [arrival, happening, self.wake].into_iter().flatten().min() else {
            return false;
        };
        if at > until {
            return false;
        }
        if self.world.quirks.heard_at_once {
            self.hear_of_those_who_came(at);
        }
        self.now = at;
        self.watch.until(at);
        self.ledger.until(at);
        self.restart_all(at, [arrival, happening].contains(&Some(at)));
        let together = self.world.together(at);
        while let Some(happening) = self.queue.pop_until(together) {
            if !is_void(&self.records, happening) {
                self.happen(happening);
            }
        }
        while let Some(job) = self.next_until(at) {
            self.submit(job);
        }
        if self.wake == Some(at) {
            self.engine.observe(at, Event::Tick);
        }
        self.decide();
        let every = self.world.quirks.restart_unleased_every_s.map(Span::from_secs_f64);
        if every.is_some_and(|every| at.micros().is_multiple_of(every.micros().max(1))) {
            self.restart_unleased();
        }
        true
    }

    /// Whether nothing can happen to a job any more. Failures and rounds go on for ever, but once
    /// no job is to come and none runs, only a repair or a few more rounds can start one.
    pub(crate) fn is_over(&self) -> bool {
        let state = self.engine.state();
        let stands_still = state.running() == 0 && !state.is_clearing();
        self.next.is_none()
            && stands_still
            && self.to_release == 0
            && !self.is_serving()
            && (state.waiting() == 0 || self.idle_moments > IDLE_MOMENTS_MAX)
    }

    fn count_idle(&mut self) {
        let idle = self.next.is_none() && self.engine.state().running() == 0 && !self.is_serving();
        self.idle_moments = if idle { self.idle_moments + 1 } else { 0 };
    }

    /// Decide, act, and decide again as long as actions are answered at once.
    pub(crate) fn decide(&mut self) {
        let mut decided = false;
        loop {
            self.tell_of_paces();
            let mut step = std::mem::take(&mut self.step);
            if let Err(fault) = self.engine.decide_into(self.now, &mut step) {
                panic!("seed {}, at {}: a plan cannot be: {fault}", self.seed, self.now);
            }
            let over = step.actions.iter().any(|action| matches!(action, Action::End { .. }));
            step.actions.drain(..).for_each(|action| self.act(action));
            self.answer_with_paces();
            decided |= step.report.is_some();
            let wake = step.wake.filter(|_| !self.is_over());
            self.wake = wake.map(|at| self.world.round_over(at));
            self.step = step;
            // Whoever followed a job that is over has its turn at the same moment.
            let again = over && self.wake == Some(self.now);
            if self.answers.is_empty() && !again {
                break;
            }
            for answer in std::mem::take(&mut self.answers) {
                match answer {
                    Event::Stopped { job, exit, .. } => self.release(job, exit),
                    other => self.engine.observe(self.now, other),
                }
            }
        }
        if decided {
            self.look_for_crowds();
        }
        for happening in std::mem::take(&mut self.deferred) {
            self.queue.push(self.now, happening);
        }
        let state = self.engine.state();
        self.watch.counts(state.waiting(), state.running());
        if let Some(power) = self.engine.power() {
            self.watch.node_time.get_or_insert_default().note(&self.engine, power);
        }
        self.ledger.note(state.tenants());
        self.count_idle();
    }

    /// Nothing happens any more: say what became of those who never ended.
    fn close(&mut self) {
        let left: Vec<JobId> = self.engine.state().jobs().iter().map(|job| job.id).collect();
        left.into_iter().for_each(|job| self.note_deadlines(job));
        for job in self.engine.state().jobs().iter() {
            let never = job.noted.is_some_and(|noted| noted.reason.tier() == Tier::Never);
            self.records[job.id].outcome = match job.noted.map(|noted| noted.reason) {
                Some(Reason::NeededJobFailed { .. }) => Outcome::Stranded,
                _ if never => Outcome::Unrunnable,
                _ if job.after > 0 => Outcome::Stranded,
                _ => Outcome::Unfinished,
            };
        }
    }

    /// Tell the engine something that people do, and let it decide.
    pub fn tell(&mut self, event: Event) {
        self.engine.observe(self.now, event);
        self.decide();
    }

    /// The engine, to ask it why.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// How many jobs will never be heard of again.
    pub fn ended(&self) -> usize {
        self.records.all().len() - self.engine.state().jobs().len()
    }

    /// Now.
    pub fn now(&self) -> Time {
        self.now
    }

    /// What is remembered of the jobs.
    pub fn records(&self) -> &Records {
        &self.records
    }

    /// The cluster.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// What the cluster looked like over time.
    pub fn timeline(&self) -> &Timeline {
        self.watch.timeline()
    }

    /// What tenants had beside what they were entitled to.
    pub fn shares(&self) -> Vec<TenantShare> {
        self.watch.entitled.shares(&self.cluster)
    }

    /// What the GPUs that jobs held have cost, if any kind has a price.
    pub fn cost(&self) -> Option<f64> {
        let priced = self.cluster.kinds.iter().any(|kind| !kind.prices.is_empty());
        priced.then(|| self.watch.cost(self.now))
    }

    /// GPU time that tenants with a quota lent and borrowed.
    pub fn loans(&self) -> Vec<Loan> {
        self.ledger.loans(&self.cluster)
    }

    /// Who ran where until now, if that was kept.
    pub fn occupancy(&self) -> Option<Occupancy> {
        self.watch.occupancy(self.now)
    }

    /// The job that the trace calls so, or that has this number.
    pub fn find(&self, name: &str) -> Option<JobId> {
        let numbered = || name.parse().ok().map(JobId);
        let known = |job: &JobId| self.records.get(*job).is_some();
        self.names.find(name).or_else(numbered).filter(known)
    }

    /// What the trace calls a job.
    pub fn name(&self, job: JobId) -> String {
        self.names.get(job).map_or_else(|| job.to_string(), str::to_owned)
    }

    /// The present values.
    pub fn level(&self) -> Level {
        self.watch.level()
    }
}

/// Whether a scheduled finish or report no longer holds.
fn is_void(records: &Records, what: Happening) -> bool {
    match what {
        Happening::Finish(job, stamp)
        | Happening::Turn(job, stamp)
        | Happening::Loss(job, stamp)
        | Happening::Score(job, stamp) => records[job].stamp != stamp,
        Happening::Saved(_) | Happening::Break(_) | Happening::Repair(_) => false,
        Happening::Release(_) => false,
        Happening::Open(_) | Happening::Look(_) | Happening::Close(_) => false,
    }
}
