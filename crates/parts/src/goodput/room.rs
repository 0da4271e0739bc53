//! Room: how much of each kind of GPU is left while shapes are given out one after another.

use super::rounds::Candidate;
use super::shapes::{Shape, Shapes};

/// What is left of each kind, in thousandths of GPUs.
#[derive(Clone, Debug)]
pub struct Room {
    left: Vec<u64>,
}

impl Room {
    /// All that is there, less what those have who must keep it.
    pub fn of(shapes: &Shapes, jobs: &[Candidate]) -> Room {
        let left = shapes.up().iter().map(|gpus| u64::from(*gpus) * 1000).collect();
        let mut room = Room { left };
        for candidate in jobs.iter().filter(|candidate| candidate.pinned) {
            if let Some(shape) = candidate.current {
                room.take(candidate, shape);
            }
        }
        room
    }

    fn amount(candidate: &Candidate, shape: Shape) -> u64 {
        u64::from(shape.gpus) * u64::from(candidate.job.spec.demand.share.0)
    }

    /// Whether a job has room in a shape.
    pub fn has(&self, candidate: &Candidate, shape: Shape) -> bool {
        self.left[shape.kind.index()] >= Room::amount(candidate, shape)
    }

    /// Give a job a shape; where there is not enough, nothing is left.
    pub fn take(&mut self, candidate: &Candidate, shape: Shape) {
        self.take_milli(shape, Room::amount(candidate, shape));
    }

    /// Take so many thousandths of a shape's kind.
    pub fn take_milli(&mut self, shape: Shape, milli: u64) {
        let left = &mut self.left[shape.kind.index()];
        *left = left.saturating_sub(milli);
    }

    /// Take a shape from a job again.
    pub fn give(&mut self, candidate: &Candidate, shape: Shape) {
        self.left[shape.kind.index()] += Room::amount(candidate, shape);
    }

    /// What is left of a shape's kind, thousandths.
    pub fn left(&self, shape: Shape) -> u64 {
        self.left[shape.kind.index()]
    }

    /// Whether less is left of every kind than the least that anybody takes of it.
    pub fn is_below(&self, least: &[u64]) -> bool {
        self.left.iter().zip(least).all(|(left, least)| left < least)
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.left.iter().all(|left| *left == 0)
    }
}
