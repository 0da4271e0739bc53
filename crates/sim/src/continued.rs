//! A simulation that goes on from an engine that has decided elsewhere, such as a live one: its
//! jobs keep their numbers, their places and what they have done, and only what is to come is
//! modelled.

use crate::loans::Ledger;
use crate::queue::Happening;
use crate::record::{Record, Records};
use crate::simulation::Simulation;
use crate::watch::Watch;
use crate::workload::Arrivals;
use crate::world::World;
use heeler_engine::{Engine, Job, Phase};
use heeler_model::{Assignment, Cluster, JobId, NodeId, Span};
use std::sync::Arc;

impl Simulation {
    /// A simulation that begins where an engine stands. `work` says how much work a job will have
    /// done when it is done, in its own units, of which `Job::progress` counts what is done; nobody
    /// but the modelled world is told. Figures of time count from now
    /// on: whoever has nothing now has not started.
    pub fn continuing(
        engine: Engine,
        world: World,
        arrivals: Box<dyn Arrivals>,
        seed: u64,
        work: impl Fn(&Job) -> f64,
    ) -> Simulation {
        let now = engine.state().now();
        let fleet = engine.state().fleet();
        let cluster: Arc<Cluster> = Arc::new(fleet.cluster().clone());
        let nodes = (0..cluster.nodes.len() as u32).map(NodeId);
        let down: Vec<NodeId> = nodes.filter(|node| !fleet.is_up(*node)).collect();
        drop(fleet);
        let mut simulation = Simulation::new(engine, world, cluster, arrivals, seed);
        simulation.now = now;
        simulation.watch = Watch::new(&simulation.cluster).beginning_at(now);
        simulation.ledger = Ledger::new(&simulation.cluster).beginning_at(now);
        for node in down {
            simulation.watch.node(&simulation.cluster, node, false);
        }
        simulation.records = Records::from_number(simulation.engine.state().jobs().used());
        let jobs: Vec<(Job, f64)> =
            simulation.engine.state().jobs().iter().map(|job| (job.clone(), work(job))).collect();
        for (job, work) in &jobs {
            simulation.take_over(job, *work);
        }
        for (job, _) in &jobs {
            simulation.go_on(job);
        }
        simulation.ledger.note(simulation.engine.state().tenants());
        // The engine is asked at once, to hear when it wants to be asked again.
        simulation.wake = Some(now);
        simulation
    }

    /// Replace the engine by one restored from its snapshot with a fresh policy, as a restart does.
    pub fn restart(&mut self, policy: Box<dyn heeler_engine::Policy>) {
        let snapshot = self.engine.snapshot();
        let restored = Engine::restore(snapshot, policy);
        self.engine =
            restored.unwrap_or_else(|error| panic!("a snapshot can be restored: {error}"));
    }

    /// Enter what is known of a job.
    fn take_over(&mut self, job: &Job, work: f64) {
        let spec = &job.spec;
        let waited = job.since.since(job.submitted).saturating_sub(job.attained);
        let mut record = Record {
            submitted: job.submitted,
            started: job.started.filter(|_| job.is_running()),
            work: work.max(job.progress.done),
            done: job.progress.done,
            safe: job.progress.done,
            from: job.progress.from,
            alone: Span::from_micros((work / spec.nominal_pace).round() as u64),
            evenly: crate::submit::evenly(spec, &self.cluster),
            gpus: spec.demand.asked(),
            deadline: spec.deadlines().last().map(|deadline| deadline.at),
            tenant: spec.tenant,
            model: spec.model,
            held_since: job.since,
            counted: job.since,
            held_milli: job.attained_milli as f64,
            useful_milli: job.attained_milli as f64,
            waited,
            generation: job.generation.0,
            preemptions: job.preemptions,
            ..Record::default()
        };
        self.watch.joins(&mut record);
        self.records.insert(job.id, record);
        if let (Phase::Running, Some(on)) = (job.phase, &job.assignment) {
            self.holds(job.id, on);
        }
        let state = self.engine.state();
        if let Some((placement, generation)) = state.clearing_of(job.id) {
            // How much of each GPU it had nobody knows any more; at most what it asked for.
            let on = Assignment::new(placement.clone(), spec.demand.share);
            self.records[job.id].generation = generation.0;
            self.holds(job.id, &on);
        }
    }

    fn holds(&mut self, job: JobId, on: &Assignment) {
        if self.world.costs.remember() {
            self.last_on.insert(job, on.clone());
        }
        self.moves_in(job, on);
        self.begins_to_hold(job, on);
        // It has had its GPUs since then, and those beside it hold less for its being there.
        let record = &mut self.records[job];
        record.counted = record.held_since;
        for other in self.beside(job, on) {
            self.holds_its_part(other);
        }
        // Whoever shares a GPU runs at the pace that was seen, until something changes.
        self.neighbours.calm();
    }

    /// Schedule what comes of a job that runs or is being stopped.
    fn go_on(&mut self, job: &Job) {
        let (id, now) = (job.id, self.now);
        match (job.phase, &job.assignment) {
            (Phase::Running, Some(on)) => {
                let seen = job.progress.pace;
                let pace = if seen > 0.0 { seen } else { self.pace_of(id, on) };
                let record = &mut self.records[id];
                record.pace = pace;
                record.stamp += 1;
                let finish = self.world.noticed(record.finish().max(now));
                self.queue.push(finish, Happening::Finish(id, record.stamp));
                if self.world.quirks.restart_all_at_every_event {
                    self.running.push(id);
                }
            }
            (Phase::Stopping, _) => {
                let save = self.world.costs.save.of(self.records[id].gpus);
                let save = save.saturating_sub(now.since(job.since));
                self.queue.push(now + save, Happening::Saved(id));
            }
            _ => {}
        }
    }
}
