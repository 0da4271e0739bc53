//! Who keeps held jobs from starting, and who is let start when that has passed: a time, jobs that
//! must have begun or ended first, or a line of which only so many may run at once. An engine that
//! is told of holds by people does not know why; a simulation of what is to come does.

use crate::queue::Happening;
use crate::simulation::Simulation;
use heeler_model::{Event, JobId, NodeId, Time};
use std::collections::{BTreeMap, VecDeque};

/// What has to pass before a held job may start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Before {
    /// Jobs that must have begun.
    pub begins: Vec<JobId>,
    /// Jobs that must have ended.
    pub ends: Vec<JobId>,
    /// A time that must have come.
    pub until: Option<Time>,
    /// A line in which it waits until somebody of the same line ends.
    pub line: Option<u32>,
}

/// Held jobs and what they wait for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Letting {
    begins: BTreeMap<JobId, Vec<JobId>>,
    ends: BTreeMap<JobId, Vec<JobId>>,
    /// How many jobs each still waits for, and until when.
    missing: BTreeMap<JobId, (usize, Option<Time>)>,
    line_of: BTreeMap<JobId, u32>,
    lines: BTreeMap<u32, VecDeque<JobId>>,
}

impl Letting {
    fn met(&mut self, followers: Vec<JobId>) -> Vec<(JobId, Option<Time>)> {
        let mut ready = Vec::new();
        for job in followers {
            let Some((count, until)) = self.missing.get_mut(&job) else { continue };
            *count -= 1;
            if *count == 0 {
                ready.push((job, *until));
                self.missing.remove(&job);
            }
        }
        ready
    }
}

impl Simulation {
    /// Let a held job start when what keeps it from starting has passed. Whoever stands in a line
    /// waits for its turn alone. Jobs that are not there have begun and ended.
    pub fn let_start(&mut self, job: JobId, before: &Before) {
        if let Some(line) = before.line {
            self.letting.lines.entry(line).or_default().push_back(job);
            return;
        }
        let mut count = 0;
        let jobs = self.engine.state().jobs();
        let not_begun = |id: &&JobId| jobs.get(**id).is_some_and(|job| job.started.is_none());
        for other in before.begins.iter().filter(not_begun) {
            self.letting.begins.entry(*other).or_default().push(job);
            count += 1;
        }
        for other in before.ends.iter().filter(|other| jobs.get(**other).is_some()) {
            self.letting.ends.entry(*other).or_default().push(job);
            count += 1;
        }
        match count {
            0 => self.release_from(job, before.until),
            _ => _ = self.letting.missing.insert(job, (count, before.until)),
        }
    }

    /// Count a job among those of a line: when it ends, the next who waits in it may start.
    pub fn stand_in_line(&mut self, job: JobId, line: u32) {
        self.letting.line_of.insert(job, line);
    }

    /// A node is lost at a time, with all that runs there, and is perhaps there again later.
    pub fn lose_node(&mut self, node: NodeId, from: Time, until: Option<Time>) {
        self.queue.push(from, Happening::Break(node));
        if let Some(until) = until {
            self.queue.push(until, Happening::Repair(node));
        }
    }

    fn release_from(&mut self, job: JobId, until: Option<Time>) {
        self.to_release += 1;
        self.queue.push(until.unwrap_or(self.now).max(self.now), Happening::Release(job));
    }

    pub(crate) fn release_held(&mut self, job: JobId) {
        self.to_release -= 1;
        self.engine.observe(self.now, Event::Released { job });
    }

    /// A job has begun: those who waited for that may start.
    pub(crate) fn let_those_after_begin(&mut self, job: JobId) {
        let followers = self.letting.begins.remove(&job).unwrap_or_default();
        for (job, until) in self.letting.met(followers) {
            self.release_from(job, until);
        }
    }

    /// A job has ended: those who waited for that may start.
    pub(crate) fn let_those_after_end(&mut self, job: JobId) {
        let followers = self.letting.ends.remove(&job).unwrap_or_default();
        let mut ready = self.letting.met(followers);
        if let Some(line) = self.letting.line_of.remove(&job) {
            let next = self.letting.lines.get_mut(&line).and_then(VecDeque::pop_front);
            ready.extend(next.map(|next| (next, None)));
        }
        for (job, until) in ready {
            self.release_from(job, until);
        }
    }
}
