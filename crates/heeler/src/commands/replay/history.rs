//! A journal as a trace: when jobs were handed in, by whom, what they asked for, and how long they
//! ran as far as it was of use; nodes that were lost; what starting and stopping took.

use super::walk::{Outage, Walked, everybody};
use anyhow::{Result, anyhow};
use heeler_api::{AttemptView, Condition, JobState, JobView, Submission};
use heeler_live::{Filter, Live, Which};
use heeler_model::{Cluster, JobId, JobSpec, ModelId, Span, TenantId, Time, Truth, UserId};
use heeler_recipes::Card;
use heeler_sim::workload::{Names, Trace, TraceJob, Workload};
use heeler_sim::world::{Cost, Costs, WorldCard};
use std::collections::BTreeMap;

/// What happened, as a simulation can take it.
pub(super) struct History {
    pub(super) trace: Trace,
    pub(super) cluster: Cluster,
    pub(super) world: WorldCard,
    pub(super) outages: Vec<Outage>,
    /// The recipe that was in charge at the end.
    pub(super) card: Card,
    pub(super) notes: Vec<String>,
}

/// Jobs that the trace differs in from what happened, by how.
#[derive(Default)]
struct Left {
    never_ran: u32,
    still_there: u32,
    failed: u32,
}

impl History {
    pub(super) fn of(walked: &Walked) -> Result<History> {
        let live = &walked.live;
        let who = everybody();
        let all = Filter { which: Which::All, ..Filter::default() };
        let mut left = Left::default();
        let mut models = Names::default();
        models.number("");
        // So nobody is the first.
        let mut users = models.clone();
        let mut jobs: Vec<(u32, TraceJob, Submission)> = Vec::new();
        for row in live.jobs(&who, &all) {
            let Ok(view) = live.job(&who, row.id) else { continue };
            let Some(submission) = view.submission.clone() else { continue };
            let Some(ran) = left.ran(&view) else { continue };
            let mut spec = spec_of(live, &submission, ran, &mut models);
            spec.user = UserId(users.number(&view.user) as u32);
            let submit = since(live, view.submitted);
            let begin = submission.begin.map(|at| since(live, at as f64)).unwrap_or_default();
            let mut job = TraceJob::new(submit.max(begin), spec);
            job.name = Some(live.job_name(view.id).into());
            jobs.push((view.id, job, submission));
        }
        if jobs.is_empty() {
            return Err(anyhow!("no job of this journal ever had GPUs"));
        }
        jobs.sort_by_key(|(id, job, _)| (job.submit, *id));
        follow(&mut jobs);
        let jobs = jobs.into_iter().map(|(_, job, _)| job).collect();
        let trace = Trace { workload: Workload::new(jobs), models, users, ..Trace::default() };
        let card = live.card().map_err(|problem| anyhow!("{}", problem.message))?;
        Ok(History {
            trace,
            cluster: cluster_of(live),
            world: world_of(live),
            outages: walked.outages.clone(),
            card,
            notes: left.notes(walked.recipes),
        })
    }
}

impl Left {
    /// How long a job ran as far as it was of use, at the size it asked for.
    fn ran(&mut self, view: &JobView) -> Option<Span> {
        let last = view.attempts.last();
        let Some(last) = last else {
            self.never_ran += 1;
            return None;
        };
        if !view.state.is_over() {
            self.still_there += 1;
        }
        let useful_s = match view.state {
            // What a job that failed did was of no use, but it took its time.
            JobState::Failed => {
                self.failed += 1;
                stretch(last)
            }
            _ if view.gpus == 0 => view.ran_s,
            JobState::Completed => view.gpu_s - view.lost_gpu_s,
            // Whoever did not come to its end would have run at least as long as it once did.
            _ => {
                let longest = view.attempts.iter().map(stretch).fold(0.0, f64::max);
                longest.max(view.gpu_s - view.lost_gpu_s)
            }
        };
        let size = f64::from(view.gpus.max(1)) * share_of(view);
        Some(Span::from_secs_f64((useful_s / size).max(0.001)))
    }

    fn notes(&self, recipes: u32) -> Vec<String> {
        let mut notes = Vec::new();
        let mut say = |count: u32, what: &str| {
            if count > 0 {
                let jobs = if count == 1 { "job" } else { "jobs" };
                notes.push(format!("{count} {jobs} {what}"));
            }
        };
        say(self.never_ran, "never had GPUs: left out");
        say(self.still_there, "not over: taken to be done with what was seen");
        say(self.failed, "failed: taken to be done when they did");
        if recipes > 0 {
            let times = if recipes == 1 { "once".into() } else { format!("{recipes} times") };
            notes.push(format!("the recipe was changed {times}; the last one stands for all"));
        }
        notes
    }
}

/// GPU-seconds of a stretch, but for starting.
fn stretch(of: &AttemptView) -> f64 {
    let until = of.until.unwrap_or(of.from);
    (until - of.from - of.start_s.unwrap_or(0.0)).max(0.0) * f64::from(of.gpus.max(1))
}

/// How much of each GPU a job asked for.
fn share_of(view: &JobView) -> f64 {
    let share = view.submission.as_ref().and_then(|submission| submission.gpus.share);
    f64::from(share.unwrap_or(1000).max(1)) / 1000.0
}

fn spec_of(live: &Live, submission: &Submission, ran: Span, models: &mut Names) -> JobSpec {
    let mut spec = live.imagined(submission, "");
    let model = submission.model.as_deref().unwrap_or_default();
    spec.model = ModelId(models.number(model) as u16);
    let truth = Truth { work: ran.micros() as f64 * spec.nominal_pace };
    spec.with_truth(truth)
}

/// Who follows whom, by their places in the trace.
fn follow(jobs: &mut [(u32, TraceJob, Submission)]) {
    let places: BTreeMap<u32, u32> =
        jobs.iter().enumerate().map(|(place, (id, ..))| (*id, place as u32)).collect();
    for (_, job, submission) in jobs.iter_mut() {
        let ends = submission.after.iter().filter(|it| it.when != Condition::After);
        let after: Vec<JobId> =
            ends.filter_map(|it| places.get(&it.job)).map(|place| JobId(*place)).collect();
        if !after.is_empty() {
            job.spec.extras_mut().after = after;
        }
    }
}

/// Seconds since 1970 as a time of the journal.
fn since(live: &Live, seconds: f64) -> Time {
    Time::from_secs_f64((seconds - live.epoch() as f64).max(0.0))
}

/// The cluster with its tenants as they were in the end.
fn cluster_of(live: &Live) -> Cluster {
    let state = live.engine().state();
    let mut cluster = state.fleet().cluster().clone();
    for (index, tenant) in cluster.tenants.iter_mut().enumerate() {
        let now = state.tenants().spec(TenantId(index as u16));
        (tenant.quota, tenant.limit) = (now.quota, now.limit);
    }
    cluster
}

/// A world in which starting and stopping take what they took.
fn world_of(live: &Live) -> WorldCard {
    let measured = live.measured();
    let cost = |seconds: Option<f64>| Cost::fixed(seconds.unwrap_or(0.0));
    let restore = cost(measured.resume_s.or(measured.start_s));
    let costs = Costs {
        start: cost(measured.start_s),
        save: cost(measured.stop_s),
        restore,
        relocate: restore,
        resize: restore,
        ..Costs::default()
    };
    WorldCard { costs, ..WorldCard::plain("as measured live") }
}
