//! A world that runs the rounds itself, as Gavel's published simulator does: work is handed out in
//! whole units for a round, a round is over when the last of it is done, jobs that finish earlier
//! leave their GPUs idle until then, and jobs join at its end. Its clock counts seconds in floating
//! point, because that is what breaks ties in the published results; the engine's clock follows it
//! to the microsecond.

use crate::record::Outcome;
use crate::simulation::Simulation;
use heeler_engine::{Phase, PythonRandom};
use heeler_model::{Event, Exit, Generation, JobId, KindId, Time};
use std::collections::{BTreeMap, BTreeSet};

/// A job is given up after so many rounds in a row without progress.
const FAILURES_MAX: u32 = 5;

/// A round that is short of its length by this is still a full one.
const FULL_WITHIN_S: f64 = 5.0;

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
    /// Who is in the round that runs, and who was in the one before, once there was one.
    running: Option<BTreeSet<JobId>>,
    before: Option<BTreeSet<JobId>>,
    /// Seconds booked for jobs that are not done, where the world asks for it.
    ran_s: BTreeMap<JobId, f64>,
    failures: BTreeMap<JobId, u32>,
    shuffle: Option<PythonRandom>,
    /// Rounds in a row in which nothing happened at all.
    stalled: u32,
}

impl Rounds {
    pub(crate) fn new(seed: Option<u32>) -> Rounds {
        let shuffle = seed.map(PythonRandom::new);
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
        self.book_round(length_s);
        self.look_for_batches();
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
    fn book_round(&mut self, length_s: f64) {
        let mut handed = std::mem::take(&mut self.rounds.handed);
        handed.sort_by(|a, b| b.finish_s.total_cmp(&a.finish_s).then(a.job.cmp(&b.job)));
        for one in handed {
            let (units, seconds) = self.less_restart(&one, length_s);
            let Handed { job, kind, finish_s, .. } = one;
            let gpus = f64::from(self.records[job].gpus.max(1));
            // Units are dealt out to the GPUs; a GPU that gets none makes the whole round fail.
            let each = (units / gpus).floor();
            let last = units - each * (gpus - 1.0);
            let idles = last <= 0.0 || (gpus > 1.0 && each <= 0.0);
            let fails = match self.world.quirks.idle_parts_pass {
                true => idles && seconds <= 0.0,
                false => idles || seconds <= 0.0,
            };
            let over = self.has_run_long(job, seconds);
            if fails {
                self.engine.observe(self.now, Event::Ran { job, kind, seconds: 0.0 });
                self.round_failed(job, finish_s);
                continue;
            }
            self.rounds.failures.remove(&job);
            self.engine.observe(self.now, Event::Ran { job, kind, seconds });
            let rate = self.round_rate(job, kind);
            let record = &mut self.records[job];
            record.useful_milli += units / rate * 1e6 * record.milli;
            record.done += units;
            let ends = record.work - record.done <= 0.0 || over;
            if !ends {
                self.change_batch(job, kind);
            }
            let record = &self.records[job];
            let (generation, done) = (Generation(record.generation), record.done);
            let progress = Event::Progress { job, generation, done, from: self.now, pace: 0.0 };
            self.engine.observe(self.now, progress);
            if ends {
                self.round_finished(job, finish_s);
            }
        }
    }

    /// What a round came to for a job, less what starting again cost it.
    fn less_restart(&self, handed: &Handed, length_s: f64) -> (f64, f64) {
        let (units, seconds) = (handed.units, handed.finish_s - self.rounds.start_s);
        let Some(restart_s) = self.world.quirks.restart_in_round_s else {
            return (units, seconds);
        };
        let stood = self.rounds.before.as_ref().is_some_and(|ran| !ran.contains(&handed.job));
        if !stood || seconds <= length_s - FULL_WITHIN_S {
            return (units, seconds);
        }
        let left_s = seconds - restart_s;
        ((units * (left_s / seconds)).trunc(), left_s)
    }

    /// Whether a job has run so long that it counts as done, whatever is left.
    fn has_run_long(&mut self, job: JobId, seconds: f64) -> bool {
        let Some(times) = self.world.quirks.done_after_alone else { return false };
        let ran = self.rounds.ran_s.entry(job).or_default();
        *ran += seconds;
        *ran > (self.records[job].alone.secs_f64() * times).trunc()
    }

    fn round_finished(&mut self, job: JobId, finish_s: f64) {
        self.rounds.ran_s.remove(&job);
        self.phasing.remove(&job);
        let record = &mut self.records[job];
        record.ended = Some(Time::from_secs_f64(finish_s));
        record.outcome = Outcome::Finished;
        self.watch.leaves(&mut self.records[job]);
        self.release(job, Exit::Finished);
    }

    /// Units per second of a job on a kind of GPU: as measured or, of one of which nothing was, as
    /// fast as that kind is.
    fn round_rate(&self, job: JobId, kind: KindId) -> f64 {
        if let Some(phased) = self.phasing.get(&job) {
            return phased.rate(kind);
        }
        let spec = &self.engine.state().job(job).spec;
        if spec.rates().is_empty() {
            let speed = self.engine.state().fleet().cluster().kinds[kind.index()].speed.0;
            return spec.nominal_pace * 1e6 * f64::from(speed) / 1000.0;
        }
        spec.rates().get(kind.index()).copied().unwrap_or(0.0)
    }

    fn round_failed(&mut self, job: JobId, finish_s: f64) {
        let failures = self.rounds.failures.entry(job).or_default();
        *failures += 1;
        if *failures == FAILURES_MAX && self.world.quirks.idle_parts_pass {
            self.round_finished(job, finish_s);
        } else if *failures == FAILURES_MAX {
            self.records[job].outcome = Outcome::Dropped;
            self.watch.leaves(&mut self.records[job]);
            self.release(job, Exit::Failed);
        }
    }

    /// Jobs that share GPUs have their work booked together, when the last of them is done.
    fn end_together(&self, handed: &mut [Handed]) {
        let finishes: BTreeMap<JobId, f64> =
            handed.iter().map(|handed| (handed.job, handed.finish_s)).collect();
        for one in handed {
            let on = self.engine.state().job(one.job).assignment.as_ref();
            let others = on.map(|on| self.beside(one.job, on)).unwrap_or_default();
            let last = others.iter().filter_map(|other| finishes.get(other)).copied();
            one.finish_s = last.fold(one.finish_s, f64::max);
        }
    }

    /// Hand out whole units for the next round.
    fn hand_out(&mut self, length_s: f64) {
        let mut handed = Vec::new();
        for job in self.engine.state().jobs().iter().filter(|job| job.phase == Phase::Running) {
            let on = job.assignment.as_ref().expect("a running job is placed");
            let Some(slice) = on.placement.slices().first() else { continue };
            let kind = self.cluster.nodes[slice.node.index()].kind;
            let rate = self.round_rate(job.id, kind) * self.pace_beside(job.id, on);
            let record = &self.records[job.id];
            let units = (rate * length_s).trunc().min(record.work - record.done);
            // A job may have done more than all when it counts its steps anew.
            let finish_s = self.rounds.clock_s + (units / rate).max(0.0);
            handed.push(Handed { job: job.id, kind, units, finish_s });
        }
        self.end_together(&mut handed);
        let running = handed.iter().map(|handed| handed.job).collect();
        self.rounds.before = self.rounds.running.replace(running);
        self.rounds.handed = handed;
    }
}
