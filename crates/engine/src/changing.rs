//! What changes about an engine while jobs run: the recipe that decides, and the cluster it decides
//! about. No job is touched by either, but that of jobs which share a GPU only one stays if the new
//! recipe knows nothing of sharing; the next decision is the new recipe's own.

use crate::engine::Engine;
use crate::state::{Job, Phase};
use crate::traits::{Note, Policy};
use heeler_model::{Action, Cluster, JobId, NodeId, Reason};
use std::cmp::Reverse;
use std::collections::BTreeMap;

impl Engine {
    /// Let another policy decide from now on. It is told of everybody as if they had just come, in
    /// the order of their numbers: who waits, and who has or is promised GPUs.
    pub fn adopt(&mut self, policy: Box<dyn Policy>) {
        self.stand_in(policy);
        if !self.policy.feeds() {
            self.unfeed();
        }
        self.part();
        self.introduce();
    }

    /// Let another policy be there while the cluster changes. It decides nothing, so that jobs keep
    /// whatever they have for the one that is adopted afterwards.
    pub fn stand_in(&mut self, policy: Box<dyn Policy>) {
        self.policy = policy;
        self.state.reservations.clear();
    }

    fn introduce(&mut self) {
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

    /// Take CPUs and memory back that jobs have beyond what they asked for, where the new recipe
    /// would count no more than that. It is never less, so everybody still fits, and nobody has to
    /// stop for it: a world may let a job use what nobody else wants until it starts again.
    fn unfeed(&mut self) {
        let fed = |job: &&Job| job.assignment.as_ref().is_some_and(|on| on.portion.is_some());
        let jobs: Vec<JobId> = self.state.jobs.iter().filter(fed).map(|job| job.id).collect();
        jobs.into_iter().for_each(|job| self.state.unfeed(job));
    }

    /// Jobs that have less of their GPUs than they asked for, and them to themselves, get all of
    /// them, unless the new recipe would have it so, too. If it may know nothing of sharing, of
    /// several on one GPU one stays: who is the most important, then who began first. The others
    /// have to stop, because many recipes reckon in whole GPUs.
    fn part(&mut self) {
        if self.policy.leaves_room() {
            return;
        }
        if self.policy.packs() {
            for id in self.squeezed() {
                self.state.unshare(id);
            }
            return;
        }
        let (mut taken, mut alone) = (BTreeMap::new(), Vec::new());
        for id in self.squeezed() {
            let on = self.state.job(id).assignment.clone().expect("it has less than it asked for");
            let slices = on.placement.slices().iter();
            let gpus = slices.flat_map(|slice| slice.slots.iter().map(|slot| (slice.node, slot)));
            let gpus: Vec<(NodeId, u32)> = gpus.collect();
            match gpus.iter().find_map(|gpu| taken.get(gpu)).copied() {
                Some(by) => self.stop_sharing(id, Reason::Displaced { by }),
                None => {
                    taken.extend(gpus.into_iter().map(|gpu| (gpu, id)));
                    alone.push(id);
                }
            }
        }
        for id in alone {
            if !self.state.unshare(id) {
                self.stop_sharing(id, Reason::Rearranged);
            }
        }
    }

    /// Jobs that have less of their GPUs than they asked for, first those that had better stay.
    fn squeezed(&self) -> Vec<JobId> {
        let less =
            |job: &&Job| job.assignment.as_ref().is_some_and(|on| on.share < job.spec.demand.share);
        let mut jobs: Vec<&Job> = self.state.jobs.iter().filter(less).collect();
        jobs.sort_by_key(|job| {
            (!job.is_running(), Reverse(job.spec.priority), job.started, job.submitted, job.id)
        });
        jobs.into_iter().map(|job| job.id).collect()
    }

    fn stop_sharing(&mut self, id: JobId, reason: Reason) {
        let now = self.state.now;
        let job = self.state.jobs.get_mut(id).expect("the job is not done");
        job.note(reason, now);
        let (generation, running) = (job.generation, job.is_running());
        self.state.displace(id);
        if running {
            self.outbox.push(Action::Stop { job: id, generation, reason });
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
