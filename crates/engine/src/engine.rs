//! The engine: stamped events in, actions out. No clock, no I/O, no threads; the same events and
//! the same seed give the same steps on any machine.

use crate::checker::{Fault, check};
use crate::differ::diff;
use crate::rules::Rules;
use crate::state::{Leaving, Phase, State};
use crate::traits::{Note, Policy};
use crate::view::{Detail, View};
use heeler_model::{
    Action, Cluster, Event, Exit, Generation, JobId, NodeId, Plan, Time, Transition,
};
use std::sync::Arc;

/// What an engine answers to an event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// What the world has to do, in this order.
    pub actions: Vec<Action>,
    /// When to send `Event::Tick`, if nothing happens before.
    pub wake: Option<Time>,
    /// What was decided, if anything was.
    pub report: Option<Report>,
}

/// A decision in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Jobs that got GPUs.
    pub started: u32,
    /// Jobs that were stopped for others.
    pub stopped: u32,
    /// Jobs that were given other GPUs, or another number of them.
    pub moved: u32,
    /// Waiting jobs that were looked at and did not fit.
    pub blocked: u32,
}

impl Step {
    /// Empty it, to be used again.
    pub fn clear(&mut self) {
        self.actions.clear();
        self.wake = None;
        self.report = None;
    }
}

/// The engine.
pub struct Engine {
    pub(crate) state: State,
    pub(crate) policy: Box<dyn Policy>,
    /// Actions that do not come from a plan, such as stopping a cancelled job.
    pub(crate) outbox: Vec<Action>,
}

impl Engine {
    /// An engine for an empty cluster.
    pub fn new(cluster: Arc<Cluster>, policy: Box<dyn Policy>, rules: Rules, seed: u64) -> Engine {
        Engine { state: State::new(cluster, rules, seed), policy, outbox: Vec::new() }
    }

    pub(crate) fn from_parts(state: State, policy: Box<dyn Policy>) -> Engine {
        Engine { state, policy, outbox: Vec::new() }
    }

    /// What the engine knows.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// How well the predictors of the policy have done so far.
    pub fn calibrations(&self) -> Vec<crate::Calibration> {
        self.policy.calibrations()
    }

    /// How many nodes the policy keeps switched off, if it does that.
    pub fn power(&self) -> Option<crate::Power> {
        self.policy.power()
    }

    /// One event, and the decision it calls for.
    pub fn step(&mut self, at: Time, event: Event) -> Step {
        self.observe(at, event);
        self.decide(at)
    }

    /// A decision on everything observed so far.
    pub fn decide(&mut self, at: Time) -> Step {
        let mut step = Step::default();
        self.decide_into(at, &mut step).unwrap_or_else(|fault| {
            panic!("at {at} the policy made a plan that cannot be: {fault}");
        });
        step
    }

    /// A decision, into a step that is used again. On a fault nothing was changed: a server keeps
    /// the old plan and says so, a simulator stops.
    pub fn decide_into(&mut self, at: Time, step: &mut Step) -> Result<(), Fault> {
        self.state.now = at;
        step.clear();
        step.actions.append(&mut self.outbox);
        self.start_cleared(step);
        if self.policy.is_due(&View::new(&self.state, Detail::Reached)) {
            self.tell(&Note::Deciding);
            let plan = self.policy.plan(&View::new(&self.state, Detail::Reached));
            check(&self.state, &plan, self.policy.packs())?;
            let ends = plan.end.clone();
            step.report = Some(self.carry_out(plan, step));
            self.tell(&Note::Decided);
            self.state.decided = Some(at);
            self.end(&ends, step);
        }
        let view = View::new(&self.state, Detail::Reached);
        step.wake = self.policy.wake(&view);
        // Whoever followed a job that is over may go on at once.
        let over = step.actions.iter().any(|action| matches!(action, Action::End { .. }));
        if over && self.policy.is_due(&view) {
            step.wake = Some(at);
        }
        Ok(())
    }

    /// Tell the policy something, now that the state is up to date.
    pub(crate) fn tell(&mut self, note: &Note) {
        self.policy.observe(note, &View::new(&self.state, Detail::Reached));
    }

    /// Time has passed, and nothing has happened.
    pub fn pass(&mut self, at: Time) {
        self.state.now = self.state.now.max(at);
    }

