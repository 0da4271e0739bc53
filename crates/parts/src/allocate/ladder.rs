//! Close together at first, and further apart the longer it waits: all of a job on one node, after
//! some time in one rack, after some more anywhere. Waiting a little for locality often gets it
//! (delay scheduling, Zaharia et al., EuroSys 2010). It asks for no more than could ever be:
//! a job that is larger than a node begins with a rack. What a job insists on itself is never
//! relaxed.

use heeler_engine::{Allocate, Job, View, Want, Wants};
use heeler_model::{Reach, Span};
use smallvec::smallvec;

/// Close together at first.
#[derive(Clone, Copy, Debug)]
pub struct Ladder {
    /// For how long a job insists on one node.
    pub node: Span,
    /// For how long it insists on one rack after that.
    pub rack: Span,
}

impl Ladder {
    /// The times after which a waiting job is content with less.
    pub fn rungs(&self) -> [Span; 2] {
        [self.node, self.node + self.rack]
    }

    /// How near to each other its GPUs must be by now.
    fn reach(&self, job: &Job, view: &View) -> Reach {
        let waited = view.now().since(job.since);
        if waited < self.node {
            Reach::Node
        } else if waited < self.node + self.rack {
            Reach::Rack
        } else {
            Reach::Cluster
        }
    }
}

impl Allocate for Ladder {
    fn wants(&self, job: &Job, view: &View) -> Wants {
        let mut want = Want::as_asked(job);
        let (own, now) = (want.demand.reach, self.reach(job, view));
        for reach in [Reach::Node, Reach::Rack, Reach::Cluster] {
            want.demand.reach = own.max(reach.min(now));
            let fleet = view.fleet();
            let mut kinds = want.demand.kinds.iter(fleet.cluster().kinds.len());
            if kinds.any(|kind| fleet.together_ever(kind, &want.demand) >= want.gpus) {
                break;
            }
        }
        smallvec![want]
    }

    fn fork(&self) -> Box<dyn Allocate> {
        Box::new(*self)
    }
}
