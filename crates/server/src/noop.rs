//! A world without processes: jobs start at once and end well after a given time. For measuring
//! the control plane itself, and for trying it where nothing may be run.

use heeler_backend::{Backend, Ending, Expected, Inventory, Launch, Order, Sign, Tell, Way};
use heeler_model::{Cluster, Generation, JobId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// A variable of a job's environment that says how many milliseconds it runs.
pub const RUNS_MS: &str = "NOOP_MS";

/// A world without processes.
pub struct Noop {
    inventory: Inventory,
    to: Sender<Command>,
}

enum Command {
    Do(Order),
    Adopt(Vec<Expected>),
}

impl Noop {
    /// A world of these nodes, in which jobs run so long unless they say otherwise by
    /// [`RUNS_MS`].
    pub fn new(cluster: Cluster, runs: Duration, tell: Tell) -> Noop {
        let (to, from) = channel();
        let player = Player { from, tell, runs, due: BTreeSet::new(), running: BTreeMap::new() };
        std::thread::spawn(move || player.run());
        let inventory = Inventory { cluster, emulated: true, ..Inventory::default() };
        Noop { inventory, to }
    }
}

impl Backend for Noop {
    fn inventory(&self) -> Inventory {
        self.inventory.clone()
    }

    fn adopt(&mut self, expected: Vec<Expected>) {
        // The thread lives as long as this does.
        let _ = self.to.send(Command::Adopt(expected));
    }

    fn carry_out(&mut self, order: Order) {
        let _ = self.to.send(Command::Do(order));
    }

    fn readings(&mut self) -> Vec<Vec<BTreeMap<String, f64>>> {
        Vec::new()
    }
}

struct Player {
    from: Receiver<Command>,
    tell: Tell,
    runs: Duration,
    due: BTreeSet<(Instant, JobId, Generation)>,
    running: BTreeMap<JobId, (Generation, Instant, Launch)>,
}

impl Player {
    fn run(mut self) {
        loop {
            let now = Instant::now();
            while let Some((at, job, generation)) = self.due.first().copied() {
                if at > now {
                    break;
                }
                self.due.pop_first();
                self.end(job, generation, Ending::Exited { code: 0 });
            }
            let wait = self.due.first().map(|(at, ..)| at.saturating_duration_since(now));
            let wait = wait.unwrap_or(Duration::from_secs(3_600));
            match self.from.recv_timeout(wait) {
                Ok(Command::Do(order)) => self.order(order),
                Ok(Command::Adopt(expected)) => self.adopt(expected),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn order(&mut self, order: Order) {
        match order {
            Order::Start(launch) => self.start(*launch),
            Order::Stop { job, generation } => self.stop(job, generation),
            Order::End { job, generation, .. } => {
                self.end(job, generation, Ending::Killed { signal: 15, out_of_memory: false });
            }
            Order::Signal { .. } => {}
            Order::Forget { job } => {
                self.running.remove(&job);
            }
            Order::Lose { node } => {
                let on = |launch: &Launch| {
                    launch.assignment.placement.slices().iter().any(|slice| slice.node == node)
                };
                let lost = self.running.iter().filter(|(_, (_, _, launch))| on(launch));
                let lost: Vec<_> =
                    lost.map(|(job, (generation, ..))| (*job, *generation)).collect();
                for (job, generation) in lost {
                    self.end(job, generation, Ending::Lost);
                }
            }
        }
    }

    fn start(&mut self, launch: Launch) {
        let (job, generation) = (launch.job, launch.generation);
        let said = launch.env.get(RUNS_MS).and_then(|ms| ms.parse().ok());
        let until = Instant::now() + said.map_or(self.runs, Duration::from_millis);
        self.due.insert((until, job, generation));
        self.running.insert(job, (generation, until, launch));
        (self.tell)(Sign::Started { job, generation, took_ms: 0, resumed: false });
    }

    fn stop(&mut self, job: JobId, generation: Generation) {
        if self.take(job, generation) {
            (self.tell)(Sign::Stopped { job, generation, way: Way::Requeued, took_ms: 0 });
        }
    }

    fn end(&mut self, job: JobId, generation: Generation, ending: Ending) {
        if self.take(job, generation) {
            (self.tell)(Sign::Ended { job, generation, ending, ago_ms: 0 });
        }
    }

    /// Take a job off, if this assignment of it runs.
    fn take(&mut self, job: JobId, generation: Generation) -> bool {
        match self.running.get(&job) {
            Some((current, until, _)) if *current == generation => {
                self.due.remove(&(*until, job, generation));
                self.running.remove(&job);
                true
            }
            _ => false,
        }
    }

    /// Nothing outlives the server here: all starts anew.
    fn adopt(&mut self, expected: Vec<Expected>) {
        for expected in expected {
            match expected {
                Expected::Runs(launch) => self.start(*launch),
                Expected::Stops(launch) => {
                    let (job, generation) = (launch.job, launch.generation);
                    let way = Way::Requeued;
                    (self.tell)(Sign::Stopped { job, generation, way, took_ms: 0 });
                }
                Expected::Ends(launch) => {
                    let ending = Ending::Lost;
                    let (job, generation) = (launch.job, launch.generation);
                    (self.tell)(Sign::Ended { job, generation, ending, ago_ms: 0 });
                }
                Expected::Sleeps { job, .. } => (self.tell)(Sign::Perished { job }),
            }
        }
    }
}
