//! What keeps jobs from starting: their owners, other jobs, a time, or the rest of their array. The
//! engine is told the one reason that is hardest to get rid of.

use crate::job::{Alarm, Leaving, met};
use crate::live::Live;
use heeler_api::Dependency;
use heeler_model::{Event, JobId};

impl Live {
    /// Tell the engine what keeps a job, if that has changed.
    pub(crate) fn keep(&mut self, id: u32) {
        let Some(job) = self.jobs.live_mut(id) else { return };
        let reason = job.keeps.reason();
        if reason == job.keeps.told || job.leaving.is_some_and(Leaving::is_for_good) {
            return;
        }
        job.keeps.told = reason;
        let job = JobId(id);
        match reason {
            Some(reason) => self.tell(Event::Held { job, reason }),
            None => self.tell(Event::Released { job }),
        }
    }

    /// A job waits for another.
    pub(crate) fn follow(&mut self, id: u32, dependency: Dependency) {
        let (begun, over) = self.jobs.stands(dependency.job);
        let Some(job) = self.jobs.live_mut(id) else { return };
        match met(dependency.when, begun, over) {
            Some(true) => {}
            Some(false) => job.keeps.never = Some(dependency.job),
            None => {
                job.keeps.needs.push(dependency);
                let followers = self.jobs.followers.entry(dependency.job).or_default();
                if followers.last() != Some(&id) {
                    followers.push(id);
                }
            }
        }
    }

    /// A job has begun or is over: those who follow it, or its array, may be able to go on.
    pub(crate) fn followed(&mut self, id: u32) {
        let head = self.jobs.get(id).map_or(id, |job| job.head);
        self.look_at_followers(id);
        if head != id {
            self.look_at_followers(head);
        }
    }

    fn look_at_followers(&mut self, leader: u32) {
        let (begun, over) = self.jobs.stands(leader);
        if !begun && over.is_none() {
            return;
        }
        let Some(followers) = self.jobs.followers.get(&leader).cloned() else { return };
        for follower in followers {
            let Some(job) = self.jobs.live_mut(follower) else { continue };
            let mut failed = false;
            job.keeps.needs.retain(|need| {
                if need.job != leader {
                    return true;
                }
                match met(need.when, begun, over) {
                    None => true,
                    Some(good) => {
                        failed |= !good;
                        false
                    }
                }
            });
            if failed {
                job.keeps.never = Some(leader);
            }
            self.keep(follower);
        }
        if over.is_some() {
            self.jobs.followers.remove(&leader);
        }
    }

    /// A task of an array gives its place to the next.
    pub(crate) fn next_task(&mut self, head: u32) {
        let Some(array) = self.jobs.arrays.get_mut(&head) else { return };
        array.ahead = array.ahead.saturating_sub(1);
        let Some(next) = array.behind.pop_first() else { return };
        array.ahead += 1;
        if let Some(job) = self.jobs.live_mut(next) {
            job.keeps.array = None;
        }
        self.keep(next);
    }

    /// A job may not start before a time.
    pub(crate) fn put_off(&mut self, id: u32, until: heeler_model::Time) {
        let Some(job) = self.jobs.live_mut(id) else { return };
        job.keeps.until = Some(until);
        self.set_alarm(id, until, Alarm::Begin);
        self.keep(id);
    }
}
