//! What will happen in the simulated world, earliest first. Order at one moment is fixed: what
//! ends comes before what begins, then first scheduled, first served.

use heeler_model::{JobId, NodeId, ServiceId, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something that will happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Happening {
    /// A job has done its work, unless its stamp has changed since.
    Finish(JobId, u32),
    /// An iteration of a trial is over, unless its stamp has changed since.
    Score(JobId, u32),
    /// A job says what it still gets wrong, unless its stamp has changed since.
    Loss(JobId, u32),
    /// A training job is at the end of an epoch or reports, unless its stamp has changed since.
    Turn(JobId, u32),
    /// A job that was told to stop is saved.
    Saved(JobId),
    /// A node breaks.
    Break(NodeId),
    /// A node is repaired.
    Repair(NodeId),
    /// A job that could not start before some time may start.
    Release(JobId),
    /// A service ends.
    Close(ServiceId),
    /// A service begins.
    Open(ServiceId),
    /// The load of a service is looked at.
    Look(ServiceId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    at: Time,
    class: u8,
    number: u64,
    what: Happening,
}

/// So many that are void are not worth looking for.
const FEW: usize = 1000;

/// Happenings, earliest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    heap: BinaryHeap<Reverse<Entry>>,
    number: u64,
    /// How many there were when all that had become void was last dropped.
    kept: usize,
}

impl Queue {
    /// Something will happen.
    pub(crate) fn push(&mut self, at: Time, what: Happening) {
        let class = match what {
            // The last iteration is reported before the job is done.
            Happening::Score(..) | Happening::Loss(..) => 0,
            Happening::Finish(..) | Happening::Turn(..) => 1,
            Happening::Saved(_) => 2,
            Happening::Break(_) => 3,
            Happening::Repair(_) => 4,
            Happening::Release(_) => 5,
            Happening::Close(_) => 6,
            Happening::Open(_) => 7,
            Happening::Look(_) => 8,
        };
        self.number += 1;
        self.heap.push(Reverse(Entry { at, class, number: self.number, what }));
    }

    /// When the next thing happens.
    pub(crate) fn next_at(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse(entry)| entry.at)
    }

    /// Drop what has become void, so that the next thing really happens.
    pub(crate) fn skip(&mut self, void: impl Fn(Happening) -> bool) {
        while self.heap.peek().is_some_and(|Reverse(entry)| void(entry.what)) {
            self.heap.pop();
        }
        // Whoever changes its pace leaves an end behind that never comes. Were they all kept until
        // then, there would be many times as many as jobs.
        if self.heap.len() > 2 * self.kept + FEW {
            self.heap.retain(|Reverse(entry)| !void(entry.what));
            self.kept = self.heap.len();
        }
    }

    /// The next thing, if it happens no later than `at`.
    pub(crate) fn pop_until(&mut self, at: Time) -> Option<Happening> {
        if self.next_at()? > at {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| entry.what)
    }
}
