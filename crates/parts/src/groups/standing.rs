//! Jobs as one decision sees them, in order: what it asks of each of them again and again stands
//! side by side here.

use super::known::{Kinds, Own};
use heeler_engine::{Job, View};
use heeler_model::{JobId, Placement};

/// A job that may run. It should not take more than a line of memory or two.
#[derive(Clone, Copy)]
pub(super) struct Standing<'a> {
    /// Its number.
    pub id: JobId,
    /// By what it stands where it stands.
    pub key: i64,
    /// Its place in the table of jobs.
    pub place: u32,
    /// What never changes of it.
    pub own: Own,
    /// Which GPUs it shares with others, counted from zero, if it does.
    pub seat: Option<u32>,
    /// The job itself.
    pub job: &'a Job,
}

/// Jobs in order, and how many sets of GPUs are shared.
pub(super) struct Line<'a> {
    /// Who comes first is first.
    pub jobs: Vec<Standing<'a>>,
    /// Seats are below this.
    pub seats: usize,
}

impl<'a> Line<'a> {
    /// Jobs in an order, each with its key.
    pub(super) fn of(order: &[(i64, &'a Job)], kinds: &mut Kinds, view: &View<'a>) -> Line<'a> {
        let table = view.state().jobs();
        let mut seats = Seats::new(view);
        let stand = |&(key, job): &(i64, &'a Job)| {
            let place = table.place(job.id).expect("the job is not done");
            let shared = job.assignment.as_ref().filter(|on| !on.share.is_whole());
            let seat = shared.and_then(|on| seats.number(&on.placement));
            let own = kinds.of_job(job, place);
            Standing { id: job.id, key, place: place as u32, own, seat, job }
        };
        let jobs = order.iter().map(stand).collect();
        Line { jobs, seats: seats.known.len() }
    }
}

/// Sets of GPUs that are shared, by the first GPU of each.
struct Seats<'a> {
    /// GPUs of the largest node.
    most: usize,
    /// The last seat that begins with a GPU.
    last: Vec<Option<u32>>,
    /// Seats, each with the one before it that begins with the same GPU.
    known: Vec<(&'a Placement, Option<u32>)>,
}

impl<'a> Seats<'a> {
    fn new(view: &View) -> Seats<'a> {
        let fleet = view.fleet();
        let nodes = &fleet.cluster().nodes;
        let most = nodes.iter().map(|node| node.gpus).max().unwrap_or(0) as usize;
        Seats { most, last: vec![None; nodes.len() * most], known: Vec::new() }
    }

    fn number(&mut self, on: &'a Placement) -> Option<u32> {
        let first = on.slices().first()?;
        let gpu = first.node.index() * self.most + first.slots.0.trailing_zeros() as usize;
        let mut before = self.last[gpu];
        while let Some(seat) = before {
            let (there, earlier) = self.known[seat as usize];
            if there == on {
                return Some(seat);
            }
            before = earlier;
        }
        let next = self.known.len() as u32;
        self.known.push((on, self.last[gpu]));
        self.last[gpu] = Some(next);
        Some(next)
    }
}
