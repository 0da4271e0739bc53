//! The simulation's eyes: what is in use, who waits, and how a fair share would have looked.

use crate::bill::Bill;
use crate::entitled::Entitled;
use crate::neighbours::Neighbours;
use crate::power::NodeTime;
use crate::record::{Record, Records};
use crate::report::Occupancy;
use crate::timeline::{Level, Timeline};
use heeler_model::{Assignment, Cluster, JobId, Milli, NodeId, TenantId, Time};
use std::collections::BTreeMap;

/// Who runs where: what is over, in a grid of bounded size, and what goes on.
#[derive(Clone, Debug)]
struct Segments {
    over: Occupancy,
    open: BTreeMap<JobId, (Assignment, Time)>,
    /// By job.
    tenants: Vec<TenantId>,
}

impl Segments {
    /// A job no longer is where it was as it was.
    fn close(&mut self, job: JobId, now: Time) -> Option<Assignment> {
        let (on, from) = self.open.remove(&job)?;
        if from < now {
            self.over.add(job, self.tenants[job.index()], &on, from, now);
        }
        Some(on)
    }
}

/// An assignment with what is held of each GPU.
fn as_held(on: &Assignment, milli: f64) -> Assignment {
    let each = (milli / f64::from(on.gpus().max(1))).round() as u32;
    Assignment { share: Milli(each), ..on.clone() }
}

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
    segments: Option<Segments>,
    /// Thousandths of GPUs that jobs have to themselves.
    alone: u64,
    /// GPUs that several jobs are on.
    shared: u64,
    /// Microseconds of GPUs that several jobs were on.
    shared_us: f64,
    bill: Bill,
    /// What tenants are entitled to.
    pub(crate) entitled: Entitled,
    /// What became of nodes, where they may be switched off.
    pub(crate) node_time: Option<NodeTime>,
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
            alone: 0,
            shared: 0,
            shared_us: 0.0,
            bill: Bill::new(cluster),
            entitled: Entitled::new(cluster),
            node_time: None,
        }
    }

    /// Look from a time on.
    pub(crate) fn beginning_at(mut self, now: Time) -> Watch {
        self.begin(now);
        self
    }

    /// Look from a time on, or from before; nothing has happened yet.
    pub(crate) fn look_from(&mut self, at: Time) {
        self.begin(self.last.min(at));
    }

    fn begin(&mut self, now: Time) {
        self.last = now;
        self.timeline.begin(now);
        self.entitled.begin(now);
    }

    pub(crate) fn keep_segments(&mut self, cluster: &Cluster, so_far: &Records) {
        self.segments = Some(Segments {
            over: Occupancy::new(cluster),
            open: BTreeMap::new(),
            tenants: (0..so_far.used())
                .map(|job| so_far.get(JobId(job)).map_or_else(TenantId::default, |r| r.tenant))
                .collect(),
        });
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
        self.shared_us += self.shared as f64 * span;
        self.node_time.iter_mut().for_each(|nodes| nodes.pass(span));
        self.timeline.add(now, &self.level);
        self.entitled.until(now, self.level.there_milli as f64);
        self.last = now;
    }

    pub(crate) fn joins(&mut self, record: &mut Record) {
        if let Some(segments) = &mut self.segments {
            segments.tenants.push(record.tenant);
        }
        if record.serves {
            // A fair share is a job's part among jobs.
            return;
        }
        self.active += 1;
        self.entitled.wants(record.tenant, f64::from(record.gpus));
        record.contention = self.contention;
        record.equal_share = *self.equal_share.entry(record.gpus).or_insert(0.0);
    }

    pub(crate) fn leaves(&mut self, record: &mut Record) {
        if record.serves {
            return;
        }
        self.active -= 1;
        self.entitled.wants(record.tenant, -f64::from(record.gpus));
        record.contention = self.contention - record.contention;
        record.equal_share = self.equal_share[&record.gpus] - record.equal_share;
    }

    pub(crate) fn takes(&mut self, job: JobId, on: &Assignment, milli: f64, now: Time) {
        self.bill.takes(job, on, milli, now);
        if let Some(segments) = &mut self.segments {
            segments.open.insert(job, (as_held(on, milli), now));
        }
    }

    /// A job goes on where it is and holds so many thousandths of GPUs.
    pub(crate) fn holds(&mut self, job: JobId, milli: f64, now: Time) {
        self.bill.holds(job, milli, now);
        let Some(segments) = &mut self.segments else { return };
        if let Some(on) = segments.close(job, now) {
            segments.open.insert(job, (as_held(&on, milli), now));
        }
    }

    pub(crate) fn frees(&mut self, job: JobId, now: Time) {
        self.bill.frees(job, now);
        self.segments.as_mut().and_then(|segments| segments.close(job, now));
    }

    /// Jobs have so many thousandths of GPUs more to themselves, or fewer.
    pub(crate) fn alone(&mut self, more: i64) {
        self.alone = self.alone.saturating_add_signed(more);
        self.level.busy_milli = self.level.busy_milli.saturating_add_signed(more);
    }

    pub(crate) fn node(&mut self, cluster: &Cluster, node: NodeId, up: bool) {
        let milli = u64::from(cluster.nodes[node.index()].gpus) * 1000;
        match up {
            true => self.level.there_milli += milli,
            false => self.level.there_milli -= milli,
        }
    }

    pub(crate) fn shares(&mut self, neighbours: &Neighbours) {
        self.shared = neighbours.shared();
        self.level.busy_milli = self.alone + neighbours.held();
    }

    /// Microseconds of GPUs that several jobs were on.
    pub(crate) fn shared_us(&self) -> f64 {
        self.shared_us
    }

    /// What the GPUs that jobs held until a time have cost.
    pub(crate) fn cost(&self, now: Time) -> f64 {
        self.bill.total(now)
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

    /// Who ran where until now, if that was kept.
    pub(crate) fn occupancy(&self, now: Time) -> Option<Occupancy> {
        let segments = self.segments.as_ref()?;
        let mut occupancy = segments.over.clone();
        for (job, (on, from)) in &segments.open {
            if *from < now {
                occupancy.add(*job, segments.tenants[job.index()], on, *from, now);
            }
        }
        Some(occupancy)
    }
}
