//! Jobs by number: those that are not over, and the latest of those that are.

use crate::job::Job;
use heeler_api::{JobState, Submission};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Jobs that are over and remembered.
const DONE_MAX: usize = 100_000;
/// Bytes that they may take, roughly.
const DONE_BYTES_MAX: usize = 256 << 20;

/// An array as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ArrayState {
    /// How many of its tasks may run at once.
    pub(crate) most: Option<u32>,
    /// Tasks that may start and are not over.
    pub(crate) ahead: u32,
    /// Tasks that wait for one of those to end.
    pub(crate) behind: BTreeSet<u32>,
    /// Tasks that have not begun.
    pub(crate) unbegun: u32,
    /// Tasks that are not over.
    pub(crate) left: u32,
    /// Whether some task ended badly.
    pub(crate) failed: bool,
}

/// What is saved of the jobs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct SavedJobs {
    live: Vec<Job>,
    done: Vec<Job>,
    submissions: Vec<(u32, Arc<Submission>)>,
    arrays: Vec<(u32, ArrayState)>,
    once: Vec<(String, String, u32, u32)>,
    followers: Vec<(u32, Vec<u32>)>,
    used: u32,
    order: Vec<u32>,
}

/// Jobs by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Jobs {
    live: BTreeMap<u32, Job>,
    done: BTreeMap<u32, Job>,
    /// Those that are over, in the order they ended.
    order: VecDeque<u32>,
    done_bytes: usize,
    pub(crate) live_bytes: usize,
    pub(crate) arrays: BTreeMap<u32, ArrayState>,
    /// First job and number of tasks by user and key.
    pub(crate) once: BTreeMap<(String, String), (u32, u32)>,
    /// Who waits for whom.
    pub(crate) followers: BTreeMap<u32, Vec<u32>>,
    /// Numbers used so far.
    used: u32,
    /// Jobs that have GPUs.
    pub(crate) placed: BTreeSet<u32>,
    /// The latest job of each user, and all of theirs that are not over.
    by_user: BTreeMap<String, BTreeSet<u32>>,
    latest: BTreeMap<String, u32>,
}

impl Jobs {
    /// The next so many numbers.
    pub(crate) fn number(&mut self, count: u32) -> u32 {
        let first = self.used + 1;
        self.used += count;
        first
    }

    /// Whether so many numbers are left.
    pub(crate) fn has_numbers(&self, count: u32) -> bool {
        self.used.checked_add(count).is_some_and(|last| last < u32::MAX - 1)
    }

    pub(crate) fn insert(&mut self, job: Job) {
        self.live_bytes += job.weight();
        self.by_user.entry(job.user.clone()).or_default().insert(job.id);
        self.latest.insert(job.user.clone(), job.head);
        self.live.insert(job.id, job);
    }

    pub(crate) fn get(&self, job: u32) -> Option<&Job> {
        self.live.get(&job).or_else(|| self.done.get(&job))
    }

    pub(crate) fn live(&self, job: u32) -> Option<&Job> {
        self.live.get(&job)
    }

    pub(crate) fn live_mut(&mut self, job: u32) -> Option<&mut Job> {
        self.live.get_mut(&job)
    }

    /// Jobs that are not over, by number.
    pub(crate) fn all_live(&self) -> impl DoubleEndedIterator<Item = &Job> {
        self.live.values()
    }

    /// Jobs that are over, by number.
    pub(crate) fn all_done(&self) -> impl DoubleEndedIterator<Item = &Job> {
        self.done.values()
    }

    /// Jobs with numbers in between, by number.
    pub(crate) fn range(&self, first: u32, last: u32) -> Vec<&Job> {
        let live = self.live.range(first..=last).map(|(_, job)| job);
        let mut found: Vec<&Job> =
            live.chain(self.done.range(first..=last).map(|(_, j)| j)).collect();
        found.sort_unstable_by_key(|job| job.id);
        found
    }

