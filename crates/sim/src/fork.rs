//! Copies of a simulation, for "what if".

use crate::simulation::Simulation;
use heeler_engine::Step;

impl Simulation {
    /// Let another policy decide from now on.
    pub fn adopt(&mut self, policy: Box<dyn heeler_engine::Policy>) {
        self.engine.adopt(policy);
        self.decide();
    }

    /// A copy that goes on by itself.
    pub fn fork(&self) -> Simulation {
        Simulation {
            engine: self.engine.fork(),
            world: self.world.clone(),
            cluster: self.cluster.clone(),
            arrivals: self.arrivals.fork(),
            next: self.next.clone(),
            records: self.records.clone(),
            names: self.names.clone(),
            watch: self.watch.clone(),
            ledger: self.ledger.clone(),
            rounds: self.rounds.clone(),
            queue: self.queue.clone(),
            studies: self.studies.clone(),
            step: Step::default(),
            start_costs: self.start_costs.clone(),
            neighbours: self.neighbours.clone(),
            last_on: self.last_on.clone(),
            running: self.running.clone(),
            services: self.services.clone(),
            answers: self.answers.clone(),
            deferred: self.deferred.clone(),
            trainees: self.trainees.clone(),
            losing: self.losing.clone(),
            phasing: self.phasing.clone(),
            letting: self.letting.clone(),
            ..*self
        }
    }
}
