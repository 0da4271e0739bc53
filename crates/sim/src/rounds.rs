//! A world that runs the rounds itself, as Gavel's published simulator does: work is handed out in
//! whole units for a round, a round is over when the last of it is done, jobs that finish earlier
//! leave their GPUs idle until then, and jobs join at its end. Its clock counts seconds in floating
//! point, because that is what breaks ties in the published results; the engine's clock follows it
//! to the microsecond.

use crate::record::Outcome;
use crate::simulation::Simulation;
use heeler_engine::Phase;
use heeler_model::{Event, Exit, Generation, JobId, KindId, Time};
use std::collections::BTreeMap;

/// A job is given up after so many rounds in a row without progress.
const FAILURES_MAX: u32 = 5;

/// Units handed out to a job for a round.
#[derive(Clone, Copy, Debug)]
struct Handed {
    job: JobId,
    kind: KindId,
    units: f64,
    finish_s: f64,
}

/// The rounds so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rounds {
    clock_s: f64,
    /// Since when service is booked: the end of the round before the last.
    start_s: f64,
    end_s: Option<f64>,
    handed: Vec<Handed>,
    failures: BTreeMap<JobId, u32>,
    shuffle: Option<crate::workload::PythonRandom>,
    /// Rounds in a row in which nothing happened at all.
    stalled: u32,
}

impl Rounds {
    pub(crate) fn new(seed: Option<u32>) -> Rounds {
        let shuffle = seed.map(crate::workload::PythonRandom::new);
        Rounds { shuffle, ..Rounds::default() }
    }
}

impl Simulation {
    /// One round: book the last, let jobs join, decide, hand out work. Says whether to go on.
    pub(crate) fn advance_round(&mut self, length_s: f64, until: Time) -> bool {
        if self.is_over() || self.rounds.stalled > 1 {
            return false;
        }
        let ran = !self.rounds.handed.is_empty();
        let arrival = self.next.as_ref().map(|job| job.submit);
        if !self.turn_the_clock(arrival, until) {
            return false;
        }
        self.book_round();
        while self.next.as_ref().is_some_and(|job| job.submit <= self.now) {
            let job = self.next.take().expect("checked a line above");
            self.next = self.arrivals.next_job();
            self.submit(job);
        }
        let stalled = !ran && self.next.is_none();
        self.rounds.stalled = if stalled { self.rounds.stalled + 1 } else { 0 };
        let mut offer: Vec<KindId> = (0..self.cluster.kinds.len() as u8).map(KindId).collect();
        offer.retain(|kind| self.cluster.gpus_of(*kind) > 0);
        if let Some(random) = &mut self.rounds.shuffle {
            random.shuffle(&mut offer);
        }
        let clock = self.rounds.clock_s;
        self.engine.observe(self.now, Event::RoundOver { clock, offer, stalled });
        self.decide();
        self.hand_out(length_s);
        true
    }

    /// The round that ran is over when its last work is done; an idle world waits for a job.
    fn turn_the_clock(&mut self, arrival: Option<Time>, until: Time) -> bool {
        let last = self.rounds.handed.iter().map(|handed| handed.finish_s).reduce(f64::max);
        let clock_s = match (last, arrival) {
            (Some(last), _) => last,
            (None, Some(arrival)) => arrival.micros() as f64 / 1e6,
            (None, None) => self.rounds.clock_s,
        };
        let now = Time::from_secs_f64(clock_s).max(self.now);
        if now > until {
            return false;
        }
        if last.is_some() {
            if let Some(end) = self.rounds.end_s {
                self.rounds.start_s = end;
            }
            self.rounds.end_s = Some(clock_s);
        }
        self.rounds.clock_s = clock_s;
        self.now = now;
        self.watch.until(now);
        true
    }

    /// Book the work of the round that is over, what finished last first.
    fn book_round(&mut self) {
        let mut handed = std::mem::take(&mut self.rounds.handed);
        handed.sort_by(|a, b| b.finish_s.total_cmp(&a.finish_s).then(a.job.cmp(&b.job)));
        for Handed { job, kind, units, finish_s } in handed {
            let seconds = finish_s - self.rounds.start_s;
            let gpus = f64::from(self.records[job].gpus.max(1));
            // Units are dealt out to the GPUs; a GPU that gets none makes the whole round fail.
            let each = (units / gpus).floor();
            let last = units - each * (gpus - 1.0);
            if seconds <= 0.0 || last <= 0.0 || (gpus > 1.0 && each <= 0.0) {
                self.round_failed(job);
                continue;
            }
            self.rounds.failures.remove(&job);
            self.engine.observe(self.now, Event::Ran { job, kind, seconds });
            let record = &mut self.records[job];
            let rate = self.engine.state().job(job).spec.rates()[kind.index()];
            record.useful_milli += units / rate * 1e6 * f64::from(record.milli);
            record.done += units;
            let (generation, done) = (Generation(record.generation), record.done);
            let progress = Event::Progress { job, generation, done, from: self.now, pace: 0.0 };
            self.engine.observe(self.now, progress);
            let record = &mut self.records[job];
            if record.work - record.done <= 0.0 {
                record.ended = Some(Time::from_secs_f64(finish_s));
                record.outcome = Outcome::Finished;
                self.watch.leaves(&mut self.records[job]);
                self.release(job, Exit::Finished);
            }
        }
    }

    fn round_failed(&mut self, job: JobId) {
        let failures = self.rounds.failures.entry(job).or_default();
        *failures += 1;
        if *failures == FAILURES_MAX {
            self.records[job].outcome = Outcome::Dropped;
            self.watch.leaves(&mut self.records[job]);
            self.release(job, Exit::Failed);
        }
    }

    /// Hand out whole units for the next round.
    fn hand_out(&mut self, length_s: f64) {
        let mut handed = Vec::new();
        for job in self.engine.state().jobs().iter().filter(|job| job.phase == Phase::Running) {
            let on = job.assignment.as_ref().expect("a running job is placed");
            let Some(slice) = on.placement.slices().first() else { continue };
            let kind = self.cluster.nodes[slice.node.index()].kind;
            let rate = job.spec.rates().get(kind.index()).copied().unwrap_or(0.0);
            let record = &self.records[job.id];
            let units = (rate * length_s).trunc().min(record.work - record.done);
            let finish_s = self.rounds.clock_s + units / rate;
            handed.push(Handed { job: job.id, kind, units, finish_s });
        }
        self.rounds.handed = handed;
    }
}