    /// A user's jobs that are not over.
    pub(crate) fn of_user(&self, user: &str) -> impl Iterator<Item = u32> + '_ {
        self.by_user.get(user).into_iter().flatten().copied()
    }

    /// The job that a user handed in last.
    pub(crate) fn latest_of(&self, user: &str) -> Option<u32> {
        self.latest.get(user).copied()
    }

    pub(crate) fn live_len(&self) -> usize {
        self.live.len()
    }

    /// Whether a job, or an array as a whole, has begun, and how it ended. What was forgotten ended
    /// well: nobody can say otherwise any more.
    pub(crate) fn stands(&self, job: u32) -> (bool, Option<JobState>) {
        if let Some(array) = self.arrays.get(&job) {
            let state = if array.failed { JobState::Failed } else { JobState::Completed };
            return (array.unbegun == 0, (array.left == 0).then_some(state));
        }
        match self.get(job) {
            Some(job) => (job.first_started.is_some(), job.over.as_ref().map(|over| over.state)),
            None => (true, Some(JobState::Completed)),
        }
    }

    /// A job is over. What was longest over may be forgotten.
    pub(crate) fn retire(&mut self, job: u32) {
        let Some(job) = self.live.remove(&job) else { return };
        if let Some(theirs) = self.by_user.get_mut(&job.user) {
            theirs.remove(&job.id);
            if theirs.is_empty() {
                self.by_user.remove(&job.user);
            }
        }
        self.placed.remove(&job.id);
        self.live_bytes = self.live_bytes.saturating_sub(job.weight());
        self.done_bytes += job.weight();
        self.order.push_back(job.id);
        self.done.insert(job.id, job);
        while self.order.len() > DONE_MAX || self.done_bytes > DONE_BYTES_MAX {
            let Some(oldest) = self.order.pop_front() else { break };
            self.drop_done(oldest);
        }
    }

    fn drop_done(&mut self, oldest: u32) {
        let Some(job) = self.done.remove(&oldest) else { return };
        self.done_bytes = self.done_bytes.saturating_sub(job.weight());
        if let Some(key) = job.submission.once.clone().filter(|_| job.id == job.head) {
            self.once.remove(&(job.user.clone(), key));
        }
        self.arrays.remove(&job.id);
        if self.latest.get(&job.user) == Some(&job.id) {
            self.latest.remove(&job.user);
        }
    }

    /// As data.
    pub(crate) fn save(&self) -> SavedJobs {
        let mut submissions = BTreeMap::new();
        for job in self.live.values().chain(self.done.values()) {
            submissions.entry(job.head).or_insert_with(|| job.submission.clone());
        }
        let once = self
            .once
            .iter()
            .map(|((user, key), (job, tasks))| (user.clone(), key.clone(), *job, *tasks));
        SavedJobs {
            live: self.live.values().cloned().collect(),
            done: self.done.values().cloned().collect(),
            submissions: submissions.into_iter().collect(),
            arrays: self.arrays.clone().into_iter().collect(),
            once: once.collect(),
            followers: self.followers.clone().into_iter().collect(),
            used: self.used,
            order: self.order.iter().copied().collect(),
        }
    }

    /// What was saved.
    pub(crate) fn load(saved: SavedJobs) -> Result<Jobs, String> {
        let submissions: BTreeMap<u32, Arc<Submission>> = saved.submissions.into_iter().collect();
        let mut jobs = Jobs {
            order: saved.order.into(),
            arrays: saved.arrays.into_iter().collect(),
            followers: saved.followers.into_iter().collect(),
            used: saved.used,
            ..Jobs::default()
        };
        for (user, key, job, tasks) in saved.once {
            jobs.once.insert((user, key), (job, tasks));
        }
        let mut latest: BTreeMap<String, u32> = BTreeMap::new();
        let live = saved.live.into_iter().map(|job| (job, true));
        for (mut job, lives) in live.chain(saved.done.into_iter().map(|job| (job, false))) {
            let submission = submissions.get(&job.head);
            job.submission = submission.ok_or("a job without its submission")?.clone();
            let newest = latest.entry(job.user.clone()).or_default();
            *newest = (*newest).max(job.head);
            if lives {
                if job.attempt.is_some() {
                    jobs.placed.insert(job.id);
                }
                jobs.insert(job);
            } else {
                jobs.done_bytes += job.weight();
                jobs.done.insert(job.id, job);
            }
        }
        jobs.latest = latest;
        Ok(jobs)
    }
}
