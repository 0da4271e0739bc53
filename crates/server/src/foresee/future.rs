//! One future of a copied state: the simulator goes on from it, with a length drawn for every job
//! and what starting and stopping took so far. Nobody else comes.

use super::Scene;
use super::effort;
use super::lengths::{Basis, Chance, Hint, ran};
use heeler_engine::{Engine, Job};
use heeler_model::JobId;
use heeler_sim::Simulation;
use heeler_sim::workload::{TraceJob, Workload};
use heeler_sim::world::World;
use std::collections::BTreeMap;
use std::time::Duration;

impl Scene {
    /// What happens from here on in one of many futures, perhaps with one more job.
    pub(super) fn future(&self, engine: Engine, number: u32, more: Option<TraceJob>) -> Simulation {
        let now = engine.state().now();
        let arrivals = Box::new(Workload::new(more.into_iter().collect()));
        let world = World { rules: *engine.state().rules(), costs: self.costs, ..World::default() };
        let seed = self.seed ^ u64::from(number);
        let work = |job: &Job| {
            let left = self.left(job, number).micros() as f64;
            let pace =
                if job.progress.pace > 0.0 { job.progress.pace } else { job.spec.nominal_pace };
            job.progress.done_at(now) + left * pace
        };
        let mut simulation = Simulation::continuing(engine, world, arrivals, seed, work);
        for (job, hint) in &self.hints {
            if let Some(line) = hint.line {
                simulation.stand_in_line(*job, line);
            }
            if let Some(before) = &hint.before {
                simulation.let_start(*job, before);
            }
        }
        simulation
    }

    fn left(&self, job: &Job, number: u32) -> heeler_model::Span {
        let mut chance = Chance::new(self.seed, number, job.id.0);
        match self.hints.get(&job.id) {
            Some(hint) => self.past.left(hint, &mut chance),
            None => self.past.left(&self.assumed(job), &mut chance),
        }
    }

    /// What the engine itself knows of a job.
    fn assumed(&self, job: &Job) -> Hint {
        Hint { expected: job.spec.declared, ran: ran(job, self.now()), ..Hint::default() }
    }

    /// What is assumed, in words.
    pub(super) fn assumptions(&self) -> Vec<String> {
        let mut count: BTreeMap<Basis, u32> = BTreeMap::new();
        for job in self.engine.state().jobs().iter() {
            let basis = match self.hints.get(&job.id) {
                Some(hint) => self.past.basis(hint),
                None => self.past.basis(&self.assumed(job)),
            };
            *count.entry(basis).or_default() += 1;
        }
        let mut said = vec!["nobody else hands in a job".to_string()];
        for (basis, count) in count {
            let jobs = if count == 1 { "one job".into() } else { format!("{count} jobs") };
            said.push(format!("{jobs}: {}", words(basis)));
        }
        said.push("no job fails and no node is lost".into());
        said
    }
}

fn words(basis: Basis) -> &'static str {
    match basis {
        Basis::Reported => "run as long as their own count of steps says",
        Basis::Alike => "run as long as earlier runs of the same",
        Basis::Expected => "run about as long as their owners say",
        Basis::Limit => "end somewhere within their time limit",
        Basis::Owner => "run as long as other jobs of their owner",
        Basis::Others => "run as long as others did",
        Basis::Nothing => "nothing is known of how long they run, so about an hour is assumed",
    }
}

/// The time is looked at every so many moments.
const LOOK_EVERY: u64 = 64;

/// How much simulating is left, in moments, and up to which CPU time it may go on. Moments make
/// answers that can be had again; the time is there for recipes whose every moment is dear.
pub(super) struct Budget {
    moments: u64,
    until: Duration,
}

impl Budget {
    pub(super) const fn of(moments: u64, until: Duration) -> Budget {
        Budget { moments, until }
    }

    pub(super) const fn is_spent(&self) -> bool {
        self.moments == 0
    }

    /// At most so many of what is left.
    pub(super) fn share(&self, most: u64) -> u64 {
        self.moments.min(most).max(1)
    }

    /// Take off what somebody used of a share.
    pub(super) const fn used(&mut self, moments: u64) {
        self.moments = self.moments.saturating_sub(moments);
    }

    /// Moments left.
    pub(super) const fn left(&self) -> u64 {
        self.moments
    }

    /// Go on until something is so. Says whether it came to be before the budget, or what can
    /// happen, was at its end.
    pub(super) fn until(
        &mut self,
        simulation: &mut Simulation,
        so: impl Fn(&Simulation) -> bool,
    ) -> bool {
        while !so(simulation) {
            if self.moments == 0 || !simulation.advance(heeler_model::Time::MAX) {
                return false;
            }
            self.moments -= 1;
            if self.moments.is_multiple_of(LOOK_EVERY) && effort::used() > self.until {
                self.moments = 0;
            }
        }
        true
    }
}

/// Whether a job has GPUs or has ended.
pub(super) fn has_started(simulation: &Simulation, job: JobId) -> bool {
    let record = simulation.records().get(job);
    record.is_some_and(|record| record.milli > 0.0 || record.ended.is_some())
}
