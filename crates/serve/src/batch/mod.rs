//! Requests in batches: a queue and a batcher for each replica, a router before them, and a cache
//! before that, as in Clipper (NSDI 2017). Only the ends of batches are events.

mod cache;
mod card;
mod cell;
mod replica;
#[cfg(test)]
mod tests;

pub use card::{BatchCard, BatcherCard, LatencyCard, RouterCard};

use crate::arrivals::{Request, Traffic};
use crate::card::Setting;
use crate::fleet::{Fleet, Phase};
use crate::ms_to_ns;
use crate::random::draws;
use crate::tally::Tally;
use cache::{Cache, Known};
use replica::{Latencies, Queue, Waiting};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A cell of models that answer in batches.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Batch {
    target_ns: u64,
    latencies: Latencies,
    noise_cv: f64,
    batcher: BatcherCard,
    delay_ns: u64,
    router: RouterCard,
    admit: bool,
    expire: bool,
    cache: Option<Cache>,
    traffic: Traffic,
    now_ns: u64,
    fleet: Fleet<Queue>,
    /// Came while no replica served.
    front: VecDeque<Waiting>,
    tally: Tally,
}

impl Batch {
    /// A cell without replicas.
    pub fn new(card: &BatchCard, traffic: Traffic, setting: Setting) -> Batch {
        Batch {
            target_ns: ms_to_ns(card.target_ms),
            latencies: Latencies::new(card.latency.clone()),
            noise_cv: card.noise_cv,
            batcher: card.batcher,
            delay_ns: ms_to_ns(card.delay_ms),
            router: card.router,
            admit: card.admit,
            expire: card.expire,
            cache: (card.cache > 0).then(|| Cache::new(card.cache)),
            traffic,
            now_ns: setting.from_ns,
            fleet: Fleet::new(setting),
            front: VecDeque::new(),
            tally: Tally::new(setting.from_ns),
        }
    }

    /// How large a batch each replica would take now, before that is made whole.
    pub fn caps(&self) -> impl Iterator<Item = f64> {
        self.fleet.replicas.iter().map(|replica| replica.work.limit.size)
    }

    /// A request comes.
    #[inline]
    fn arrive(&mut self, request: Request) {
        self.tally.summary.arrived += 1;
        let Request { at_ns, key, .. } = request;
        if let Some(cache) = &mut self.cache {
            match cache.ask(key, at_ns) {
                Known::Answer => {
                    self.tally.summary.cache_hits += 1;
                    self.tally.answer(at_ns, at_ns, self.target_ns);
                    return;
                }
                Known::UnderWay => {
                    self.tally.summary.merged += 1;
                    return;
                }
                Known::Nothing => {}
            }
        }
        let to = self.fleet.route(self.router);
        if self.admit && to.is_some_and(|index| self.predict(index) > at_ns + self.target_ns) {
            self.tally.summary.rejected += 1;
            return;
        }
        if let Some(cache) = &mut self.cache {
            cache.begin(key);
        }
        self.join(Waiting { at_ns, key }, to);
    }

    /// A request joins the queue of a replica, or waits until there is one.
    #[inline]
    fn join(&mut self, waiting: Waiting, to: Option<usize>) {
        let Some(index) = to else {
            self.front.push_back(waiting);
            return;
        };
        let work = &mut self.fleet.replicas[index].work;
        work.queue.push_back(waiting);
        if work.running == 0 {
            self.start(index);
        } else {
            work.estimate(&mut self.latencies);
        }
    }

    /// When a request would be answered that came to this replica now: at the latest if batches
    /// take as long as they should.
    fn predict(&mut self, index: usize) -> u64 {
        let work = &self.fleet.replicas[index].work;
        if work.queue.is_empty() && self.delay_ns == 0 {
            return self.now_ns + self.latencies.of(1);
        }
        let cap = work.limit.cap();
        let batches = u64::from(work.waiting() / cap) + 1;
        let begin = work.end_ns.max(self.now_ns + self.delay_ns);
        begin + batches * self.latencies.of(cap)
    }

    /// Let a replica that does nothing begin a batch, or wait for more requests.
    #[inline]
    fn start(&mut self, index: usize) {
        let now_ns = self.now_ns;
        if self.expire {
            self.drop_expired(index);
        }
        let replica = &mut self.fleet.replicas[index];
        let work = &mut replica.work;
        let size = work.waiting().min(work.limit.cap());
        let due_ns = work.queue.front().map_or(0, |first| first.at_ns + self.delay_ns);
        let mut wake_ns = u64::MAX;
        if size > 0 && self.delay_ns > 0 && size < work.limit.cap() && due_ns > now_ns {
            wake_ns = due_ns;
        } else if size > 0 {
            let mut span = self.latencies.of(size);
            if self.noise_cv > 0.0 {
                let mut draws = draws(self.fleet.key, replica.number, work.batches);
                span = (span as f64 * draws.log_normal(self.noise_cv)) as u64;
            }
            work.running = size;
            work.batches += 1;
            work.since_ns = now_ns;
            work.end_ns = now_ns + span;
            wake_ns = work.end_ns;
            self.tally.busy(now_ns, 1);
            self.tally.summary.batch_sizes.add(u64::from(size));
        }
        work.estimate(&mut self.latencies);
        self.fleet.wake_at(index, wake_ns);
    }

    /// Drop the requests that are late already from the head of a queue.
    fn drop_expired(&mut self, index: usize) {
        let queue = &mut self.fleet.replicas[index].work.queue;
        let late = |first: &mut Waiting| first.at_ns + self.target_ns <= self.now_ns;
        while let Some(first) = queue.pop_front_if(late) {
            self.tally.summary.expired += 1;
            let cache = self.cache.as_mut();
            if let Some(at_ns) = cache.and_then(|cache| cache.succeed(first.key)) {
                queue.push_front(Waiting { at_ns, key: first.key });
            }
        }
    }

    /// Something happens on a replica.
    #[inline]
    fn wake(&mut self, index: usize) {
        let replica = &self.fleet.replicas[index];
        if replica.phase == Phase::Loading {
            if self.fleet.serve(index, self.now_ns) {
                self.share_out();
            }
        } else if replica.work.running > 0 {
            self.end(index);
        } else {
            self.start(index);
        }
    }

    /// The end of a batch.
    #[inline]
    fn end(&mut self, index: usize) {
        let now_ns = self.now_ns;
        let work = &mut self.fleet.replicas[index].work;
        let size = work.running;
        work.running = 0;
        work.limit.learn(size, now_ns - work.since_ns);
        for done in work.queue.drain(..size as usize) {
            self.tally.answer(done.at_ns, now_ns, self.target_ns);
            if let Some(cache) = &mut self.cache {
                for at_ns in cache.answer(done.key) {
                    self.tally.answer(at_ns, now_ns, self.target_ns);
                }
            }
        }
        self.tally.busy(now_ns, -1);
        self.start(index);
        self.fleet.retire(index, now_ns, &mut self.tally);
    }

    /// Route the requests that have waited for a replica.
    fn share_out(&mut self) {
        for waiting in std::mem::take(&mut self.front) {
            let to = self.fleet.route(self.router);
            self.join(waiting, to);
        }
    }
}
