//! Batches as a cell: advancing, replicas that come and go, and summaries.

use super::Batch;
use super::cache::Cache;
use super::replica::{Limit, Queue};
use crate::arrivals::Arrivals;
use crate::{Answer, Cell, Replicas, Summary};

impl Cell for Batch {
    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn advance(&mut self, until_ns: u64) {
        loop {
            let (wake_ns, index) = self.fleet.next();
            let arrival_ns = self.traffic.next_ns();
            let next_ns = wake_ns.min(arrival_ns);
            if next_ns > until_ns || next_ns == u64::MAX {
                break;
            }
            // What ends makes room for what comes at the same moment.
            if wake_ns <= arrival_ns {
                if self.fleet.pop() {
                    self.now_ns = wake_ns;
                    self.wake(index);
                }
            } else if let Some(request) = self.traffic.next() {
                self.now_ns = self.now_ns.max(arrival_ns);
                self.arrive(request);
            }
        }
        if until_ns < u64::MAX {
            self.now_ns = self.now_ns.max(until_ns);
        }
    }

    fn set_replicas(&mut self, at_ns: u64, count: u32) {
        self.advance(at_ns);
        let now_ns = self.now_ns;
        for _ in count..self.fleet.staying() {
            self.fleet.drain_one(now_ns, &mut self.tally);
        }
        for _ in self.fleet.staying()..count {
            let work = Queue::new(now_ns + self.fleet.load_ns, Limit::new(self.batcher));
            self.fleet.add(now_ns, work, &mut self.tally);
        }
        // Without a load time they serve at once.
        self.advance(now_ns);
    }

    fn lose_replicas(&mut self, at_ns: u64, count: u32) {
        self.advance(at_ns);
        let mut orphans = Vec::new();
        for _ in 0..count {
            let Some(work) = self.fleet.lose_one(self.now_ns, &mut self.tally) else { break };
            self.tally.busy(self.now_ns, -i64::from(work.running > 0));
            orphans.extend(work.queue);
        }
        orphans.sort_by_key(|waiting| waiting.at_ns);
        self.tally.summary.restarted += orphans.len() as u64;
        for waiting in orphans {
            let to = self.fleet.route(self.router);
            self.join(waiting, to);
        }
    }

    fn replicas(&self) -> Replicas {
        self.fleet.count()
    }

    fn look(&mut self) -> Summary {
        let works = || self.fleet.replicas.iter().map(|replica| &replica.work);
        let running = works().map(|work| u64::from(work.running)).sum();
        let waiting = works().map(|work| u64::from(work.waiting())).sum::<u64>();
        let followers = self.cache.as_ref().map_or(0, Cache::followers);
        self.tally.look(self.now_ns, waiting + followers + self.front.len() as u64, running)
    }

    fn next_ns(&self) -> Option<u64> {
        let next = self.fleet.next().0.min(self.traffic.next_ns());
        (next < u64::MAX).then_some(next)
    }

    fn keep_answers(&mut self) {
        self.tally.keep_answers();
    }

    fn answers(&self) -> &[Answer] {
        self.tally.answers()
    }
}
