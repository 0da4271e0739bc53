//! What changes about an engine while jobs run: the recipe that decides, and the cluster it decides
//! about. No job is touched by either, but that jobs which share a GPU are parted if the new recipe
//! knows nothing of sharing, and that jobs start anew which had other CPUs or memory than they
//! asked for; the next decision is the new recipe's own.

use crate::engine::Engine;
use crate::state::{Job, Phase};
use crate::traits::{Note, Policy};
use heeler_model::{Action, Assignment, Cluster, Generation, JobId, Reason};

impl Engine {
    /// Let another policy decide from now on. It is told of everybody as if they had just come, in
    /// the order of their numbers: who waits, and who has or is promised GPUs.
    pub fn adopt(&mut self, policy: Box<dyn Policy>) {
        self.policy = policy;
        self.state.reservations.clear();
        self.part();
        let jobs: Vec<(JobId, Phase, bool)> =
            self.state.jobs.iter().map(|job| (job.id, job.phase, job.is_placed())).collect();
        for (id, phase, placed) in jobs {
            if phase == Phase::Waiting {
                self.tell(&Note::Joined(id));
            }
            if placed {
                self.tell(&Note::Placed(id));
                if phase == Phase::Running {
                    self.tell(&Note::Began(id));
                }
            }
        }
        self.tell(&Note::Changed);
    }

    /// Take jobs off their GPUs that have something the new recipe may know nothing of: less of
    /// them than they asked for, or other CPUs and memory beside them.
    fn part(&mut self) {
        let packs = self.policy.packs();
        let odd = |job: &&Job| {
            let on = job.assignment.as_ref();
            let squeezed = |on: &Assignment| !packs && on.share < job.spec.demand.share;
            on.is_some_and(|on| squeezed(on) || on.portion.is_some())
        };
        let jobs = self.state.jobs.iter().filter(odd);
        let jobs: Vec<(JobId, Generation, bool)> =
            jobs.map(|job| (job.id, job.generation, job.is_running())).collect();
        for (job, generation, running) in jobs {
            self.state.displace(job);
            if running {
                let reason = Reason::Rearranged;
                self.outbox.push(Action::Stop { job, generation, reason });
            }
        }
    }

    /// The same engine on a cluster that has more nodes, kinds or tenants than before; those there
    /// were keep their numbers. `policy` is a fresh one of the same recipe.
    pub fn rebuilt(&self, cluster: Cluster, policy: Box<dyn Policy>) -> Result<Engine, String> {
        let mut snapshot = self.snapshot();
        let old = &snapshot.cluster;
        let shrinks = cluster.nodes.len() < old.nodes.len()
            || cluster.kinds.len() < old.kinds.len()
            || cluster.tenants.len() < old.tenants.len();
        if shrinks {
            return Err("a cluster can only grow while jobs know it".into());
        }
        snapshot.cluster = cluster;
        let mut engine = Engine::restore(snapshot, policy)?;
        engine.outbox.clone_from(&self.outbox);
        engine.tell(&Note::Changed);
        Ok(engine)
    }
}