    /// Take note of an event. Several events of one moment are observed one by one and decided on
    /// together.
    pub fn observe(&mut self, at: Time, event: Event) {
        debug_assert!(at >= self.state.now, "time goes forward");
        self.state.now = at;
        match event {
            Event::Submitted { job, spec } => {
                if self.state.admit(job, *spec) {
                    self.tell(&Note::Joined(job));
                }
            }
            Event::Cancelled { job } => self.cancel(job),
            Event::Held { job, reason } => self.hold(job, reason),
            Event::Released { job } => self.release(job),
            Event::Priority { job, priority } => self.set_priority(job, priority),
            Event::Progress { job, generation, done, from, pace } => {
                if self.is_current(job, generation) {
                    let known = self.state.jobs.get_mut(job).expect("a current job is known");
                    known.progress = crate::state::Progress { done, from, pace };
                    self.tell(&Note::Progressed(job));
                }
            }
            Event::Reported { job, generation, report } => {
                if self.is_current(job, generation) {
                    self.keep_tempo(job, report);
                    self.tell(&Note::Reported { job, report });
                }
            }
            Event::Stopped { job, generation, exit } => self.stopped(job, generation, exit),
            Event::Ran { job, kind, seconds } => self.tell(&Note::Ran { job, kind, seconds }),
            Event::Load { service, load } => self.tell(&Note::Load { service, load }),
            Event::NodeDown { node } => self.node_down(node),
            Event::NodeUp { node } => {
                self.state.set_up(node, true);
                self.tell(&Note::Changed);
            }
            Event::Quota { tenant, quota, limit } => {
                self.state.tenants.set_quota(tenant, quota, limit);
                self.tell(&Note::Changed);
            }
            Event::RoundOver { clock, offer, stalled } => {
                self.tell(&Note::RoundOver { clock, offer, stalled });
            }
            Event::Tick => {}
        }
    }

    /// A job that changed its batch counts and runs differently from now on.
    fn keep_tempo(&mut self, job: JobId, report: heeler_model::Report) {
        let heeler_model::Report::Regime { pace, work, .. } = report else { return };
        let sound = |value: f64| value.is_finite() && value > 0.0;
        if sound(pace) && sound(work) {
            let known = self.state.jobs.get_mut(job).expect("a current job is known");
            known.tempo = crate::state::Tempo { pace, work };
        }
    }

    /// Whether an event speaks of what the job has now.
    fn is_current(&self, job: JobId, generation: Generation) -> bool {
        self.state.jobs.get(job).is_some_and(|job| job.is_running() && job.generation == generation)
    }

    fn stopped(&mut self, id: JobId, generation: Generation, exit: Exit) {
        let Some(job) = self.state.jobs.get(id) else { return };
        match job.phase {
            Phase::Running if job.generation == generation => match exit {
                Exit::Finished | Exit::Failed => {
                    self.unplace(id);
                    self.forget(id, exit == Exit::Finished);
                }
                Exit::Saved { done } | Exit::Lost { done } => {
                    self.unplace(id);
                    self.tell(&Note::Paused(id));
                    self.requeue(id, done);
                }
            },
            Phase::Stopping if self.state.clearing.generation(id) == Some(generation) => {
                self.state.clearing.remove(id);
                match exit {
                    Exit::Finished | Exit::Failed => {
                        if self.state.job(id).is_placed() {
                            self.state.unclaim(id);
                            self.state.held.remove(&id);
                        }
                        self.forget(id, exit == Exit::Finished);
                    }
                    Exit::Saved { done } | Exit::Lost { done } => self.saved(id, done),
                }
            }
            _ => {}
        }
    }

    /// A running job's GPUs come free at once.
    fn unplace(&mut self, id: JobId) {
        let assignment = self.state.unclaim(id);
        let now = self.state.now;
        let job = self.state.jobs.get_mut(id).expect("the job is not done");
        job.settle(now, &assignment);
        job.since = now;
        job.lease = None;
        job.phase = Phase::Stopping;
    }

    /// A job that was told to stop has done so.
    fn saved(&mut self, id: JobId, done: f64) {
        let job = self.state.jobs.get_mut(id).expect("the job is not done");
        if let Some(leaving) = job.leaving {
            if job.is_placed() {
                self.state.unclaim(id);
                self.state.held.remove(&id);
            }
            return self.forget(id, leaving == Leaving::Over);
        }
        if job.is_placed() {
            job.progress.done = done;
            job.phase = Phase::Held;
        } else {
            self.requeue(id, done);
        }
    }

    fn requeue(&mut self, id: JobId, done: f64) {
        let now = self.state.now;
        let job = self.state.jobs.get_mut(id).expect("the job is not done");
        job.progress.done = done;
        job.since = now;
        if job.held.is_some() {
            return self.set_aside(id);
        }
        job.phase = Phase::Waiting;
        self.state.waiting += 1;
        self.tell(&Note::Joined(id));
    }

