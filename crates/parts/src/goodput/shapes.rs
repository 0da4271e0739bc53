//! Shapes: which numbers of GPUs, on how many nodes, a job may be given. Powers of two within a
//! node and whole nodes beyond are always packed without splitting anybody, and are few (Sia, SOSP
//! 2023, §3.2).

use heeler_engine::{Fleet, Job, View};
use heeler_model::{Assignment, KindId, KindSet, Reach};
use serde::{Deserialize, Serialize};

/// So many GPUs of a kind, on so many nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Shape {
    /// The kind.
    pub kind: KindId,
    /// GPUs in all.
    pub gpus: u32,
    /// Nodes.
    pub nodes: u32,
}

impl Shape {
    /// The shape of what a job has; none for jobs without GPUs.
    pub fn of(assignment: &Assignment, fleet: &Fleet) -> Option<Shape> {
        let placement = &assignment.placement;
        let kind = fleet.kind_of(placement.slices().first()?.node);
        let (gpus, nodes) = (placement.gpus(), placement.nodes() as u32);
        (gpus > 0).then_some(Shape { kind, gpus, nodes })
    }

    /// Whether two are as many GPUs of one kind. How they lie is not for a job to choose: who had
    /// to be spread stays where it is.
    pub fn is_like(self, other: Shape) -> bool {
        (self.kind, self.gpus) == (other.kind, other.gpus)
    }
}

/// The shapes a cluster offers now.
#[derive(Clone, Debug, Default)]
pub struct Shapes {
    /// Numbers of GPUs, by kind, smallest first.
    sizes: Vec<Vec<u32>>,
    /// GPUs of the largest node, by kind.
    on_node: Vec<u32>,
    /// GPUs that are there, by kind.
    up: Vec<u32>,
}

impl Shapes {
    /// The shapes of a cluster as it is up now.
    pub fn of(view: &View) -> Shapes {
        let fleet = view.fleet();
        let cluster = fleet.cluster();
        let mut shapes = Shapes::default();
        for kind in (0..cluster.kinds.len() as u8).map(KindId) {
            let nodes = cluster.nodes.iter().filter(|node| node.kind == kind);
            let on_node = nodes.map(|node| node.gpus).max().unwrap_or(0);
            let up = fleet.up_of(KindSet::only(kind));
            let mut sizes: Vec<u32> =
                (0..7).map(|power| 1 << power).filter(|size| *size < on_node).collect();
            let whole = up.checked_div(on_node).unwrap_or(0);
            sizes.extend((1..=whole).map(|nodes| nodes * on_node));
            shapes.sizes.push(sizes);
            shapes.on_node.push(on_node);
            shapes.up.push(up);
        }
        shapes
    }

    /// GPUs that are there, by kind.
    pub fn up(&self) -> &[u32] {
        &self.up
    }

    /// So many GPUs of a kind on as few nodes as possible.
    pub fn fewest_nodes(&self, kind: KindId, gpus: u32) -> Shape {
        let on_node = self.on_node.get(kind.index()).copied().unwrap_or(gpus);
        Shape { kind, gpus, nodes: gpus.div_ceil(on_node.max(1)) }
    }

    /// The most GPUs of a kind that a job could ever have together.
    pub fn most_for(&self, job: &Job, kind: KindId, view: &View) -> u32 {
        let (demand, up) = (&job.spec.demand, self.up[kind.index()]);
        // Only where something stands in its way is it worth counting what it could have.
        let beside = demand.cpu_milli > 0 || demand.memory_mb > 0 || demand.gpu_memory_mb > 0;
        match demand.reach != Reach::Cluster || beside {
            true => up.min(view.fleet().together_ever(kind, demand)),
            false => up,
        }
    }

    /// The shapes that a job may be given, up to so many GPUs, kind by kind and smallest first.
    pub fn for_job(&self, job: &Job, limit: u32, view: &View) -> Vec<Shape> {
        let demand = &job.spec.demand;
        let mut shapes = Vec::new();
        for kind in demand.kinds.iter(self.sizes.len()) {
            let most = self.most_for(job, kind, view).min(limit);
            let own = [demand.sizes.min, demand.asked()];
            let mut sizes: Vec<u32> = match demand.sizes.is_rigid() {
                true => own.to_vec(),
                false => self.sizes[kind.index()].iter().copied().chain(own).collect(),
            };
            sizes.retain(|gpus| *gpus > 0 && *gpus <= most && demand.sizes.admits(*gpus));
            sizes.sort_unstable();
            sizes.dedup();
            shapes.extend(sizes.into_iter().map(|gpus| self.fewest_nodes(kind, gpus)));
        }
        shapes
    }
}
