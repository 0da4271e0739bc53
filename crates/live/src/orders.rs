//! Actions of the engine become orders to the world, with all that is needed to run a job; and what
//! should be there after a restart is told from the same.

use crate::accounts::Evicted;
use crate::job::{Attempt, Job, Leaving, Over, Told};
use crate::live::Live;
use heeler_api::{Pause, Ranks};
use heeler_backend::{Expected, Launch, Order, Way};
use heeler_model::{Action, Assignment, Generation, JobId, Reason};
use std::collections::BTreeSet;

impl Live {
    /// Make orders of what the engine decided.
    pub(crate) fn carry_out(&mut self, actions: Vec<Action>, orders: &mut Vec<Order>) {
        let ends: BTreeSet<JobId> = actions
            .iter()
            .filter_map(|action| match action {
                Action::End { job, .. } => Some(*job),
                _ => None,
            })
            .collect();
        for action in actions {
            match action {
                Action::Start { job, generation, assignment, .. } => {
                    self.start(job.0, generation, assignment, orders);
                }
                Action::Stop { job, .. } if ends.contains(&job) => {
                    self.end_for(job.0, Leaving::Stopped);
                }
                Action::Stop { job, generation, reason } => {
                    self.stop(job.0, generation, reason, orders);
                }
                Action::End { job, reason } => self.ended_by_recipe(job.0, reason),
            }
        }
    }

    fn start(
        &mut self,
        id: u32,
        generation: Generation,
        assignment: Assignment,
        orders: &mut Vec<Order>,
    ) {
        let now = self.now;
        let Some(job) = self.jobs.live_mut(id) else { return };
        let resume = job.resume();
        let restarts = job.starts;
        job.generation = generation;
        job.starts += 1;
        let first = job.first_started.is_none();
        job.first_started.get_or_insert(now);
        job.attempt = Some(Attempt {
            generation,
            assignment,
            since: now,
            started: None,
            leaves: None,
            told: Told::Start,
            resume,
            restarts,
            gone: None,
        });
        let head = job.head;
        self.jobs.placed.insert(id);
        if let Some(launch) = self.launch(id) {
            orders.push(Order::Start(Box::new(launch)));
        }
        if first {
            if let Some(array) = self.jobs.arrays.get_mut(&head) {
                array.unbegun = array.unbegun.saturating_sub(1);
            }
            self.followed(id);
        }
        self.changed(id);
    }

    fn stop(&mut self, id: u32, generation: Generation, reason: Reason, orders: &mut Vec<Order>) {
        let now = self.now;
        let by = match reason {
            Reason::Displaced { by } => Some(by),
            _ => None,
        };
        let promised = by.and_then(|by| self.engine.state().jobs().get(by));
        let starts_on =
            promised.and_then(|job| job.assignment.as_ref()).map(|a| a.placement.clone());
        let Some(job) = self.jobs.live_mut(id) else { return };
        let stays = job.submission.pause == Pause::Never;
        let Some(attempt) = &mut job.attempt else { return };
        // One that may not be suspended goes on to its end; those who were promised its GPUs wait.
        if attempt.generation != generation || attempt.told != Told::Start || stays {
            return;
        }
        attempt.told = Told::Stop;
        attempt.leaves = Some(now);
        job.preemptions += u32::from(by.is_some());
        orders.push(Order::Stop { job: JobId(id), generation });
        self.clear_run_alarms(id);
        self.accounts.evicted(Evicted {
            at: now,
            job: id,
            generation,
            reason,
            starts_on,
            way: None,
            cleared: None,
            lost: 0,
        });
        self.changed(id);
    }

    /// The recipe declared a job over. If it runs, a stop came first.
    fn ended_by_recipe(&mut self, id: u32, reason: Reason) {
        let Some(job) = self.jobs.live(id) else { return };
        if job.attempt.is_some() {
            return self.end_for(id, Leaving::Stopped);
        }
        let message = Some(self.reason_view(&reason).sentence);
        let state = heeler_api::JobState::Stopped;
        self.over(id, Over { state, at: self.now, code: None, signal: None, message });
    }

    /// Everything a world needs to run the stretch that a job has.
    pub(crate) fn launch(&self, id: u32) -> Option<Launch> {
        let job = self.jobs.live(id)?;
        let attempt = job.attempt.as_ref()?;
        let submission = &job.submission;
        Some(Launch {
            job: job.number(),
            generation: attempt.generation,
            restarts: attempt.restarts,
            name: submission.name.clone(),
            user: job.user.clone(),
            tenant: self.people.name(job.tenant).into(),
            array: job.task.map(|task| (job.head, task)),
            command: submission.command.clone(),
            script: submission.script.clone(),
            dir: submission.dir.clone(),
            env: submission.env.clone(),
            identity: job.identity,
            ranks: match submission.ranks {
                Ranks::One => heeler_backend::Ranks::One,
                Ranks::PerNode => heeler_backend::Ranks::PerNode,
                Ranks::PerGpu => heeler_backend::Ranks::PerGpu,
            },
            assignment: attempt.assignment.clone(),
            // CPUs can be taken back; memory that a job uses cannot, so that stays as it was asked.
            cpu_milli: attempt.assignment.portion.map_or(submission.cpu_milli, |p| p.cpu_milli),
            memory_mb: submission.memory_mb,
            gpu_memory_mb: submission.gpus.memory_mb,
            output: submission.output.clone(),
            error: submission.error.clone(),
            terminal: submission.terminal,
            resume: attempt.resume,
            ways: self.ways(job),
            grace_s: submission.grace_s,
        })
    }

    /// How a job may be suspended, best first. Whatever else fails, one that may begin again can be
    /// ended.
    fn ways(&self, job: &Job) -> Vec<Way> {
        let mut ways = match job.submission.pause {
            Pause::Auto => vec![Way::Saved, Way::Checkpointed, Way::Frozen],
            Pause::Save => vec![Way::Saved],
            Pause::Checkpoint => vec![Way::Checkpointed],
            Pause::Freeze => vec![Way::Frozen],
            Pause::Requeue => vec![Way::Requeued],
            Pause::Never => Vec::new(),
        };
        ways.retain(|way| *way != Way::Checkpointed || self.inventory.checkpoints);
        if job.submission.requeue && !ways.contains(&Way::Requeued) && !ways.is_empty() {
            ways.push(Way::Requeued);
        }
        ways
    }

    /// What should be there after a restart.
    pub fn expected(&self) -> Vec<Expected> {
        let jobs = self.jobs.all_live().filter_map(|job| {
            if let Some(attempt) = &job.attempt {
                let launch = Box::new(self.launch(job.id)?);
                return Some(match attempt.told {
                    Told::Start => Expected::Runs(launch),
                    Told::Stop => Expected::Stops(launch),
                    Told::End => Expected::Ends(launch),
                });
            }
            let sleeps = Expected::Sleeps { job: job.number(), generation: job.generation };
            job.sleeps().then_some(sleeps)
        });
        jobs.collect()
    }
}
