//! What happens in the modelled world, and what actions do there: jobs start, stop, finish and get
//! lost, at the costs and the pace of the world.

use crate::queue::Happening;
use crate::record::Outcome;
use crate::services::ReplicaChange;
use crate::simulation::Simulation;
use heeler_engine::Starts;
use heeler_model::{
    Action, Assignment, Event, Exit, Generation, JobId, NodeId, Reason, Replica, Span, Time,
    Transition,
};

/// Looks at which nothing comes or ends, for each job that came, that count as events. Leaving a
/// queue takes one for each of a few queues.
const LOOKS_PER_JOB: usize = 100;

impl Simulation {
    pub(crate) fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Finish(job, _) => self.finish(job),
            Happening::Score(job, _) => self.report(job),
            Happening::Loss(job, _) => self.report_loss(job),
            Happening::Turn(job, _) if self.phasing.contains_key(&job) => self.change_phase(job),
            Happening::Turn(job, _) => self.turn(job),
            Happening::Saved(job) => {
                let done = self.records[job].done;
                self.release(job, Exit::Saved { done });
            }
            Happening::Release(job) => self.release_held(job),
            Happening::Break(node) => self.break_node(node),
            Happening::Open(service) => self.open(service),
            Happening::Look(service) => self.look(service),
            Happening::Close(service) => self.close_service(service),
            Happening::Repair(node) => {
                self.watch.node(&self.cluster, node, true);
                self.engine.observe(self.now, Event::NodeUp { node });
                if let Some(failures) = &self.world.failures {
                    let holds = failures.holds(self.seed, node, self.now);
                    self.queue.push(self.now + holds, Happening::Break(node));
                }
            }
        }
    }

    pub(crate) fn finish(&mut self, job: JobId) {
        let now = self.now;
        let late = self.world.notice_late();
        self.records[job].outcome = Outcome::Finished;
        self.note_deadlines(job);
        let record = &mut self.records[job];
        record.useful_milli += record.useful_since_start(now.minus(late));
        record.done = record.work;
        record.ended = Some(now);
        self.watch.leaves(&mut self.records[job]);
        self.start_costs.remove(&job);
        self.studies.leaves(job);
        self.last_on.remove(&job);
        self.trainees.remove(&job);
        self.losing.remove(&job);
        self.phasing.remove(&job);
        self.release(job, Exit::Finished);
        self.let_those_after_end(job);
    }

    /// The recipe declared a job over. If it still runs, it was told to stop.
    fn end(&mut self, job: JobId) {
        let now = self.now;
        let is_trial = self.studies.has(job);
        let record = &mut self.records[job];
        record.ended = Some(now);
        record.outcome = match record.started {
            None if !is_trial => Outcome::TurnedAway,
            _ => Outcome::StoppedEarly,
        };
        if record.milli == 0.0 {
            record.waited += now.since(record.held_since);
            record.held_since = now;
        }
        self.watch.leaves(&mut self.records[job]);
        self.start_costs.remove(&job);
        self.studies.leaves(job);
    }

    /// What a job was promised, and what of its deadlines' value it gets if it ends now.
    pub(crate) fn note_deadlines(&mut self, id: JobId) {
        let job = self.engine.state().job(id);
        let deadlines = job.spec.deadlines();
        let most = deadlines.iter().map(|deadline| deadline.value).max().unwrap_or(0);
        let finished = self.records[id].outcome == Outcome::Finished;
        let kept = deadlines.iter().filter(|deadline| finished && self.now <= deadline.at);
        let got = kept.map(|deadline| deadline.value).max().unwrap_or(0);
        self.records[id].promised = job.promise.and_then(|promise| promise.by());
        self.records[id].value_lost = match deadlines.is_empty() || most <= 0 {
            true => 0.0,
            false => (1.0 - got as f64 / most as f64) as f32,
        };
    }

    /// A job's GPUs are free; tell the engine how its attempt ended.
    pub(crate) fn release(&mut self, job: JobId, exit: Exit) {
        let record = &mut self.records[job];
        record.stamp += 1;
        record.pace = 0.0;
        record.held_since = self.now;
        self.ends_to_hold(job);
        self.running.retain(|other| *other != job);
        if let Some(replica) = self.replica(job) {
            let lost = matches!(exit, Exit::Lost { .. });
            let change = if lost { ReplicaChange::Lost } else { ReplicaChange::Stopped };
            self.replica_changed(replica, change);
        }
        let generation = Generation(self.records[job].generation);
        self.engine.observe(self.now, Event::Stopped { job, generation, exit });
        self.moves_out(job);
    }

    /// Which replica of a service a job is, if it is one.
    fn replica(&self, job: JobId) -> Option<Replica> {
        let is_one = self.records[job].serves;
        is_one.then(|| self.engine.state().jobs().get(job)?.spec.replica()).flatten()
    }

    fn break_node(&mut self, node: NodeId) {
        if let Some(failures) = &self.world.failures {
            let repair = failures.repair(self.seed, node, self.now);
            self.queue.push(self.now + repair, Happening::Repair(node));
        }
        self.watch.node(&self.cluster, node, false);
        let uses = |job: &heeler_engine::Job| {
            let placement = job.assignment.as_ref().map(|assignment| &assignment.placement);
            placement.is_some_and(|p| p.slices().iter().any(|slice| slice.node == node))
        };
        let jobs = self.engine.state().jobs().iter();
        let hit: Vec<JobId> =
            jobs.filter(|job| job.is_running() && uses(job)).map(|j| j.id).collect();
        // First the node goes, so that nobody is placed on it; then the jobs that ran there.
        self.engine.observe(self.now, Event::NodeDown { node });
        for job in hit {
            let now = self.now;
            let every = self.world.costs.checkpoint_every_s;
            let record = &mut self.records[job];
            let reached = record.done_at(now);
            let kept = every.map_or(0.0, |seconds| {
                let each = seconds * 1e6 * record.pace;
                if each > 0.0 { ((reached - record.safe) / each).floor() * each } else { 0.0 }
            });
            // What was done at another pace before is counted already, and may be lost, too.
            let new = kept - (record.done - record.safe);
            record.done = record.safe + kept;
            record.useful_milli += new / record.pace.max(f64::MIN_POSITIVE) * record.milli;
            record.safe = record.done;
            record.losses += 1;
            let done = record.done;
            self.release(job, Exit::Lost { done });
        }
    }

    pub(crate) fn act(&mut self, action: Action) {
        match action {
            Action::Start { job, generation, assignment, transition } => {
                self.start(job, generation, &assignment, transition);
            }
            Action::Stop { job, reason, .. } => self.stop(job, reason),
            Action::End { job, .. } => self.end(job),
        }
    }

    fn start(&mut self, job: JobId, number: Generation, on: &Assignment, transition: Transition) {
        if self.trainees.contains_key(&job) {
            return self.start_training(job, number, on, transition);
        }
        let now = self.now;
        let every_event = self.world.quirks.restart_all_at_every_event;
        let own = self.start_costs.get(&job).copied();
        let cost = match (transition, own) {
            _ if every_event || self.records[job].serves => Span::ZERO,
            (Transition::Start, Some(own)) => own,
            _ => self.world.costs.until_progress(transition, on, self.last_on.get(&job)),
        };
        if self.world.costs.remember() {
            self.last_on.insert(job, on.clone());
        }
        self.moves_in(job, on);
        self.let_those_after_begin(job);
        let engine_job = self.engine.state().job(job);
        let (replica, assumed) = (engine_job.spec.replica(), engine_job.progress);
        let pace = match replica {
            // A replica has no work: time passes for it as it was declared.
            Some(_) => 1.0,
            None => self.pace_of(job, on),
        };
        let record = &mut self.records[job];
        record.generation = number.0;
        record.stamp += 1;
        record.pace = pace;
        record.from = now + cost;
        record.waited += now.since(record.held_since);
        record.held_since = now;
        record.started.get_or_insert(now);
        let (done, from) = (record.done, record.from);
        if self.world.quirks.whole_units_per_round_s.is_some() {
            // Work is handed out by the round; nothing is done meanwhile.
            record.pace = 0.0;
        } else if !record.serves {
            let finish = self.world.noticed(record.finish());
            self.queue.push(finish, Happening::Finish(job, record.stamp));
            self.studies.pauses(job, false);
            self.expect_report(job);
            self.expect_change(job);
        }
        self.begins_to_hold(job, on);
        if let Some(replica) = replica {
            self.replica_changed(replica, ReplicaChange::Began);
        }
        if every_event {
            self.running.push(job);
        }
        let by_round = self.world.quirks.whole_units_per_round_s.is_some();
        if by_round {
            return;
        }
        if assumed.pace != pace || assumed.from != from || assumed.done != done {
            let generation = number;
            self.answers.push(Event::Progress { job, generation, done, from, pace });
        }
    }

    fn stop(&mut self, job: JobId, reason: Reason) {
        let now = self.now;
        let record = &mut self.records[job];
        // Where GPUs are counted nobody is moved: it was for another, who then found no place.
        let in_vain = matches!(self.world.rules.starts, Starts::Counted | Starts::AddingUp);
        let is_moved = reason == Reason::Rearranged && !in_vain;
        // Who has been tried out goes on elsewhere, if only later.
        let is_moved = is_moved || matches!(reason, Reason::Profiled { .. });
        match reason {
            _ if is_moved => record.moves += 1,
            _ if reason.is_own_doing() => {}
            _ => record.preemptions += 1,
        }
        // What a trial has done by the end of an iteration is safe.
        let keeps_all = is_moved || reason.is_own_doing();
        let gpus = record.gpus;
        let undone = match keeps_all || record.serves {
            true => 0.0,
            false => self.world.costs.undo.of(gpus).micros() as f64 * record.pace,
        };
        record.useful_milli += record.useful_since_start(now);
        let lost = undone / record.pace.max(f64::MIN_POSITIVE) * record.milli;
        record.useful_milli -= lost.min(record.useful_milli);
        // What is undone may be more than what was done: the job then owes work.
        record.done = record.done_at(now) - undone;
        record.safe = record.done;
        record.from = now;
        record.pace = 0.0;
        record.stamp += 1;
        if matches!(reason, Reason::PausedAtRung { .. }) {
            self.studies.pauses(job, true);
        }
        let record = &self.records[job];
        let done = record.done;
        // A replica drains by itself; it has nothing to save.
        let save = if record.serves { Span::ZERO } else { self.world.costs.save.of(gpus) };
        if save.is_zero() {
            let generation = Generation(record.generation);
            self.answers.push(Event::Stopped { job, generation, exit: Exit::Saved { done } });
        } else {
            self.queue.push(now + save, Happening::Saved(job));
        }
    }

    /// Every job without a lease that has run until now loses its cost of starting once more.
    pub(crate) fn restart_unleased(&mut self) {
        let now = self.now;
        let goes_on = |job: &&heeler_engine::Job| {
            job.is_running() && !job.is_leased(now) && self.records[job.id].held_since < now
        };
        let jobs: Vec<JobId> =
            self.engine.state().jobs().iter().filter(goes_on).map(|job| job.id).collect();
        for job in jobs {
            let record = &mut self.records[job];
            let waits = record.from.since(now);
            record.useful_milli += record.useful_since_start(now);
            record.done = record.done_at(now);
            record.from = now + waits + self.world.costs.restore.of(record.gpus);
            record.stamp += 1;
            let (done, from, pace) = (record.done, record.from, record.pace);
            let finish = self.world.noticed(record.finish());
            self.queue.push(finish, Happening::Finish(job, record.stamp));
            let generation = Generation(record.generation);
            self.expect_change(job);
            self.engine.observe(now, Event::Progress { job, generation, done, from, pace });
        }
    }

    /// Every running job loses its cost of starting once more, and that of those it shares GPUs
    /// with, as far as the time since the last event goes. Jobs that finish now are not charged. A
    /// recipe that looks again and again is no event for ever, or nobody would get on.
    pub(crate) fn restart_all(&mut self, at: Time, something_came: bool) {
        if !self.world.quirks.restart_all_at_every_event {
            return;
        }
        if !something_came {
            if self.looks >= LOOKS_PER_JOB * self.records.all().len() {
                return;
            }
            self.looks += 1;
        }
        let together = self.world.together(at);
        for index in 0..self.running.len() {
            let job = self.running[index];
            let cost = self.group_start_cost(job);
            let record = &mut self.records[job];
            if record.finish() <= together {
                continue;
            }
            let gained = at.since(record.from).saturating_sub(cost);
            record.useful_milli += gained.micros() as f64 * record.milli;
            record.done += gained.micros() as f64 * record.pace;
            record.from = at;
            record.stamp += 1;
            let (done, from, pace) = (record.done, at, record.pace);
            let finish = self.world.noticed(record.finish());
            self.queue.push(finish, Happening::Finish(job, record.stamp));
            self.expect_report(job);
            self.expect_change(job);
            let record = &self.records[job];
            let generation = Generation(record.generation);
            self.engine.observe(at, Event::Progress { job, generation, done, from, pace });
        }
    }
}
