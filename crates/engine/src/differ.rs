//! The difference between a plan and what runs. Preemption, migration and resizing are names for
//! differences; no policy has code for them.

use crate::state::{Job, State};
use heeler_model::{Assignment, JobId, Plan, Reason, Scope, Time, Transition};

/// What must change for one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The job.
    pub job: JobId,
    /// Why it loses what it has, if it has something.
    pub stop: Option<Reason>,
    /// What it gets, and what that is called.
    pub start: Option<Gain>,
}

/// What a job gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gain {
    /// The GPUs.
    pub assignment: Assignment,
    /// Until when it may not be disturbed.
    pub lease: Option<Time>,
    /// What the change is called.
    pub transition: Transition,
}

/// All that must change for a plan to hold, stops first.
pub fn diff(state: &State, plan: Plan) -> Vec<Change> {
    let stops = || plan.stop.iter().chain(&plan.end);
    let mut changes = Vec::with_capacity(plan.run.len() + plan.stop.len());
    if plan.scope == Scope::Whole {
        let named = plan.run.iter().map(|run| run.job).chain(stops().map(|stop| stop.job));
        let mut named: Vec<JobId> = named.collect();
        named.sort_unstable();
        let placed = state.jobs().iter().filter(|job| job.is_placed());
        let unnamed = placed.filter(|job| named.binary_search(&job.id).is_err());
        for job in unnamed {
            let wait = plan.wait.iter().find(|wait| wait.job == job.id);
            let reason = wait.map_or(Reason::Rearranged, |wait| wait.reason);
            changes.push(Change { job: job.id, stop: Some(reason), start: None });
        }
    }
    // A job that is over and has nothing is no difference.
    for stop in stops().filter(|stop| state.job(stop.job).is_placed()) {
        changes.push(Change { job: stop.job, stop: Some(stop.reason), start: None });
    }
    for run in plan.run {
        let job = state.job(run.job);
        if job.assignment.as_ref() == Some(&run.assignment) {
            continue;
        }
        let transition = transition(job, &run.assignment);
        let gain = Gain { assignment: run.assignment, lease: run.lease, transition };
        let stop = job.is_placed().then_some(Reason::Rearranged);
        changes.push(Change { job: run.job, stop, start: Some(gain) });
    }
    changes
}

/// What giving a job these GPUs is called.
fn transition(job: &Job, to: &Assignment) -> Transition {
    let Some(from) = &job.assignment else {
        return if job.started.is_some() { Transition::Resume } else { Transition::Start };
    };
    match to.milli().cmp(&from.milli()) {
        std::cmp::Ordering::Greater => Transition::Grow,
        std::cmp::Ordering::Less => Transition::Shrink,
        std::cmp::Ordering::Equal => Transition::Move,
    }
}
