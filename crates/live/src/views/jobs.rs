//! Jobs as they are shown.

use crate::accounts::held;
use crate::job::{Attempt, Job, Past};
use crate::live::Live;
use heeler_api::{AttemptView, Code, JobState, JobView, Problem, Role, Selection, Who};
use heeler_backend::Labels;
use heeler_model::{JobId, Reason, Time};

/// Thousandths of a GPU × milliseconds in a GPU-second.
pub(super) const PER_GPU_SECOND: f64 = 1_000_000.0;

/// Which jobs by whether they are over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Which {
    /// Those that are not over, by number.
    #[default]
    Unfinished,
    /// Those that are, latest number first.
    Over,
    /// Both, by number.
    All,
}

/// Which jobs to show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// By whether they are over. Jobs that are named are shown in any case.
    pub which: Which,
    /// By name.
    pub jobs: Option<Selection>,
    /// In one of these states, if any is given.
    pub states: Vec<JobState>,
    /// Of this user.
    pub user: Option<String>,
    /// Of this tenant.
    pub tenant: Option<String>,
    /// Only those that come after this one in the list.
    pub after: Option<u32>,
    /// Not more than so many.
    pub limit: Option<usize>,
}

impl Live {
    /// Jobs that somebody may see.
    pub fn jobs(&self, who: &Who, filter: &Filter) -> Vec<JobView> {
        let limit = filter.limit.unwrap_or(usize::MAX);
        let suits = |job: &&Job| self.suits(who, job, filter);
        let show = |job: &Job| self.view(job);
        if let Some(selection) = &filter.jobs {
            let numbers = self.select(who, selection).unwrap_or_default();
            let jobs = numbers.iter().filter_map(|job| self.jobs.get(*job));
            return jobs.filter(suits).take(limit).map(show).collect();
        }
        let (live, done) = (self.jobs.all_live(), self.jobs.all_done());
        match filter.which {
            Which::Unfinished => live.filter(suits).take(limit).map(show).collect(),
            Which::Over => done.rev().filter(suits).take(limit).map(show).collect(),
            Which::All => {
                let mut found: Vec<&Job> = live.chain(done).filter(suits).collect();
                found.sort_unstable_by_key(|job| job.id);
                found.into_iter().take(limit).map(show).collect()
            }
        }
    }

    fn suits(&self, who: &Who, job: &Job, filter: &Filter) -> bool {
        let state = filter.states.is_empty() || filter.states.contains(&job.state());
        let user = filter.user.as_ref().is_none_or(|user| *user == job.user);
        let name = self.people.name(job.tenant);
        let tenant = filter.tenant.as_ref().is_none_or(|tenant| *tenant == name);
        let after = filter.after.is_none_or(|after| match filter.which {
            Which::Over => job.id < after,
            Which::Unfinished | Which::All => job.id > after,
        });
        after && state && user && tenant && self.may_see(who, job)
    }

    /// One job, with its stretches and what was handed in.
    pub fn job(&self, who: &Who, job: u32) -> Result<JobView, Problem> {
        let found = self.jobs.get(job).filter(|job| self.may_see(who, job));
        let missing = || Problem::new(Code::NotFound, format!("there is no job {job}"));
        let found = found.ok_or_else(missing)?;
        let mut view = self.view(found);
        view.attempts = found.past.iter().map(|past| self.past_view(past)).collect();
        view.attempts.extend(found.attempt.as_ref().map(|attempt| self.attempt_view(attempt)));
        let mut submission = (*found.submission).clone();
        // Scripts and environments hold keys to other things; who may only look sees neither.
        if found.user != who.user && who.role < Role::Operator {
            submission.env.clear();
            submission.script = None;
        }
        view.submission = Some(submission);
        Ok(view)
    }

    /// How many jobs are in each state, of those that are not over.
    pub fn count(&self) -> std::collections::BTreeMap<JobState, u32> {
        let mut counts = std::collections::BTreeMap::new();
        for job in self.jobs.all_live() {
            *counts.entry(job.state()).or_insert(0) += 1;
        }
        counts
    }

