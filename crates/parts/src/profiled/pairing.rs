//! Who may share GPUs with whom. A job that keeps its GPUs busy for little of the time leaves room
//! for another; two that are both busy do not get on. Nobody is made to share whose profile is not
//! known.

use heeler_engine::Job;
use heeler_model::Placement;
use std::collections::BTreeMap;

/// Who may share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pairing {
    /// Busy for fewer thousandths of the time, a job leaves room for any other.
    pub light_milli: u32,
    /// Busy for fewer, it leaves room for another such.
    pub heavy_milli: u32,
    /// A newcomer may be predicted to need at most so many times the service of who is there.
    pub longer: f64,
}

/// What two jobs may add up to.
const TOGETHER: u32 = 2;

/// Jobs of more GPUs have no neighbours, as published, however large nodes are.
const GPUS_MAX: u32 = 8;

impl Pairing {
    /// How much a job is in the way of another: 0, 1 or 2, if that is known.
    fn score(&self, job: &Job) -> Option<u32> {
        let busy = job.spec.busy_milli()?;
        Some(u32::from(busy >= self.light_milli) + u32::from(busy >= self.heavy_milli))
    }

    /// Whether a job can ever have a neighbour: it asks for few whole GPUs, which fit on a
    /// node, and its profile is known.
    pub(super) fn shares(&self, job: &Job, node_gpus: u32) -> bool {
        let demand = &job.spec.demand;
        let size =
            demand.share.is_whole() && (1..=node_gpus.min(GPUS_MAX)).contains(&demand.asked());
        size && self.score(job).is_some()
    }

    fn agrees(&self, new: &Job, new_key: i64, there: &Job, there_key: i64) -> bool {
        let scores = self.score(new).zip(self.score(there));
        let light = scores.is_some_and(|(one, other)| one + other <= TOGETHER);
        light && new_key as f64 <= self.longer * there_key as f64
    }
}

/// A job that has half of each of its GPUs, and nobody the other half.
#[derive(Clone, Debug)]
pub(super) struct Alone<'a> {
    pub(super) job: &'a Job,
    pub(super) key: i64,
    pub(super) placement: Placement,
}

/// Those who could be joined, by number of GPUs, in the order they started.
#[derive(Debug, Default)]
pub(super) struct Residents<'a> {
    by_gpus: BTreeMap<u32, Vec<Alone<'a>>>,
}

impl<'a> Residents<'a> {
    pub(super) fn push(&mut self, alone: Alone<'a>) {
        self.by_gpus.entry(alone.placement.gpus()).or_default().push(alone);
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Alone<'a>> {
        self.by_gpus.values().flatten()
    }

    /// The first whom a job may join, and who agrees with where there is room.
    pub(super) fn take_for(
        &mut self,
        job: &Job,
        key: i64,
        pairing: &Pairing,
        room: impl Fn(&Alone<'a>) -> bool,
    ) -> Option<Alone<'a>> {
        pairing.score(job)?;
        let there = self.by_gpus.get_mut(&job.spec.demand.asked())?;
        let first = there
            .iter()
            .position(|alone| pairing.agrees(job, key, alone.job, alone.key) && room(alone))?;
        Some(there.remove(first))
    }
}
