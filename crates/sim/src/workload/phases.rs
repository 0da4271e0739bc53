//! What only the world knows of a job that changes its batch on the way: how it counts and runs
//! with each, and at which epochs it changes. The engine hears of a change when it has happened.

use serde::Serialize;

/// How a job counts and runs with a batch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stage {
    /// Examples of a step.
    pub batch: u32,
    /// Steps of an epoch.
    pub steps: f64,
    /// Steps per second on each kind of GPU, by kind.
    pub rates: Vec<f64>,
}

/// How a job gets from one batch to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Change {
    /// To the one that is due.
    AtOnce,
    /// To the next larger one, as soon as the epoch or the one after it is due a larger one.
    StepByStep,
}

/// The batches that a job goes through.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Phases {
    /// Epochs in all.
    pub epochs: u32,
    /// Its batches; it begins with the first.
    pub stages: Vec<Stage>,
    /// From which epoch on which batch is due, by their index; earliest first.
    pub due: Vec<(u32, usize)>,
    /// How it gets from one to another.
    pub change: Change,
    /// Seconds that it runs alone, as its profile has it.
    pub alone_s: f64,
}

impl Phases {
    /// The batch that is due in an epoch.
    fn due_in(&self, epoch: u32) -> usize {
        let after = self.due.partition_point(|(from, _)| *from <= epoch);
        after.checked_sub(1).map_or(0, |last| self.due[last].1)
    }

    /// The batch that a job changes to which has done so many epochs with another.
    pub fn next(&self, epoch: u32, stage: usize) -> Option<usize> {
        match self.change {
            Change::AtOnce => Some(self.due_in(epoch)).filter(|due| *due != stage),
            Change::StepByStep => {
                let due = self.due_in(epoch).max(self.due_in(epoch + 1));
                (due > stage).then_some(stage + 1)
            }
        }
    }

    /// The first epoch after this one with which a job that went by what is due would change.
    pub fn changes_after(&self, epoch: u32) -> Option<u32> {
        let stage = self.due_in(epoch);
        let later = self.due.iter().find(|(from, due)| *from > epoch && *due != stage);
        later.map(|(from, _)| *from).filter(|from| *from < self.epochs)
    }

    /// The batch that is due in an epoch, for worlds where jobs change in time.
    pub fn stage_in(&self, epoch: u32) -> usize {
        self.due_in(epoch)
    }

    /// Seconds of an epoch with a batch on a kind of GPU.
    pub fn epoch_s(&self, stage: usize, kind: usize) -> Option<f64> {
        let stage = self.stages.get(stage)?;
        let rate = stage.rates.get(kind).copied().filter(|rate| *rate > 0.0)?;
        Some(stage.steps / rate)
    }

    /// How fast a job gets through its epochs with a batch, compared with its first.
    pub fn speed(&self, stage: usize, kind: usize) -> f64 {
        match (self.epoch_s(0, kind), self.epoch_s(stage, kind)) {
            (Some(first), Some(now)) => first / now,
            _ => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phases(change: Change, due: &[(u32, usize)]) -> Phases {
        let stage = |batch: u32, rate: f64| Stage {
            batch,
            steps: 1000.0 / f64::from(batch),
            rates: vec![rate],
        };
        let stages = vec![stage(10, 2.0), stage(20, 2.0), stage(40, 1.0)];
        Phases { epochs: 40, stages, due: due.to_vec(), change, alone_s: 0.0 }
    }

    #[test]
    fn batches_grow_one_step_at_a_time_and_an_epoch_ahead() {
        let phases = phases(Change::StepByStep, &[(0, 0), (10, 1), (20, 2)]);
        assert_eq!([8, 9, 10].map(|epoch| phases.next(epoch, 0)), [None, Some(1), Some(1)]);
        assert_eq!(phases.next(25, 0), Some(1), "not two at once");
        assert_eq!(phases.next(25, 2), None);
    }

    #[test]
    fn batches_go_up_and_down_where_that_is_due() {
        let phases = phases(Change::AtOnce, &[(0, 0), (10, 2), (30, 0)]);
        assert_eq!([9, 10, 30].map(|epoch| phases.next(epoch, 0)), [None, Some(2), None]);
        assert_eq!(phases.next(30, 2), Some(0));
        assert_eq!(
            [0, 10, 30].map(|epoch| phases.changes_after(epoch)),
            [Some(10), Some(30), None]
        );
        assert_eq!([0, 1, 2].map(|stage| phases.speed(stage, 0)), [1.0, 2.0, 2.0]);
    }
}
