//! Answers: why does a job wait, and would it start if it asked for something else? Both by
//! planning the same view again; planning is pure, so the answer is the decision's own.

use crate::engine::Engine;
use crate::state::{Noted, Phase};
use crate::traits::Note;
use crate::view::{Detail, View};
use heeler_model::{Assignment, JobId, KindSet, Plan, Reason, Reservation, Sizes, Time};
use serde::Serialize;

/// What there is to say about a job now.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum Verdict {
    /// It was never submitted.
    Unknown,
    /// It is done.
    Done,
    /// It runs.
    Running {
        /// Since when.
        since: Time,
        /// On what.
        on: Assignment,
    },
    /// It could start right away.
    Starts {
        /// On what.
        on: Assignment,
        /// Jobs that would have to stop.
        stops: Vec<JobId>,
    },
    /// It waits.
    Waits {
        /// Why.
        reason: Reason,
        /// For how long that has been so.
        noted: Option<Noted>,
        /// GPUs promised to it ahead.
        reserved: Option<Reservation>,
    },
}

/// What to change about a job before asking again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Edit {
    /// Ask for so many GPUs.
    pub gpus: Option<u32>,
    /// Ask for these kinds.
    pub kinds: Option<KindSet>,
    /// Have this priority.
    pub priority: Option<i32>,
}

impl Engine {
    /// Why a job waits, if it does.
    pub fn why(&self, id: JobId) -> Verdict {
        let Some(job) = self.state.jobs().get(id) else {
            let done = self.state.jobs().knows(id);
            return if done { Verdict::Done } else { Verdict::Unknown };
        };
        let reserved = self.state.reservations().iter().find(|r| r.job == id).cloned();
        let waits = |reason| Verdict::Waits { reason, noted: job.noted, reserved };
        match job.phase {
            Phase::Running => {
                let on = job.assignment.clone().expect("a running job is placed");
                Verdict::Running { since: job.since, on }
            }
            Phase::Held => match self.state.clearing_for(id) {
                Some(job) => waits(Reason::Clearing { job }),
                None => waits(Reason::BeingSaved),
            },
            Phase::Stopping => waits(Reason::BeingSaved),
            Phase::Blocked => waits(self.why_blocked(id)),
            Phase::Waiting => {
                let plan = self.full_plan();
                match plan.run.iter().find(|run| run.job == id) {
                    // It would start, but no decision is due.
                    Some(_) => {
                        let view = View::new(&self.state, Detail::All);
                        let until = self.policy.wake(&view).unwrap_or(self.state.now());
                        waits(Reason::RoundNotOver { until })
                    }
                    // What others would leave for it, or have had, is not what it waits for.
                    None => match (verdict_in(&plan, id), self.first_looked_at(id)) {
                        (
                            Reason::NotEnoughFree { .. }
                            | Reason::ShareSpent { .. }
                            | Reason::PutOff { .. },
                            Some(until),
                        ) => waits(Reason::RoundNotOver { until }),
                        (reason, _) => waits(reason),
                    },
                }
            }
        }
    }

    /// When a waiting job is first decided on, if nothing was decided since it came.
    pub fn first_looked_at(&self, id: JobId) -> Option<Time> {
        let job = self.state.jobs().get(id).filter(|job| job.phase == Phase::Waiting)?;
        let looked = self.state.decided.is_some_and(|at| at >= job.since);
        let new = !looked && job.noted.is_none();
        let wake = || self.policy.wake(&View::new(&self.state, Detail::Reached));
        new.then(wake).flatten()
    }

    /// A plan of the present view with a verdict for every waiting job.
    pub fn full_plan(&self) -> Plan {
        let mut policy = self.policy.fork();
        policy.observe(&Note::Deciding, &View::new(&self.state, Detail::All));
        policy.plan(&View::new(&self.state, Detail::All))
    }

    /// A copy that shares nothing, for "what if". It costs what the unfinished jobs take.
    pub fn fork(&self) -> Engine {
        Engine {
            state: self.state.clone(),
            policy: self.policy.fork(),
            outbox: self.outbox.clone(),
        }
    }

    /// What would become of a waiting job if it had been submitted differently.
    pub fn what_if(&self, id: JobId, edit: Edit) -> Verdict {
        let mut fork = self.fork();
        let Some(job) = fork.state.jobs.get_mut(id) else { return self.why(id) };
        if !matches!(job.phase, Phase::Waiting | Phase::Blocked) {
            return self.why(id);
        }
        let demand = &mut job.spec.demand;
        if let Some(gpus) = edit.gpus {
            demand.sizes = Sizes::rigid(gpus);
        }
        demand.kinds = edit.kinds.unwrap_or(demand.kinds);
        job.spec.priority = edit.priority.unwrap_or(job.spec.priority);
        let (demand, phase, after) = (job.spec.demand, job.phase, job.after);
        let class = fork.state.class_of(&demand);
        if let Err(reason) = fork.state.fleet().could_ever(&demand) {
            return Verdict::Waits { reason, noted: None, reserved: None };
        }
        let job = fork.state.jobs.get_mut(id).expect("the job is not done");
        job.demand = class;
        if phase == Phase::Blocked {
            if after > 0 || job.held.is_some() {
                return self.why(id);
            }
            job.phase = Phase::Waiting;
            fork.state.waiting += 1;
            fork.state.tenants.has_work(job.spec.tenant);
        }
        fork.policy.observe(&Note::Joined(id), &View::new(&fork.state, Detail::All));
        fork.policy.observe(&Note::Deciding, &View::new(&fork.state, Detail::All));
        let plan = fork.policy.plan(&View::new(&fork.state, Detail::All));
        match plan.run.iter().find(|run| run.job == id) {
            Some(run) => {
                let for_it = |reason| matches!(reason, Reason::Displaced { by } if by == id);
                let stops = plan.stop.iter().filter(|stop| for_it(stop.reason));
                let stops = stops.map(|stop| stop.job).collect();
                Verdict::Starts { on: run.assignment.clone(), stops }
            }
            None => {
                let reserved = plan.reserve.iter().find(|r| r.job == id).cloned();
                Verdict::Waits { reason: verdict_in(&plan, id), noted: None, reserved }
            }
        }
    }

    fn why_blocked(&self, id: JobId) -> Reason {
        let job = self.state.job(id);
        if let Some(reason) = job.held {
            return reason;
        }
        let never = job.noted.map(|noted| noted.reason);
        if let Some(reason) = never.filter(|r| r.tier() == heeler_model::Tier::Never) {
            return reason;
        }
        let waits_for = |other: &&JobId| {
            !self.state.jobs().knows(**other) || self.state.jobs().get(**other).is_some()
        };
        let first = job.spec.after().iter().find(waits_for).copied().unwrap_or_default();
        Reason::AfterJobs { jobs: job.after, first }
    }
}

/// The verdict a full plan has on a waiting job.
fn verdict_in(plan: &Plan, id: JobId) -> Reason {
    let waits = plan.wait.iter().find(|wait| wait.job == id).map(|wait| wait.reason);
    let over = || plan.end.iter().find(|end| end.job == id).map(|end| end.reason);
    waits.or_else(over).expect("a full plan has a verdict on every waiting job")
}