    /// A job is done; those who followed it may be considered.
    pub(crate) fn forget(&mut self, id: JobId, finished: bool) {
        self.tell(&Note::Left(id));
        let job = self.state.jobs.remove(id).expect("the job is not done");
        self.state.tenants.left(job.spec.tenant);
        if job.phase != Phase::Blocked {
            self.state.tenants.has_less(job.spec.tenant);
        }
        for ready in self.state.let_go(id, finished) {
            self.tell(&Note::Joined(ready));
        }
    }

    fn node_down(&mut self, node: NodeId) {
        // Jobs that were only promised its GPUs go back to the queue. What becomes of jobs that
        // run there the world says of each.
        let held: Vec<JobId> = self.state.held.keys().copied().collect();
        for id in held {
            let assignment = self.state.job(id).assignment.as_ref();
            let uses = |a: &heeler_model::Assignment| {
                a.placement.slices().iter().any(|slice| slice.node == node)
            };
            if assignment.is_some_and(uses) {
                let saving = self.state.job(id).phase == Phase::Stopping;
                self.state.displace(id);
                self.tell(&Note::Paused(id));
                if !saving {
                    self.tell(&Note::Joined(id));
                }
            }
        }
        self.state.set_up(node, false);
        self.tell(&Note::Changed);
    }

    /// Start the promised jobs whose GPUs are clear.
    fn start_cleared(&mut self, step: &mut Step) {
        if self.state.held.is_empty() {
            return;
        }
        let held: Vec<JobId> = self.state.held.keys().copied().collect();
        for id in held {
            let job = self.state.job(id);
            let placement = &job.assignment.as_ref().expect("a held job is placed").placement;
            if job.phase == Phase::Held && self.state.is_clear(placement) {
                self.begin(id, step);
                self.tell(&Note::Began(id));
            }
        }
    }

    fn begin(&mut self, id: JobId, step: &mut Step) {
        let transition = self.state.held.remove(&id).expect("the job was promised its GPUs");
        self.state.begin(id);
        let job = self.state.job(id);
        let (generation, assignment) = (job.generation, job.assignment.clone());
        let assignment = assignment.expect("a job that begins is placed");
        step.actions.push(Action::Start { job: id, generation, assignment, transition });
    }

    /// Note what jobs are told of their deadlines, and renew leases of those who keep their GPUs.
    fn promise(&mut self, plan: &Plan) {
        for promise in &plan.promise {
            if let Some(job) = self.state.jobs.get_mut(promise.job) {
                job.promise = Some(*promise);
            }
        }
        for run in plan.run.iter().filter(|run| run.lease.is_some()) {
            let job = self.state.jobs.get_mut(run.job).expect("a checked plan names jobs");
            if job.assignment.as_ref() == Some(&run.assignment) {
                job.lease = job.lease.max(run.lease);
            }
        }
    }

    /// Make a plan true: first everybody gives way, then everybody takes their place.
    fn carry_out(&mut self, plan: Plan, step: &mut Step) -> Report {
        let mut report = Report { blocked: plan.wait.len() as u32, ..Report::default() };
        let now = self.state.now;
        let mut scattered = Vec::new();
        for wait in &plan.wait {
            if let Some(job) = self.state.jobs.get_mut(wait.job) {
                job.note(wait.reason, now);
                scattered.extend(job.scatter(wait.reason, now).then_some(wait.job));
            }
        }
        scattered.into_iter().for_each(|job| self.tell(&Note::Scattered(job)));
        self.promise(&plan);
        self.state.reservations.clone_from(&plan.reserve);
        let changes = diff(&self.state, plan);
        for change in &changes {
            let Some(reason) = change.stop else { continue };
            let job = self.state.jobs.get_mut(change.job).expect("a checked plan names jobs");
            let (running, generation) = (job.is_running(), job.generation);
            if change.start.is_none() {
                job.note(reason, now);
                let for_another = !reason.is_own_doing();
                job.preemptions += u32::from(running && for_another);
                report.stopped += u32::from(for_another);
            }
            self.state.displace(change.job);
            self.tell(&Note::Paused(change.job));
            if running {
                step.actions.push(Action::Stop { job: change.job, generation, reason });
            } else if change.start.is_none() && self.state.job(change.job).phase == Phase::Waiting {
                self.tell(&Note::Joined(change.job));
            }
        }
        for change in changes {
            let Some(gain) = change.start else { continue };
            match gain.transition {
                Transition::Start | Transition::Resume => report.started += 1,
                Transition::Move | Transition::Grow | Transition::Shrink => report.moved += 1,
            }
            self.state.place(change.job, gain.assignment, gain.lease, gain.transition);
            let job = self.state.job(change.job);
            let placement = &job.assignment.as_ref().expect("it was just placed").placement;
            if job.phase == Phase::Held && self.state.is_clear(placement) {
                self.begin(change.job, step);
            }
            self.tell(&Note::Placed(change.job));
        }
        report
    }
}
