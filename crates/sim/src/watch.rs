//! The simulation's eyes: what is in use, who waits, and how a fair share would have looked.

use crate::record::Record;
use crate::timeline::{Level, Timeline};
use heeler_model::{Assignment, Cluster, JobId, NodeId, Placement, Time};
use std::collections::BTreeMap;

/// A job on some GPUs for some time.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// The job.
    pub job: JobId,
    /// Which GPUs.
    pub placement: Placement,
    /// From when.
    pub from: Time,
    /// Until when.
    pub until: Time,
}

/// At most so many segments are kept.
const SEGMENTS_MAX: usize = 200_000;

/// Watches a simulation.
#[derive(Clone, Debug)]
pub struct Watch {
    level: Level,
    timeline: Timeline,
    last: Time,
    /// Jobs that are not done.
    active: u64,
    /// All GPUs.
    gpus: f64,
    /// Job-microseconds so far.
    contention: f64,
    /// Microseconds of progress an equal share would have given so far, by size.
    equal_share: BTreeMap<u32, f64>,
    segments: Option<Vec<Segment>>,
    open: BTreeMap<JobId, (Placement, Time)>,
}

impl Watch {
    pub(crate) fn new(cluster: &Cluster) -> Watch {
        let gpus = cluster.gpus();
        let there_milli = u64::from(gpus) * 1000;
        Watch {
            level: Level { there_milli, ..Level::default() },
            timeline: Timeline::default(),
            last: Time::ZERO,
            active: 0,
            gpus: f64::from(gpus),
            contention: 0.0,
            equal_share: BTreeMap::new(),
            segments: None,
            open: BTreeMap::new(),
        }
    }

    pub(crate) fn keep_segments(&mut self) {
        self.segments = Some(Vec::new());
    }

    /// Time has passed.
    pub(crate) fn until(&mut self, now: Time) {
        let span = now.since(self.last).micros() as f64;
        if span == 0.0 {
            return;
        }
        if self.active > 0 {
            let active = self.active as f64;
            self.contention += active * span;
            for (size, share) in &mut self.equal_share {
                // Each job's equal part of the cluster, and no more than it can use.
                *share += span * (self.gpus / (active * f64::from((*size).max(1)))).min(1.0);
            }
        }
        self.timeline.add(now, &self.level);
        self.last = now;
    }

    pub(crate) fn joins(&mut self, record: &mut Record) {
        self.active += 1;
        record.contention = self.contention;
        record.equal_share = *self.equal_share.entry(record.gpus).or_insert(0.0);
    }

    pub(crate) fn leaves(&mut self, record: &mut Record) {
        self.active -= 1;
        record.contention = self.contention - record.contention;
        record.equal_share = self.equal_share[&record.gpus] - record.equal_share;
    }

    pub(crate) fn takes(&mut self, job: JobId, on: &Assignment, now: Time) {
        self.level.busy_milli += on.milli();
        if self.segments.is_some() {
            self.open.insert(job, (on.placement.clone(), now));
        }
    }

    pub(crate) fn frees(&mut self, job: JobId, milli: u32, now: Time) {
        self.level.busy_milli -= u64::from(milli);
        let Some(segments) = &mut self.segments else { return };
        if let Some((placement, from)) = self.open.remove(&job)
            && from < now
            && segments.len() < SEGMENTS_MAX
        {
            segments.push(Segment { job, placement, from, until: now });
        }
    }

    pub(crate) fn node(&mut self, cluster: &Cluster, node: NodeId, up: bool) {
        let milli = u64::from(cluster.nodes[node.index()].gpus) * 1000;
        match up {
            true => self.level.there_milli += milli,
            false => self.level.there_milli -= milli,
        }
    }

    pub(crate) fn counts(&mut self, waiting: usize, running: usize) {
        self.level.waiting = waiting as u64;
        self.level.running = running as u64;
    }

    pub(crate) fn level(&self) -> Level {
        self.level
    }

    pub(crate) fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// Who ran where, in the order the segments ended; empty unless they were kept.
    pub fn segments(&self) -> &[Segment] {
        self.segments.as_deref().unwrap_or(&[])
    }
}
