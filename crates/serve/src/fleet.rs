//! The replicas of a cell: they load, serve, drain and go; requests are routed to those that serve;
//! and each names the moment at which something happens on it next.

use crate::batch::RouterCard;
use crate::random::draws;
use crate::tally::Tally;
use crate::{Replicas, Setting};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What a replica does.
pub(crate) trait Work {
    /// How much there is to do, for the router that looks for the least: a time, or tokens.
    fn load(&self) -> u64;

    /// How many requests it has.
    fn requests(&self) -> u64;
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Fleet<W> {
    pub(crate) replicas: Vec<Replica<W>>,
    /// From the start of a replica until it serves.
    pub(crate) load_ns: u64,
    /// For random numbers of its own.
    pub(crate) key: u64,
    /// How many replicas there ever were.
    made: u64,
    /// How many requests were routed.
    routed: u64,
    /// Moments at which something happens on a replica. One that the replica no longer names has
    /// been superseded.
    wakes: BinaryHeap<Reverse<(u64, u32)>>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Replica<W> {
    /// Sets its random numbers apart; never used again.
    pub(crate) number: u64,
    pub(crate) phase: Phase,
    /// When something happens here; the end of time if nothing does.
    wake_ns: u64,
    pub(crate) work: W,
}

/// Where a replica is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Phase {
    Loading,
    Serving,
    Draining,
}

impl<W: Work> Fleet<W> {
    pub(crate) fn new(setting: Setting) -> Fleet<W> {
        Fleet {
            replicas: Vec::new(),
            load_ns: setting.load_ns,
            key: draws(setting.seed, setting.stream, u64::MAX).bits(),
            made: 0,
            routed: 0,
            wakes: BinaryHeap::new(),
        }
    }

    /// When and where something happens next; the end of time if nothing does.
    #[inline]
    pub(crate) fn next(&self) -> (u64, usize) {
        let wake = self.wakes.peek();
        wake.map_or((u64::MAX, 0), |Reverse((wake_ns, index))| (*wake_ns, *index as usize))
    }

    /// Take that moment out; says whether something does happen.
    #[inline]
    pub(crate) fn pop(&mut self) -> bool {
        let Some(Reverse((at_ns, index))) = self.wakes.pop() else { return false };
        let wake_ns = &mut self.replicas[index as usize].wake_ns;
        let named = *wake_ns == at_ns;
        if named {
            *wake_ns = u64::MAX;
        }
        named
    }

    /// Say when something happens on a replica next, or that nothing does.
    #[inline]
    pub(crate) fn wake_at(&mut self, index: usize, wake_ns: u64) {
        if self.replicas[index].wake_ns != wake_ns {
            self.replicas[index].wake_ns = wake_ns;
            if wake_ns < u64::MAX {
                self.wakes.push(Reverse((wake_ns, index as u32)));
            }
        }
    }

    /// The replica for the next request, if one serves.
    #[inline]
    pub(crate) fn route(&mut self, router: RouterCard) -> Option<usize> {
        if let [only] = self.replicas.as_slice() {
            return (only.phase == Phase::Serving).then_some(0);
        }
        let serving = || {
            let replicas = self.replicas.iter().enumerate();
            replicas.filter(|(_, replica)| replica.phase == Phase::Serving)
        };
        let best = match router {
            RouterCard::LeastClock => serving().min_by_key(|(_, replica)| replica.work.load()),
            RouterCard::ShortestQueue => {
                serving().min_by_key(|(_, replica)| replica.work.requests())
            }
            RouterCard::TwoChoices => {
                let count = serving().count() as u64;
                if count == 0 {
                    return None;
                }
                // Replicas count from zero, so their random numbers are others.
                let mut draws = draws(self.key, u64::MAX, self.routed);
                let [one, two] = [draws.below(count), draws.below(count)];
                let drawn = [one, two].map(|nth| serving().nth(nth as usize));
                drawn.into_iter().flatten().min_by_key(|(_, replica)| replica.work.requests())
            }
        };
        let best = best.map(|(index, _)| index);
        self.routed += 1;
        best
    }

    /// Add a replica that begins to load now.
    pub(crate) fn add(&mut self, now_ns: u64, work: W, tally: &mut Tally) {
        let replica = Replica { number: self.made, phase: Phase::Loading, wake_ns: u64::MAX, work };
        self.made += 1;
        self.replicas.push(replica);
        self.wake_at(self.replicas.len() - 1, now_ns + self.load_ns);
        tally.present(now_ns, 1);
    }

    /// A replica has loaded its model; says whether it was the last to do so at this moment.
    pub(crate) fn serve(&mut self, index: usize, now_ns: u64) -> bool {
        self.replicas[index].phase = Phase::Serving;
        let more = |r: &Replica<W>| r.phase == Phase::Loading && r.wake_ns <= now_ns;
        !self.replicas.iter().any(more)
    }

    /// Replicas that are to stay.
    pub(crate) fn staying(&self) -> u32 {
        self.replicas.iter().filter(|r| r.phase != Phase::Draining).count() as u32
    }

    /// Take one away, a loading one if there is one, else the newest: it finishes what it has.
    pub(crate) fn drain_one(&mut self, now_ns: u64, tally: &mut Tally) {
        let newest = |phase| self.replicas.iter().rposition(|r| r.phase == phase);
        let Some(index) = newest(Phase::Loading).or_else(|| newest(Phase::Serving)) else {
            return;
        };
        self.replicas[index].phase = Phase::Draining;
        self.retire(index, now_ns, tally);
    }

    /// Let a replica go if it is to and has nothing left.
    #[inline]
    pub(crate) fn retire(&mut self, index: usize, now_ns: u64, tally: &mut Tally) {
        let replica = &self.replicas[index];
        if replica.phase == Phase::Draining && replica.work.requests() == 0 {
            self.remove(index, now_ns, tally);
        }
    }

    /// The newest that is to stay goes at once.
    pub(crate) fn lose_one(&mut self, now_ns: u64, tally: &mut Tally) -> Option<W> {
        let index = self.replicas.iter().rposition(|r| r.phase != Phase::Draining)?;
        Some(self.remove(index, now_ns, tally))
    }

    fn remove(&mut self, index: usize, now_ns: u64, tally: &mut Tally) -> W {
        let replica = self.replicas.remove(index);
        tally.present(now_ns, -1);
        let wakes = self.replicas.iter().enumerate();
        let wakes = wakes.map(|(index, replica)| Reverse((replica.wake_ns, index as u32)));
        self.wakes = wakes.filter(|Reverse((wake_ns, _))| *wake_ns < u64::MAX).collect();
        replica.work
    }

    pub(crate) fn count(&self) -> Replicas {
        let count = |phase| self.replicas.iter().filter(|r| r.phase == phase).count() as u32;
        Replicas {
            serving: count(Phase::Serving),
            loading: count(Phase::Loading),
            draining: count(Phase::Draining),
        }
    }
}
