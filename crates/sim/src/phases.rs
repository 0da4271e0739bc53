//! Jobs that change their batch on the way, as they run: which batch each has, and what it tells
//! the engine of that. Worlds that run the rounds themselves hand out steps and let jobs change
//! when a round is booked; elsewhere jobs change at the end of an epoch and go on at another pace.

use crate::queue::Happening;
use crate::simulation::Simulation;
use crate::workload::Phases;
use heeler_model::{Event, Generation, JobId, KindId, Report, Span};
use std::collections::BTreeMap;

/// A job that changes its batch.
#[derive(Clone, Debug)]
pub(crate) struct Phased {
    pub(crate) phases: Box<Phases>,
    /// The batch it has.
    pub(crate) stage: usize,
    /// The batch it asked for at the end of a round, to be had after its next.
    pub(crate) wants: Option<usize>,
    /// Steps in all when it was submitted.
    submitted: f64,
}

/// Those that are not done.
pub(crate) type Phasing = BTreeMap<JobId, Phased>;

impl Phased {
    pub(crate) fn new(phases: Box<Phases>, steps: f64) -> Phased {
        Phased { phases, stage: 0, wants: None, submitted: steps }
    }

    /// Steps per second now.
    pub(crate) fn rate(&self, kind: KindId) -> f64 {
        self.phases.stages[self.stage].rates.get(kind.index()).copied().unwrap_or(0.0)
    }

    /// Epochs that so many steps are, begun ones included.
    fn begun(&self, steps: f64) -> u32 {
        (steps / self.phases.stages[self.stage].steps).ceil() as u32
    }

    /// At the end of a round: whether another batch is due after so many steps.
    fn look(&mut self, steps: f64) {
        self.wants = self.phases.next(self.begun(steps), self.stage).or(self.wants);
    }

    /// Change to the batch that was asked for: steps in all and steps done, counted anew so that
    /// there are as many epochs as before.
    fn change(&mut self, work: f64, done: f64) -> Option<(f64, f64)> {
        let wants = self.wants.take().filter(|wants| *wants < self.phases.stages.len())?;
        let (before, after) = (&self.phases.stages[self.stage], &self.phases.stages[wants]);
        let epochs = (work / before.steps).ceil();
        let fewer = f64::from(before.batch) / f64::from(after.batch);
        let scaled = (work * fewer).ceil();
        let whole = after.steps * epochs;
        let work = if (scaled / after.steps).ceil() == epochs { scaled } else { whole };
        let done = f64::from(self.begun(done)) * after.steps;
        self.stage = wants;
        Some((work, done))
    }
}

impl Simulation {
    /// A round is booked for a job: it changes its batch if it asked for that before.
    pub(crate) fn change_batch(&mut self, job: JobId, kind: KindId) {
        let Some(phased) = self.phasing.get_mut(&job) else { return };
        let record = &mut self.records[job];
        if let Some((work, done)) = phased.change(record.work, record.done) {
            (record.work, record.done) = (work, done);
        }
        let stage = &phased.phases.stages[phased.stage];
        let first = phased.phases.stages[0].rates.get(kind.index()).copied().unwrap_or(0.0);
        let report = Report::Regime {
            regime: phased.stage as u32,
            epochs: (record.done / stage.steps).floor() as u32,
            pace: if first > 0.0 { phased.rate(kind) / first } else { 1.0 },
            work: record.work / phased.submitted.max(1.0),
        };
        let generation = Generation(record.generation);
        self.engine.observe(self.now, Event::Reported { job, generation, report });
    }

    /// A round is over: whoever is due another batch asks for it.
    pub(crate) fn look_for_batches(&mut self) {
        for (job, phased) in &mut self.phasing {
            phased.look(self.records[*job].done);
        }
    }

    /// How fast a job gets through its work now, compared with its first batch.
    pub(crate) fn phase_speed(&self, job: JobId, kind: KindId) -> f64 {
        let phased = self.phasing.get(&job);
        phased.map_or(1.0, |phased| phased.phases.speed(phased.stage, kind.index()))
    }

    /// Expect the end of the epoch with which a running job changes its batch, and its next loss.
    pub(crate) fn expect_change(&mut self, job: JobId) {
        self.expect_loss(job);
        let Some(phased) = self.phasing.get(&job) else { return };
        let record = &self.records[job];
        let each = record.work / f64::from(phased.phases.epochs.max(1));
        let epoch = (record.done / each + 1e-6) as u32;
        let Some(change) = phased.phases.changes_after(epoch) else { return };
        let left = (f64::from(change) * each - record.done) / record.pace;
        let at = record.from + Span::from_micros(left.ceil().max(0.0) as u64);
        self.queue.push(at, Happening::Turn(job, record.stamp));
    }

    /// An epoch is over with which a job changes its batch.
    pub(crate) fn change_phase(&mut self, job: JobId) {
        let now = self.now;
        let state = self.engine.state();
        let Some(on) = state.job(job).assignment.clone() else { return };
        let record = &mut self.records[job];
        record.useful_milli += record.useful_since_start(now);
        record.done = record.done_at(now);
        record.from = record.from.max(now);
        let phased = self.phasing.get_mut(&job).expect("only jobs with phases change them");
        let each = record.work / f64::from(phased.phases.epochs.max(1));
        let epochs = (record.done / each + 1e-6) as u32;
        phased.stage = phased.phases.stage_in(epochs);
        let regime = phased.stage as u32;
        let slices = on.placement.slices();
        let kind =
            slices.first().map_or(KindId(0), |slice| self.cluster.nodes[slice.node.index()].kind);
        let pace = phased.phases.speed(phased.stage, kind.index());
        let report = Report::Regime { regime, epochs, pace, work: 1.0 };
        let speed = self.pace_of(job, &on);
        let record = &mut self.records[job];
        record.pace = speed;
        record.stamp += 1;
        let (done, from, generation) = (record.done, record.from, Generation(record.generation));
        let finish = self.world.noticed(record.finish());
        self.queue.push(finish, Happening::Finish(job, record.stamp));
        self.expect_change(job);
        self.engine.observe(now, Event::Reported { job, generation, report });
        self.engine.observe(now, Event::Progress { job, generation, done, from, pace: speed });
    }
}
