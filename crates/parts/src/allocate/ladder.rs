//! Close together at first, and further apart the longer it waits: all of a job on one node, after
//! some time in one rack, after some more anywhere. Waiting a little for locality often gets it
//! (delay scheduling, Zaharia et al., EuroSys 2010). Placements ask for no more than could be:
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
        want.demand.reach = want.insists.max(self.reach(job, view));
        smallvec![want]
    }

    fn fork(&self) -> Box<dyn Allocate> {
        Box::new(*self)
    }
}