    fn view(&self, job: &Job) -> JobView {
        let now = self.seen();
        let submission = &job.submission;
        let over = job.over.as_ref();
        let running = job.attempt.as_ref();
        let had = running.map_or(job.had, |attempt| job.had + now.since(attempt.since));
        let gpu_time = job.gpu_time + running.map_or(0, |attempt| held(attempt, now));
        let heard = &job.heard;
        let progress = heard.total_steps.filter(|total| *total > 0);
        let known = self.engine.state().jobs().get(JobId(job.id));
        let noted = known.and_then(|known| known.held.or(known.noted.map(|noted| noted.reason)));
        // Where decisions are taken in rounds, nobody may have looked at it yet.
        let until = || self.engine.first_looked_at(JobId(job.id));
        let noted = noted.or_else(|| Some(Reason::RoundNotOver { until: until()? }));
        let waits = over.is_none() && running.is_none();
        JobView {
            id: job.id,
            array: job.task.map(|task| (job.head, task)),
            name: submission.name.clone(),
            user: job.user.clone(),
            tenant: self.people.name(job.tenant).into(),
            state: job.state(),
            class: submission.class,
            priority: job.priority,
            gpus: running.map_or(submission.gpus.count, |attempt| attempt.assignment.gpus()),
            kinds: submission.gpus.kinds.clone(),
            on: running.map(|attempt| self.place_name(&attempt.assignment.placement)),
            submitted: self.seconds(job.submitted),
            started: job.first_started.map(|at| self.seconds(at)),
            ended: over.map(|over| self.seconds(over.at)),
            ran_s: had.secs_f64(),
            time_limit_s: job.time_limit_s,
            progress: progress.map(|total| (heard.step as f64 / total as f64).clamp(0.0, 1.0)),
            steps: heard.seq.map(|_| (heard.step, heard.rate.unwrap_or(0.0))),
            loss: heard.loss,
            reason: noted.filter(|_| waits).map(|reason| self.reason_view(&reason)),
            exit_code: over.and_then(|over| over.code),
            exit_signal: over.and_then(|over| over.signal),
            message: over.and_then(|over| over.message.clone()),
            preemptions: job.preemptions,
            restarts: job.restarts,
            gpu_s: gpu_time as f64 / PER_GPU_SECOND,
            lost_gpu_s: job.lost as f64 / PER_GPU_SECOND,
            pause: submission.pause,
            output: submission.output.as_deref().map(|output| self.filled_in(job, output)),
            attempts: Vec::new(),
            submission: None,
        }
    }

    /// The path of a job's output, with its number and names in it.
    fn filled_in(&self, job: &Job, pattern: &str) -> String {
        let last = job.past.last().map(|past| &past.assignment);
        let placed = job.attempt.as_ref().map(|attempt| &attempt.assignment).or(last);
        let first = placed.and_then(|placed| placed.placement.slices().first());
        let node = first.and_then(|slice| self.inventory.cluster.nodes.get(slice.node.index()));
        let labels = Labels {
            job: job.id,
            array: job.task.map(|task| (job.head, task)),
            name: &job.submission.name,
            user: &job.user,
            node: node.map(|node| node.name.as_str()),
        };
        labels.fill(pattern)
    }

    fn past_view(&self, past: &Past) -> AttemptView {
        AttemptView {
            generation: past.generation.0,
            on: self.place_name(&past.assignment.placement),
            gpus: past.assignment.gpus(),
            from: self.seconds(past.since),
            until: Some(self.seconds(past.until)),
            end: Some(past.end.clone()),
            stop_s: past.leaves.map(|leaves| past.until.since(leaves).secs_f64()),
            start_s: start_s(past.since, past.started),
            lost_gpu_s: past.lost as f64 / PER_GPU_SECOND,
        }
    }

    fn attempt_view(&self, attempt: &Attempt) -> AttemptView {
        AttemptView {
            generation: attempt.generation.0,
            on: self.place_name(&attempt.assignment.placement),
            gpus: attempt.assignment.gpus(),
            from: self.seconds(attempt.since),
            until: None,
            end: None,
            stop_s: None,
            start_s: start_s(attempt.since, attempt.started),
            lost_gpu_s: 0.0,
        }
    }
}

fn start_s(since: Time, started: Option<Time>) -> Option<f64> {
    started.map(|started| started.since(since).secs_f64())
}
