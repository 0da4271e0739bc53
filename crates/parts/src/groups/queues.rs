//! Queues by GPU time that jobs have had: who has had more than a queue's limit goes to the end of
//! the next one, and in each queue those who run are in front of those who wait (discretized least
//! attained service, as in Tiresias: Gu et al., NSDI 2019).

use heeler_engine::{Job, Service, View};
use heeler_model::{JobId, Span, Time};
use serde::{Deserialize, Serialize};

/// Jobs by queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Queues {
    lines: Vec<Vec<JobId>>,
}

/// GPU time counts as if jobs had their GPUs to themselves.
fn has_had(job: &Job, limit: Span, view: &View) -> bool {
    let gpus = u64::from(job.spec.demand.asked().max(1));
    job.attained_at(view.now()).micros().saturating_mul(gpus) >= limit.micros()
}

impl Queues {
    fn queue_of(&self, id: JobId) -> Option<usize> {
        self.lines.iter().position(|line| line.contains(&id))
    }

    /// A job comes, to the end of the first queue if it is new.
    pub(super) fn enter(&mut self, id: JobId, limits: &[Span]) {
        self.lines.resize(limits.len() + 1, Vec::new());
        if self.queue_of(id).is_none() {
            self.lines[0].push(id);
        }
    }

    /// A job goes.
    pub(super) fn leave(&mut self, id: JobId) {
        self.lines.iter_mut().for_each(|line| line.retain(|other| *other != id));
    }

    /// Of these running jobs, in this order, those go on to the next queue who have had enough.
    pub(super) fn demote<'a>(
        &mut self,
        jobs: impl Iterator<Item = &'a Job>,
        limits: &[Span],
        view: &View,
    ) {
        for job in jobs.filter(|job| job.is_running()) {
            let Some(queue) = self.queue_of(job.id) else { continue };
            if limits.get(queue).is_some_and(|limit| has_had(job, *limit, view)) {
                self.leave(job.id);
                self.lines[queue + 1].push(job.id);
            }
        }
    }

    /// Those who run come before those who wait.
    pub(super) fn settle(&mut self, view: &View) {
        let waits = |id: &JobId| !view.jobs().get(*id).is_some_and(Job::is_placed);
        self.lines.iter_mut().for_each(|line| line.sort_by_key(waits));
    }

    /// All of them in order.
    pub(super) fn order(&self) -> impl Iterator<Item = JobId> {
        self.lines.iter().flatten().copied()
    }

    /// When the next of those who run has had enough.
    pub(super) fn next(&self, limits: &[Span], view: &View) -> Option<Time> {
        let queues = self.lines.iter().zip(limits);
        let each = queues.flat_map(|(line, limit)| line.iter().map(move |id| (*id, *limit)));
        let running = each.filter_map(|(id, limit)| {
            let job = view.jobs().get(id).filter(|job| job.is_running())?;
            let gpus = u64::from(job.spec.demand.asked().max(1));
            let run = job.attained_at(view.now());
            let served = Service { run, milli: run.micros().saturating_mul(gpus * 1000) };
            Some(view.when_served(job, served, limit, true))
        });
        running.min()
    }
}
