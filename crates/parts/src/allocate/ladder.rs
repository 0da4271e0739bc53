//! Close together at first, and further apart the longer it waits: all of a job on one node, after
//! some time in one rack, after some more anywhere. Waiting a little for locality often gets it
//! (delay scheduling, Zaharia et al., EuroSys 2010). Placements ask for no more than could be:
//! a job that is larger than a node begins with a rack. What a job insists on itself is never
//! relaxed.

use heeler_engine::{Allocate, Job, View, Want, Wants};
use heeler_model::{Reach, Span, Time};
use smallvec::smallvec;

/// From when on a job's patience counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Since {
    /// Since it has been in the queue, whatever is free.
    #[default]
    Queued,
    /// Since it was first refused only because what is free is not near enough together: who finds
    /// too little free waits for GPUs, not for locality.
    Scattered,
}

/// Close together at first.
#[derive(Clone, Copy, Debug)]
pub struct Ladder {
    /// For how long a job insists on one node.
    pub node: Span,
    /// For how long it insists on one rack after that.
    pub rack: Span,
    /// From when on both count.
    pub since: Since,
}

impl Ladder {
    /// Since when a job waits for locality, if it does.
    fn from(&self, job: &Job) -> Option<Time> {
        match self.since {
            Since::Queued => Some(job.since),
            Since::Scattered => job.scattered_since(),
        }
    }

    /// For how long a job insists on one node: not at all, if there is none that is large enough.
    fn on_a_node(&self, job: &Job, view: &View) -> Span {
        if view.could_be_on_a_node(job) { self.node } else { Span::ZERO }
    }

    /// When a waiting job will next be content with less, if nothing happens before.
    pub fn relaxes(&self, job: &Job, view: &View) -> Option<Time> {
        let (from, node) = (self.from(job)?, self.on_a_node(job, view));
        let times = [from + node, from + node + self.rack];
        times.into_iter().find(|at| *at > view.now())
    }

    /// How near to each other its GPUs must be by now.
    fn reach(&self, job: &Job, view: &View) -> Reach {
        let waited = self.from(job).map_or(Span::ZERO, |from| view.now().since(from));
        let node = self.on_a_node(job, view);
        if waited < node {
            Reach::Node
        } else if waited < node + self.rack {
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

    /// Who has waited for longer may be content with what another of its demand is not.
    fn class(&self, job: &Job, view: &View) -> u64 {
        match self.reach(job, view) {
            _ if self.listens(job) => 0,
            Reach::Node => 1,
            Reach::Rack => 2,
            Reach::Cluster => 3,
        }
    }

    fn listens(&self, job: &Job) -> bool {
        self.from(job).is_none()
    }

    fn fork(&self) -> Box<dyn Allocate> {
        Box::new(*self)
    }
}
