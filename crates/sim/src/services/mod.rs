//! Services beside jobs. A service is a group of replicas, and each replica is a job like any other
//! to the engine; what the replicas answer is simulated in a cell of its own, which is brought up
//! to date only when a replica comes or goes and when somebody looks.

mod file;
mod history;

pub use file::{ServiceError, names, parse, read, text};
pub use history::{History, Look};

use crate::queue::Happening;
use crate::record::{Outcome, Record};
use crate::simulation::Simulation;
use heeler_model::{
    Demand, Event, Exit, JobId, JobSpec, Load, Replica, ServiceId, Span, TenantId, Time,
};
use heeler_recipes::Card;
use heeler_serve::{Cell, Service, ServiceCard, Summary, instant_ns};

/// A service as its owner describes it.
#[derive(Clone, Debug)]
pub struct ServiceSpec {
    /// What it is called.
    pub name: String,
    /// Whose quota and share its replicas use.
    pub tenant: TenantId,
    /// Priority of its replicas.
    pub priority: i32,
    /// What one replica asks of the cluster.
    pub demand: Demand,
    /// The most replicas it can have.
    pub replicas: u32,
    /// When it begins.
    pub from: Time,
    /// When it ends.
    pub until: Time,
    /// How often its load is looked at.
    pub look: Span,
    /// Who asks, and what answers.
    pub card: ServiceCard,
}

impl ServiceSpec {
    /// The service as a recipe serves it.
    #[must_use]
    pub fn under(&self, recipe: &Card) -> ServiceSpec {
        ServiceSpec { card: recipe.serve.serve(&self.card), ..self.clone() }
    }
}

/// A service in a simulation.
#[derive(Clone, Debug)]
pub struct Serving {
    /// As described.
    pub spec: ServiceSpec,
    cell: Service,
    /// Its replicas, by number, once it has begun.
    jobs: Vec<JobId>,
    /// Replicas that have GPUs.
    running: u32,
    is_open: bool,
    looked: Time,
    history: History,
}

impl Serving {
    fn new(spec: ServiceSpec, seed: u64, stream: u64) -> Serving {
        let (from, until) = (instant_ns(spec.from), instant_ns(spec.until));
        let cell = spec.card.start(seed, stream, from, until);
        Serving {
            cell: cell.expect("the card was checked when it was read"),
            jobs: Vec::new(),
            running: 0,
            is_open: false,
            looked: spec.from,
            history: History::new(spec.from),
            spec,
        }
    }

    /// Its replicas, by number, once it has begun.
    pub fn jobs(&self) -> &[JobId] {
        &self.jobs
    }

    /// What was seen of it over time.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// All that has happened by a time, without disturbing anything.
    pub fn seen_by(&self, now: Time) -> Summary {
        let mut seen = self.history.all().clone();
        if self.is_open && now > self.looked {
            let mut cell = self.cell.clone();
            cell.advance(instant_ns(now));
            seen.then(&cell.look());
        }
        seen
    }

    /// Bring the cell up to date and write down what it did since the last look.
    fn look(&mut self, now: Time) -> Load {
        self.cell.advance(instant_ns(now));
        let seen = self.cell.look();
        let span = now.since(self.looked);
        self.looked = now;
        let load = load(&seen, span, self.cell.replicas().serving);
        self.history.add(now, seen, self.running);
        load
    }
}

fn load(seen: &Summary, span: Span, replicas: u32) -> Load {
    let busy = seen.busy_ns as f64 / (span.micros() as f64 * 1e3).max(1.0);
    Load {
        span,
        arrived: seen.arrived,
        late: seen.late + seen.rejected + seen.expired,
        waiting: seen.waiting,
        replicas,
        busy_milli: (busy * 1000.0).round() as u32,
    }
}

impl Simulation {
    /// Services beside the jobs, before anything has happened.
    #[must_use]
    pub fn with_services(mut self, specs: &[ServiceSpec]) -> Simulation {
        for (index, spec) in specs.iter().enumerate() {
            let service = ServiceId(index as u16);
            self.queue.push(spec.from, Happening::Open(service));
            self.services.push(Serving::new(spec.clone(), self.seed, index as u64));
            self.watch.look_from(spec.from);
        }
        self
    }

    /// The services.
    pub fn services(&self) -> &[Serving] {
        &self.services
    }

    /// Whether some service is still to come or goes on.
    pub(crate) fn is_serving(&self) -> bool {
        self.services.iter().any(|service| service.is_open || service.jobs.is_empty())
    }

    pub(crate) fn open(&mut self, service: ServiceId) {
        let serving = &mut self.services[service.index()];
        serving.is_open = true;
        let spec = serving.spec.clone();
        self.queue.push(self.now + spec.look, Happening::Look(service));
        self.queue.push(spec.until, Happening::Close(service));
        for index in 0..spec.replicas {
            let job = self.submit_replica(&spec, Replica { service, index });
            self.services[service.index()].jobs.push(job);
        }
    }

    fn submit_replica(&mut self, of: &ServiceSpec, replica: Replica) -> JobId {
        let lasts = of.until.since(self.now);
        let mut spec = JobSpec::new(of.demand);
        spec.tenant = of.tenant;
        spec.priority = of.priority;
        spec.declared = Some(lasts);
        spec.extras_mut().replica = Some(replica);
        let mut record = Record {
            submitted: self.now,
            work: f64::INFINITY,
            alone: lasts,
            gpus: of.demand.asked(),
            tenant: of.tenant,
            held_since: self.now,
            serves: true,
            ..Record::default()
        };
        self.watch.joins(&mut record);
        let job = self.records.push(record);
        self.names.push(job, &format!("{}/{}", of.name, replica.index));
        self.engine.observe(self.now, Event::Submitted { job, spec: Box::new(spec) });
        job
    }

    pub(crate) fn look(&mut self, service: ServiceId) {
        let serving = &mut self.services[service.index()];
        if !serving.is_open {
            return;
        }
        let load = serving.look(self.now);
        self.queue.push(self.now + serving.spec.look, Happening::Look(service));
        self.engine.observe(self.now, Event::Load { service, load });
    }

    /// A replica has got GPUs, or has lost them.
    pub(crate) fn replica_changed(&mut self, replica: Replica, change: ReplicaChange) {
        let now = instant_ns(self.now);
        let serving = &mut self.services[replica.service.index()];
        match change {
            ReplicaChange::Began => serving.running += 1,
            ReplicaChange::Stopped | ReplicaChange::Lost => serving.running -= 1,
        }
        if change == ReplicaChange::Lost {
            serving.cell.lose_replicas(now, 1);
        }
        serving.cell.set_replicas(now, serving.running);
    }

    pub(crate) fn close_service(&mut self, service: ServiceId) {
        let serving = &mut self.services[service.index()];
        serving.look(self.now);
        serving.is_open = false;
        for job in serving.jobs.clone() {
            let runs = self.records[job].milli > 0.0;
            let record = &mut self.records[job];
            record.outcome = Outcome::Served;
            record.ended = Some(self.now);
            if runs {
                record.useful_milli += record.useful_since_start(self.now);
            } else {
                record.waited += self.now.since(record.held_since);
            }
            self.watch.leaves(&mut self.records[job]);
            match runs {
                true => self.release(job, Exit::Finished),
                false => self.engine.observe(self.now, Event::Cancelled { job }),
            }
        }
    }
}

/// What happened to a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplicaChange {
    /// It has got GPUs.
    Began,
    /// It was stopped, or its service ended.
    Stopped,
    /// A node broke under it.
    Lost,
}
