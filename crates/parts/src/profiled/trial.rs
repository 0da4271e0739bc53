//! Who is tried out, where, and for how long.

use heeler_engine::{Fleet, Job};
use heeler_model::{NodeId, Span, Time};

/// How jobs are tried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    /// On how many nodes.
    pub nodes: u32,
    /// For how long.
    pub span: Span,
    /// Jobs of more GPUs are not.
    pub gpus_max: u32,
    /// Whoever has waited so long for a trial goes on without one.
    pub patience: Span,
}

impl Trial {
    /// Whether a job is of those who are tried out, were there a node for it.
    pub(super) fn is_for(&self, job: &Job) -> bool {
        let demand = &job.spec.demand;
        let sized = (1..=self.gpus_max).contains(&demand.asked());
        let whole = demand.share.is_whole() && job.spec.replica().is_none();
        sized && whole && job.attained < self.span
    }

    /// Until when a job that waits hopes for a trial.
    pub(super) fn hopes_until(&self, job: &Job) -> Time {
        job.since + self.patience
    }

    /// The nodes on which jobs are tried out: the last of the cluster, and never more than a
    /// quarter of it.
    pub(super) fn nodes(&self, fleet: &Fleet) -> impl Iterator<Item = NodeId> + use<> {
        let all = fleet.cluster().nodes.len() as u32;
        (all - self.nodes.min(all / 4)..all).map(NodeId)
    }
}

/// Whether a job could be tried out on a node, were it empty.
pub(super) fn could_be_tried(job: &Job, node: NodeId, fleet: &Fleet) -> bool {
    let (demand, there) = (&job.spec.demand, &fleet.cluster().nodes[node.index()]);
    let gpus = demand.asked();
    let beside = |has: u64, each: u32| has == 0 || u64::from(each) * u64::from(gpus) <= has;
    fleet.is_up(node)
        && gpus <= there.gpus
        && demand.kinds.contains(there.kind)
        && demand.gpu_memory_mb <= fleet.memory_of(there.kind)
        && beside(there.cpu_milli, demand.cpu_milli)
        && beside(there.memory_mb, demand.memory_mb)
}
