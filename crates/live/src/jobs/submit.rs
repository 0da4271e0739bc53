//! Jobs are handed in: they get numbers, are told to the engine, and wait.

use crate::ask::Done;
use crate::job::{Alarm, Job, Keeps};
use crate::live::Live;
use crate::store::ArrayState;
use heeler_api::{Problem, Submission, Submitted, Who};
use heeler_backend::Identity;
use heeler_model::{Demand, Event, JobId};
use std::sync::Arc;

impl Live {
    pub(crate) fn submit(
        &mut self,
        who: &Who,
        submissions: &[Submission],
    ) -> Result<Done, Problem> {
        // What was checked may not hold any more: others were taken up in between.
        for submission in submissions {
            let name = submission.tenant.clone().unwrap_or_else(|| self.home(who));
            self.tenant_named(&name, "tenant")?;
        }
        Ok(Done::Submitted(submissions.iter().map(|one| self.enter(who, one)).collect()))
    }

    fn enter(&mut self, who: &Who, submission: &Submission) -> Submitted {
        let key = submission.once.as_ref().map(|key| (who.user.clone(), key.clone()));
        if let Some((job, tasks)) = key.as_ref().and_then(|key| self.jobs.once.get(key)) {
            return Submitted { job: *job, tasks: *tasks, again: true, notes: Vec::new() };
        }
        let indices = submission.array.as_ref().map(|array| array.indices.clone());
        let tasks = indices.as_ref().map_or(1, |indices| indices.len() as u32);
        let head = self.jobs.number(tasks);
        if let Some(key) = key {
            self.jobs.once.insert(key, (head, tasks));
        }
        if let Some(array) = &submission.array {
            let state = ArrayState {
                most: array.most,
                left: tasks,
                unbegun: tasks,
                ..ArrayState::default()
            };
            self.jobs.arrays.insert(head, state);
        }
        let shared = Arc::new(submission.clone());
        for number in 0..tasks {
            let task = indices.as_ref().map(|indices| indices[number as usize]);
            self.enter_one(who, &shared, head, head + number, task);
        }
        let never = self.never_starts(&self.imagined(submission, &who.user).demand);
        let notes = never.map(|why| format!("it cannot start as things are: {why}"));
        Submitted { job: head, tasks, again: false, notes: notes.into_iter().collect() }
    }

    /// Why a job could not start even if nobody else was there, with what would help; nothing, if
    /// it could.
    pub fn never_starts(&self, demand: &Demand) -> Option<String> {
        let reason = self.engine.state().fleet().could_ever(demand).err()?;
        let said = self.reason_view(&reason);
        Some(match said.hint {
            Some(hint) => format!("{}; {hint}", said.sentence),
            None => said.sentence,
        })
    }

    fn enter_one(
        &mut self,
        who: &Who,
        submission: &Arc<Submission>,
        head: u32,
        id: u32,
        task: Option<u32>,
    ) {
        let name = submission.tenant.clone().unwrap_or_else(|| self.home(who));
        let tenant = self.people.find(&name).unwrap_or_default();
        let spec = self.spec_of(submission, tenant, &who.user);
        let identity = who.uid.zip(who.gid).map(|(uid, gid)| Identity { uid, gid });
        let until = submission.begin.map(|begin| self.time(begin)).filter(|at| *at > self.now);
        let mut keeps = Keeps { held: submission.hold, until, ..Keeps::default() };
        if let Some(array) = self.jobs.arrays.get_mut(&head) {
            match array.most {
                Some(most) if array.ahead >= most => {
                    array.behind.insert(id);
                    keeps.array = Some(most);
                }
                _ => array.ahead += 1,
            }
        }
        let mut job = Job::new(id, head, submission.clone(), self.now);
        (job.task, job.tenant, job.keeps) = (task, tenant, keeps);
        (job.user, job.identity) = (who.user.clone(), identity);
        self.jobs.insert(job);
        self.tell(Event::Submitted { job: JobId(id), spec: Box::new(spec) });
        for dependency in &submission.after {
            self.follow(id, *dependency);
        }
        if let Some(until) = until {
            self.set_alarm(id, until, Alarm::Begin);
        }
        self.keep(id);
        self.changed(id);
    }
}
