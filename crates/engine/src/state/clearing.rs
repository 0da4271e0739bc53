//! GPUs that jobs told to stop have not given back yet, found by node: a plan that stops thousands
//! asks of every job it starts whether it has to wait for one of them.

use heeler_model::{Generation, JobId, NodeId, Placement, Slots};
use std::collections::BTreeMap;

/// Jobs that are being stopped, with what they had and the number of that assignment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clearing {
    jobs: BTreeMap<JobId, (Placement, Generation)>,
    /// What of each node they had, as far as there are nodes that any of them was on.
    by_node: Vec<Vec<(JobId, Slots)>>,
}

impl Clearing {
    pub(crate) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    pub(crate) fn insert(&mut self, job: JobId, placement: Placement, generation: Generation) {
        debug_assert!(!self.jobs.contains_key(&job), "a job is stopped once");
        for slice in placement.slices() {
            let node = slice.node.index();
            if self.by_node.len() <= node {
                self.by_node.resize_with(node + 1, Vec::new);
            }
            self.by_node[node].push((job, slice.slots));
        }
        self.jobs.insert(job, (placement, generation));
    }

    pub(crate) fn remove(&mut self, job: JobId) {
        let Some((placement, _)) = self.jobs.remove(&job) else { return };
        for slice in placement.slices() {
            self.by_node[slice.node.index()].retain(|(other, _)| *other != job);
        }
    }

    /// The number of the assignment that a job is being stopped from.
    pub(crate) fn generation(&self, job: JobId) -> Option<Generation> {
        self.jobs.get(&job).map(|(_, generation)| *generation)
    }

    /// The first job that has to clear some of these GPUs.
    pub(crate) fn first_on(&self, placement: &Placement) -> Option<JobId> {
        let on = |node: NodeId| self.by_node.get(node.index()).into_iter().flatten();
        let meets = placement.slices().iter().flat_map(|slice| {
            on(slice.node).filter(|(_, slots)| !slots.and(slice.slots).is_empty())
        });
        meets.map(|(job, _)| *job).min()
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
