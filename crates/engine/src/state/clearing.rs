//! GPUs that jobs told to stop have not given back yet, found by node: a plan that stops thousands
//! asks of every job it starts whether it has to wait for one of them.

use heeler_model::{Generation, JobId, NodeId, Placement};
use std::collections::{BTreeMap, BTreeSet};

/// Jobs that are being stopped, with what they had and the number of that assignment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clearing {
    jobs: BTreeMap<JobId, (Placement, Generation)>,
    by_node: BTreeSet<(NodeId, JobId)>,
}

impl Clearing {
    pub(crate) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    pub(crate) fn insert(&mut self, job: JobId, placement: Placement, generation: Generation) {
        self.by_node.extend(placement.slices().iter().map(|slice| (slice.node, job)));
        self.jobs.insert(job, (placement, generation));
    }

    pub(crate) fn remove(&mut self, job: JobId) {
        let Some((placement, _)) = self.jobs.remove(&job) else { return };
        for slice in placement.slices() {
            self.by_node.remove(&(slice.node, job));
        }
    }

    /// The number of the assignment that a job is being stopped from.
    pub(crate) fn generation(&self, job: JobId) -> Option<Generation> {
        self.jobs.get(&job).map(|(_, generation)| *generation)
    }

    /// The first job that has to clear some of these GPUs.
    pub(crate) fn first_on(&self, placement: &Placement) -> Option<JobId> {
        let nodes = placement.slices().iter().map(|slice| slice.node);
        let here =
            nodes.flat_map(|node| self.by_node.range((node, JobId(0))..=(node, JobId(u32::MAX))));
        here.map(|(_, job)| *job).filter(|job| self.jobs[job].0.meets(placement)).min()
    }

    /// All of them, for a snapshot.
    pub(crate) fn jobs(&self) -> &BTreeMap<JobId, (Placement, Generation)> {
        &self.jobs
    }
}

impl From<BTreeMap<JobId, (Placement, Generation)>> for Clearing {
    fn from(jobs: BTreeMap<JobId, (Placement, Generation)>) -> Clearing {
        let mut clearing = Clearing::default();
        for (job, (placement, generation)) in jobs {
            clearing.insert(job, placement, generation);
        }
        clearing
    }
}
